//! The `status` command.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use pointsman_cluster::{AdminPorts, Cluster, KindStatus, UnknownCrd};
use pointsman_core::parse_duration;
use tokio::time::sleep;

use super::metrics::exposition;
use super::survey::Looking;
use super::text_output::{document, screen};
use super::unknown::{line, nothing_checked, unchecked, unlisted};
use crate::commands::address_args::host_and_port;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::format::{Format, WatchedFormat};
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk, warn};
use crate::commands::stop::{INTERRUPTED, Stop};
use crate::commands::unix_time::unix_time;
use crate::commands::verdict::Verdict;
use crate::terminal::CLEAR;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusArgs {
    /// Kinds by any of their names. Defaults to all kinds with several versions and a CRD in the cluster.
    #[arg(value_name = "KIND")]
    kinds_named: Vec<String>,
    /// Check these addresses instead of the endpoints of the Service. Can be repeated.
    #[arg(long = "endpoint", value_name = "HOST:PORT", value_parser = host_and_port)]
    endpoints: Vec<String>,
    /// Read the last errors from these addresses in plain HTTP, instead of from the Pods through the API server. Can be
    /// repeated.
    #[arg(long = "admin", value_name = "HOST:PORT", value_parser = host_and_port)]
    admin: Vec<String>,
    /// Admin port of the Pods, for their last errors (serve --admin-listen).
    #[arg(long, value_name = "PORT", default_value_t = 8080, conflicts_with = "admin")]
    admin_port: u16,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = WatchedFormat::Text)]
    output: WatchedFormat,
    /// Repeat, and print changes, until Ctrl-C.
    #[arg(short, long)]
    watch: bool,
    /// Interval of --watch: at least one second, because each round lists every object.
    #[arg(long, value_name = "DURATION", value_parser = pause, default_value = "5s", requires = "watch", help_heading = "Pace")]
    interval: Duration,
    /// Objects in one page of a list.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Pace")]
    page: u32,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the state of kinds. Exit code 1 if a kind needs manual action.
pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let admin_ports = match args.output {
        // A server has its own metrics.
        WatchedFormat::Prometheus => AdminPorts::Disabled,
        _ if args.admin.is_empty() => AdminPorts::OfPods(args.admin_port),
        _ => AdminPorts::These(args.admin.clone()),
    };
    let looking = Looking::new(&all, &args.kinds_named, &args.endpoints, args.page)?.asking(admin_ports);
    if args.watch {
        return watch(args, &looking);
    }
    let (seen, unknown) = args.cluster.patiently(async |cluster| {
        let seen = looking.query_all(&cluster).await?;
        let unknown = find_unknown(&looking, &cluster, !seen.is_empty()).await;
        Ok((seen, unknown))
    })?;
    if seen.is_empty() {
        return Err(nothing_checked("status", &args.kinds));
    }
    print(&rendered(&seen, unknown.len(), args.output)?, args.output)?;
    Ok(verdict(&seen, unknown.len()).exit_code())
}

/// The CRDs that pointsman converts without a definition here, each with a warning.
async fn find_unknown(looking: &Looking<'_>, cluster: &Cluster, is_any_known: bool) -> Vec<UnknownCrd> {
    let unknown = looking.unknown(cluster).await.unwrap_or_else(|error| {
        talk(&unlisted(&error));
        Vec::new()
    });
    let unknown = unchecked(unknown, is_any_known);
    unknown.iter().for_each(|one| warn(&line(one)));
    unknown
}

/// The verdict. Each CRD without a definition is a finding.
fn verdict(seen: &[KindStatus], unknown: usize) -> Verdict {
    Verdict::of_findings(unknown + seen.iter().map(|one| one.findings.len()).sum::<usize>())
}

