//! The `disable` command.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{DisableError, DisableOptions, disable};
use pointsman_core::parse_duration;
use pointsman_core::registration::{ClientConfig, CrdOptions, Trust, crd};

use super::output::{document, print_event, sentence};
use crate::commands::address_args::AddressArgs;
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::conversion::conversion;
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::format::Format;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DisableArgs {
    /// Name of the kind: kind, plural or short name.
    #[arg(value_name = "KIND")]
    kind: String,
    #[command(flatten)]
    server: AddressArgs,
    /// Serve only this version from now on. All objects must be stored in this version.
    #[arg(long, value_name = "VERSION")]
    served: Option<String>,
    /// Delete the webhook configurations and policies that pointsman manages for this kind alone.
    #[arg(long)]
    admission: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    /// Output format. The default is text.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Time that API servers get to see a change of the CRD.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s", help_heading = "Pace")]
    settle: Duration,
    /// Objects in one page of a list.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Pace")]
    page: u32,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Disables a CRD.
pub(crate) fn run(args: &DisableArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    let client = args.server.address().map(|address| ClientConfig { address, trust: Trust::SystemRoots });
    let enabled = crd(kind, &CrdOptions { conversion: client, ..CrdOptions::default() });
    let options = DisableOptions {
        name: format!("{}.{}", kind.plural(), kind.group()),
        enabled: enabled.context("the definition stores an undefined version")?,
        served: args.served.clone(),
        admission: args.admission,
        conversion: Some(conversion(&args.kinds)?),
        dry_run: args.dry_run.mode(),
        settle: args.settle,
        page: args.page,
    };
    let done = args.cluster.act(async |cluster| {
        disable(&cluster, &options, &mut print_event).await.map_err(|error| advised(error, DisableError::call))
    })?;
    match args.output {
        None => output::text(&sentence(&done, options.dry_run))?,
        Some(format) => output::data(&format.write(&document(&done, options.dry_run)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

const EXAMPLES: &str = "\
Run this command before you uninstall the server. All objects must be stored
in one version: see pointsman migrate. With --served, the command stops serving
the other versions. It then points the conversion at an unreachable webhook and
lists every object, which finds objects that still need a conversion. Then it
removes the conversion. The command refuses each step that loses data. You can
stop it at any time and run the same command again to continue.

Examples:
  Show the steps:
    pointsman disable materialize --service pointsman-system/pointsman \\
      --served v1alpha2 --admission --dry-run=server

  Keep the objects, as v1alpha2:
    pointsman migrate materialize --to v1alpha2
    pointsman disable materialize --service pointsman-system/pointsman \\
      --served v1alpha2 --admission

Exit codes:
  0    disabled, or ready to be disabled (dry run)
  1    failed: the message contains the cause and the changes made
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";
