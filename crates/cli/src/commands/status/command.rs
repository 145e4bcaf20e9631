//! Flags in, a screen for each kind, an exit code out.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use pointsman_cluster::{CallError, Cluster, KindStatus, StatusOptions, status};
use pointsman_core::definition::Kind;
use pointsman_core::registration::drift;

use super::told::{document, screen};
use crate::commands::connected::{ClusterArgs, advised};
use crate::commands::crd::converts;
use crate::commands::format::{Format, TextFormat};
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusArgs {
    /// Kinds by any of their names; without one, all that have versions to convert between and a CRD in the cluster.
    #[arg(value_name = "KIND")]
    kinds_named: Vec<String>,
    /// Ask these, instead of the endpoints of the Service. May be given several times.
    #[arg(long = "endpoint", value_name = "HOST:PORT")]
    endpoints: Vec<String>,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = TextFormat::Text)]
    output: TextFormat,
    /// Objects listed at a time.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Pace")]
    page: u32,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Looks at kinds. Exit code 1 where something needs a person.
pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let named = args.kinds_named.iter().map(|name| Ok(&find(&all, name)?.kind));
    let named = named.collect::<anyhow::Result<Vec<&Kind>>>()?;
    let chosen: Vec<&Kind> = match named.is_empty() {
        true => all.iter().map(|known| &known.kind).filter(|kind| converts(kind)).collect(),
        false => named.clone(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seen = args.cluster.with(async |cluster| {
        let mut seen = Vec::new();
        for kind in chosen {
            match look(&cluster, kind, args, now).await {
                Ok(status) => seen.push(status),
                Err(CallError::NoCrd { .. }) if named.is_empty() => {}
                Err(error) => return Err(advised(error, |call| Some(call))),
            }
        }
        Ok(seen)
    })?;
    if seen.is_empty() {
        talk("no kind that has versions to convert between has a CRD in this cluster: name one, or see --kinds");
    }
    let needed = seen.iter().any(|one| !one.findings.is_empty());
    let told = seen.iter().map(|one| Ok((screen(one, now), document(one)?)));
    let told = told.collect::<anyhow::Result<Vec<_>>>()?;
    match args.output {
        TextFormat::Text => output::text(&told.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("\n"))?,
        TextFormat::Json | TextFormat::Yaml if told.is_empty() => output::data(&Format::Json.write_all(Vec::new()))?,
        form => output::data(&form.write_all(told))?,
    }
    Ok(if needed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn look(cluster: &Cluster, kind: &Kind, args: &StatusArgs, now: u64) -> Result<KindStatus, CallError> {
    let options = StatusOptions {
        name: format!("{}.{}", kind.plural(), kind.group()),
        kind: kind.name().to_owned(),
        version_label: kind.version_label().to_owned(),
        endpoints: args.endpoints.clone(),
        drift: &|crd| drift(kind, crd),
        page: args.page,
        now,
    };
    status(cluster, &options).await
}

const EXAMPLES: &str = "\
Nothing is written. Every served version is listed, the metadata of every
object is looked at, and every endpoint of the Service is asked for its
certificate, trusting only what the API server is told to trust. In which
version an object is stored cannot be seen: status.storedVersions of the CRD
says in which ones objects may be.

Examples:
  All kinds that are converted in this cluster:
    pointsman status

  One, for a program:
    pointsman status materialize -o json

Exit codes:
  0  nothing needs a person
  1  something does: each finding names what mends it; or the cluster could not be asked
  2  the flags are wrong";
