//! `pointsman webhooks doctor`.

use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{DocumentOptions, ExaminedDocuments, examine_documents};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{Finding, drift, inspect, registered_versions};
use pointsman_core::webhook::{ControllerVersion, Settings};
use serde_json::Value;

use crate::commands::admission::AdmissionArgs;
use crate::commands::diagnosis::Diagnosis;
use crate::commands::format::TextFormat;
use crate::commands::input::{self, FileArgs, Source, flat_documents};
use crate::commands::kinds_dir::{KindsArgs, LoadedKind};
use crate::commands::output::{self, talk};
use crate::commands::unix_time::unix_time;
use crate::commands::verdict::Verdict;
use crate::hint::hinted;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct WebhooksDoctorArgs {
    #[command(flatten)]
    files: FileArgs,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    kinds: KindsArgs,
    #[command(flatten)]
    admission: AdmissionArgs,
}

/// Prints findings.
pub(super) fn run(args: &WebhooksDoctorArgs) -> anyhow::Result<ExitCode> {
    judge_files(&args.files, &args.kinds, &args.admission.settings(), args.output)
}

/// Prints the findings of files.
pub(crate) fn judge_files(
    files: &FileArgs,
    kinds: &KindsArgs,
    settings: &Settings,
    output: TextFormat,
) -> anyhow::Result<ExitCode> {
    let (all, sources) = (kinds.load()?, files.read(EXAMPLE)?);
    // An empty source is the output of a failed command, and an error.
    for source in &sources {
        anyhow::ensure!(!input::values(source).map_err(anyhow::Error::msg)?.is_empty(), source.no_object());
    }
    let documents = flat_documents(&sources)?;
    let examined = examined(&all, &documents);
    let findings = Diagnosis::of_both(inspect_all(&all, &documents, settings), examined.findings);
    let fits = findings.is_empty();
    let is_registered = all.iter().any(|known| registered_versions(&known.kind, &documents).is_some());
    if fits && !is_registered && examined.examined == 0 {
        return Err(nothing_judged(&sources));
    }
    match output {
        TextFormat::Text if fits && (is_registered || settings.controller.is_none()) => {
            output::text(&format!("{}\n", Verdict::of_findings(0)))?;
        }
        format => output::data(&Diagnosis::all_in(format, &findings))?,
    }
    if fits && !is_registered && settings.controller.is_some() {
        talk("no webhook of pointsman is registered for a known kind");
    }
    // If a server version is given, it must be registered.
    let is_good = fits && (is_registered || settings.controller.is_none());
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The documents, examined separately.
fn examined(all: &[LoadedKind], documents: &[Value]) -> ExaminedDocuments {
    let known = |name: &str| all.iter().map(|known| &known.kind).find(|kind| name == crd_name(kind));
    let options = DocumentOptions {
        kind: &|name| known(name).map(|kind| kind.name().to_owned()),
        drift: &|crd| {
            let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            known(name).map_or_else(Vec::new, |kind| drift(kind, crd))
        },
        now: unix_time(),
    };
    examine_documents(documents, &options)
}

fn crd_name(kind: &Kind) -> String {
    format!("{}.{}", kind.plural(), kind.group())
}

/// An examination without documents is an error.
fn nothing_judged(sources: &[Source]) -> anyhow::Error {
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    let problem = format!("cannot check {}: no CRD, webhook configuration or policy of a known kind", names.join(", "));
    hinted(anyhow::anyhow!(problem), "pointsman doctor -f FILE --kinds DIR")
}

/// The findings of files with registered documents.
pub(crate) fn findings(all: &[LoadedKind], sources: &[Source], server: &Settings) -> anyhow::Result<Vec<Finding>> {
    Ok(inspect_all(all, &flat_documents(sources)?, server))
}

/// The findings for all kinds. Each operator has its own versions: the server's flags are ignored for kinds without a
/// common version, if its version belongs to another kind.
pub(crate) fn inspect_all(all: &[LoadedKind], documents: &[Value], server: &Settings) -> Vec<Finding> {
    let own = server.controller.as_ref().map(ControllerVersion::as_str);
    let render = || server.served.iter().chain(&server.shadowed).map(ControllerVersion::as_str).chain(own);
    let served: Vec<_> = all
        .iter()
        .map(|known| registered_versions(&known.kind, documents).map_or_else(Vec::new, |it| it.served))
        .collect();
    let is_somebodys = served.iter().flatten().any(|version| Some(version.as_str()) == own);
    let nobodys = Settings { controller: None, ..server.clone() };
    let findings = all.iter().zip(&served).flat_map(|(known, served)| {
        let is_anothers =
            is_somebodys && !served.is_empty() && !render().any(|version| served.iter().any(|it| it == version));
        inspect(&known.kind, documents, Some(if is_anothers { &nobodys } else { server }))
    });
    findings.collect()
}

const EXAMPLE: &str = "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations,\
                       validatingadmissionpolicies,validatingadmissionpolicybindings -o yaml | \
                       pointsman webhooks doctor";

const EXAMPLES: &str = "\
Examples:
  Check the webhook configurations of a cluster:
    for what in mutatingwebhookconfiguration validatingwebhookconfiguration \\
      validatingadmissionpolicy validatingadmissionpolicybinding; do
      kubectl get $what -o yaml; echo ---; done | pointsman webhooks doctor

  Check printed configurations against the flags of a server:
    pointsman webhooks --kind materialize --side-by-side 2.16.0,2.17.0 \\
      --service 'pointsman-system/pointsman-{version}:443' \\
      --cert-manager pointsman-system/pointsman |
      pointsman webhooks doctor --controller-version 2.17.0 \\
        --served-versions 2.16.0,2.17.0

Exit codes:
  0  no problem was found
  1  a problem was found, or a file could not be read
  2  the flags are wrong";