/// The output for all kinds. `unknown` is the number of CRDs without a definition.
fn rendered(seen: &[KindStatus], unknown: usize, output: WatchedFormat) -> anyhow::Result<String> {
    let now = unix_time();
    let documents = || seen.iter().map(document).collect::<anyhow::Result<Vec<_>>>();
    Ok(match output {
        WatchedFormat::Text => {
            let kinds: Vec<String> = seen.iter().map(|one| screen(one, now)).collect();
            format!("{}\n{}", verdict(seen, unknown), kinds.join("\n"))
        }
        WatchedFormat::Prometheus => exposition(seen, now),
        WatchedFormat::Yaml if !seen.is_empty() => Format::Yaml.write_all(documents()?),
        WatchedFormat::Json | WatchedFormat::Yaml => Format::Json.write_all(documents()?),
    })
}

fn print(text: &str, output: WatchedFormat) -> anyhow::Result<()> {
    match output {
        WatchedFormat::Text => output::text(text),
        WatchedFormat::Json | WatchedFormat::Prometheus | WatchedFormat::Yaml => output::data(text),
    }
}

/// Repeats, and prints changes, until Ctrl-C. On a terminal the screen is redrawn. Waits for a cluster that is briefly
/// unavailable; an error at the first round is final.
fn watch(args: &StatusArgs, looking: &Looking<'_>) -> anyhow::Result<ExitCode> {
    let stop = Stop::on_interrupt()?;
    let clears = args.output == WatchedFormat::Text && io::stdout().is_terminal();
    args.cluster.with(async |cluster| {
        let (mut last, mut unknown) = (None, 0);
        while !stop.is_wanted() {
            match looking.query_all(&cluster).await {
                Ok(seen) => {
                    if last.is_none() {
                        unknown = find_unknown(looking, &cluster, !seen.is_empty()).await.len();
                    }
                    let text = rendered(&seen, unknown, args.output)?;
                    if last.as_ref() != Some(&text) {
                        if clears {
                            output::data(CLEAR)?;
                        } else if last.is_some() && args.output == WatchedFormat::Text {
                            output::data("\n")?;
                        }
                        print(&text, args.output)?;
                    }
                    last = Some(text);
                }
                Err(error) if last.is_none() => return Err(error),
                Err(error) => warn(&format!("{error:#}")),
            }
            let began = Instant::now();
            while began.elapsed() < args.interval && !stop.is_wanted() {
                sleep(OFTEN.min(args.interval)).await;
            }
        }
        Ok(ExitCode::from(INTERRUPTED))
    })
}

/// Each round lists every object of a kind at each of its versions.
fn pause(text: &str) -> Result<Duration, String> {
    let pause = parse_duration(text).map_err(|bad| bad.to_string())?;
    (pause >= Duration::from_secs(1)).then_some(pause).ok_or_else(|| "the interval is at least one second".to_owned())
}

/// Short enough to be imperceptible.
const OFTEN: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
The command reads, and changes nothing. It lists every served version, reads the
metadata of every object, and checks the certificate of every endpoint with the
caBundle of the CRD. The API server hides the stored version of an object:
status.storedVersions of the CRD lists the possible ones. The last errors come
from the memory of each Pod, through /errors of its admin port: you need the
right to get pods/proxy. Without the right, or behind a NetworkPolicy, they are
shown as unknown.

Examples:
  Show all kinds that pointsman converts in this cluster:
    pointsman status

  Show one kind as JSON:
    pointsman status materialize -o json

  Write metrics for node-exporter, and replace the file only when complete:
    pointsman status -o prometheus > new; [ -s new ] && mv new pointsman.prom

  Show the last errors of a Pod, after kubectl port-forward POD 8080:
    pointsman status materialize --admin localhost:8080

  Follow a change:
    pointsman status materialize --watch

Exit codes:
  0    no action is needed
  1    an action is needed, named in the output; or pointsman converts a CRD
       of an unknown kind; or no check could run
  2    wrong flags
  130  a watch was ended by Ctrl-C, or SIGTERM";
