//! The `doctor` command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueHint};
use pointsman_cluster::{CallError, examine};

use super::examination_output::{diagnoses, unknown_kind};
use crate::commands::address_args::host_and_port;
use crate::commands::admission::AdmissionArgs;
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::diagnosis::Diagnosis;
use crate::commands::format::TextFormat;
use crate::commands::input::FileArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk};
use crate::commands::status::{Looking, nothing_checked, unchecked, unlisted};
use crate::commands::unix_time::unix_time;
use crate::commands::verdict::Verdict;
use crate::commands::webhooks::judge_files;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Kinds by any of their names. Defaults to all kinds with several versions and a CRD in the cluster.
    #[arg(value_name = "KIND", conflicts_with = "files")]
    kinds_named: Vec<String>,
    /// File or directory with registered documents, instead of a cluster. Use - for stdin. Can be repeated.
    #[arg(short, long = "filename", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    files: Vec<PathBuf>,
    /// Read subdirectories.
    #[arg(short = 'R', long, requires = "files")]
    recursive: bool,
    /// Check the certificates of these addresses instead of the endpoints of the Service. Can be repeated.
    #[arg(long = "endpoint", value_name = "HOST:PORT", value_parser = host_and_port, conflicts_with = "files")]
    endpoints: Vec<String>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
    #[command(flatten)]
    admission: AdmissionArgs,
}

/// Prints findings.
pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let settings = args.admission.settings();
    if !args.files.is_empty() {
        let files = FileArgs { files: args.files.clone(), recursive: args.recursive };
        return judge_files(&files, &args.kinds, &settings, args.output);
    }
    let all = args.kinds.load()?;
    let looking = Looking::new(&all, &args.kinds_named, &args.endpoints, PAGE)?;
    let (seen, examined, unknown) = args.cluster.patiently(async |cluster| {
        let seen = looking.query_all(&cluster).await?;
        let crds: Vec<String> = seen.iter().map(|one| one.crd.clone()).collect();
        let examined = examine(&cluster, &crds, unix_time())
            .await
            .map_err(|error: CallError| advised(error, |call| Some(call)))?;
        let unknown = looking.unknown(&cluster).await;
        Ok((seen, examined, unknown))
    })?;
    examined.unknown.iter().for_each(|what| talk(&format!("not known: {what}")));
    let unknown = unknown.unwrap_or_else(|error| {
        talk(&unlisted(&error));
        Vec::new()
    });
    let mut found = diagnoses(&all, &seen, &examined, &settings);
    found.extend(unchecked(unknown, !seen.is_empty()).iter().map(unknown_kind));
    if found.is_empty() && seen.is_empty() {
        return Err(nothing_checked("doctor", &args.kinds));
    }
    match args.output {
        TextFormat::Text if found.is_empty() => output::text(&format!("{}\n", Verdict::of_findings(0)))?,
        format => output::data(&Diagnosis::all_in(format, &found))?,
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The page size of lists, as in kubectl.
const PAGE: u32 = 500;

const EXAMPLES: &str = "\
The doctor checks a cluster, and changes nothing in it:
  - the state of each kind, as `pointsman status` shows it;
  - the certificate of every endpoint, against every caBundle;
  - the webhook configurations, against each other, the kinds, and the flags of
    the running Pods;
  - the version labels of objects, against the registered versions.

Examples:
  Check the cluster:
    pointsman doctor

  Check a manifest before you apply it, without a cluster:
    pointsman doctor -f webhooks.yaml --controller-version 2.17.0

Exit codes:
  0  no problem was found
  1  a problem was found, and the output names its fix; or a check could not run
  2  the flags are wrong";
