//! `pointsman webhooks doctor`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::registration::{Finding, inspect};
use pointsman_core::webhook::Settings;
use serde_json::Value;

use crate::commands::admission::AdmissionArgs;
use crate::commands::format::TextFormat;
use crate::commands::input::{self, FileArgs, Source};
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::{KindsArgs, Known};
use crate::commands::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    files: FileArgs,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    kinds: KindsArgs,
    #[command(flatten)]
    admission: AdmissionArgs,
}

/// Says what does not fit.
pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let settings = args.admission.settings();
    let server = settings.controller.is_some().then_some(&settings);
    let findings = findings(&args.kinds.load()?, &args.files.read(EXAMPLE)?, server)?;
    let fits = findings.is_empty();
    let values = findings.iter().map(|finding| (format!("{}\n  {}\n", told(finding), finding.change), json(finding)));
    let values: Vec<(String, JsonTree)> = values.collect();
    match args.output {
        TextFormat::Text if fits => output::text("everything fits\n")?,
        format => output::data(&format.write_all(values))?,
    }
    Ok(if fits { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What does not fit in files with what is registered.
pub(crate) fn findings(all: &[Known], sources: &[Source], server: Option<&Settings>) -> anyhow::Result<Vec<Finding>> {
    let mut documents = Vec::new();
    for source in sources {
        for value in input::values(source).map_err(anyhow::Error::msg)? {
            documents.extend(flat(serde_json::from_str(&value.to_string())?));
        }
    }
    Ok(all.iter().flat_map(|known| inspect(&known.kind, &documents, server)).collect())
}

/// A finding in one line.
fn told(finding: &Finding) -> String {
    format!("{}: {}", finding.document, finding.problem)
}

/// The items of a list, or the document itself.
fn flat(document: Value) -> Vec<Value> {
    match document.get("items") {
        Some(Value::Array(items)) => items.clone(),
        _ => vec![document],
    }
}

fn json(finding: &Finding) -> JsonTree {
    JsonTree::object([
        ("document", JsonTree::string(&finding.document)),
        ("problem", JsonTree::string(&finding.problem)),
        ("change", JsonTree::string(&finding.change)),
    ])
}

const EXAMPLE: &str = "kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations,\
                       validatingadmissionpolicies,validatingadmissionpolicybindings -o yaml | \
                       pointsman webhooks doctor";

const EXAMPLES: &str = "\
Examples:
  What is registered in a cluster:
    for what in mutatingwebhookconfiguration validatingwebhookconfiguration \\
      validatingadmissionpolicy validatingadmissionpolicybinding; do
      kubectl get $what -o yaml; echo ---; done | pointsman webhooks doctor

  Whether what is printed fits a server that is started so:
    pointsman webhooks --kind materialize --side-by-side 2.16.0,2.17.0 \\
      --service 'pointsman-system/pointsman-{version}:443' \\
      --cert-manager pointsman-system/pointsman |
      pointsman webhooks doctor --controller-version 2.17.0 \\
        --served-versions 2.16.0,2.17.0

Exit codes:
  0 everything fits, 1 something does not or a file could not be read,
  2 the flags are wrong.";
