//! The `migrate` command.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use pointsman_cluster::{CallError, MigrateError, MigrateOptions, MigrationStrategy, migrate};
use pointsman_core::definition::Kind;
use pointsman_core::parse_duration;
use pointsman_core::registration::incomplete;
use serde_json::Value;

use super::forget::ForgetRequest;
use super::output::{MigrateFormat, MigratePrinter, outcome, summary};
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::conversion::conversion;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, talk};
use crate::commands::stop::{INTERRUPTED, Stop};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MigrateArgs {
    /// Kind by any of its names, or any CRD as plural.group.
    #[arg(value_name = "KIND")]
    kind: String,
    /// New storage version, newer or older. The default is the current storage version of the CRD.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Remove the kept annotations of this version instead. The version must be neither served nor stored.
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["to", "settle", "means"])]
    forget: Option<String>,
    /// Print the steps and make no changes.
    #[arg(long)]
    dry_run: bool,
    /// Output format. JSON prints one line for each page while the command runs.
    #[arg(short, long, value_enum, default_value_t = MigrateFormat::Text)]
    output: MigrateFormat,
    /// Maximum number of concurrent writes. The command uses fewer while the API server is slow.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Pace")]
    max_in_flight: u16,
    /// Writer of the objects: pointsman, or the cluster by a StorageVersionMigration.
    #[arg(long, value_enum, default_value_t = StrategyName::Loop, help_heading = "Pace")]
    means: StrategyName,
    /// Objects in one page of a list.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Pace")]
    page: u32,
    /// Time that API servers get to see the new storage version before the first write.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s", help_heading = "Pace")]
    settle: Duration,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// The writer of the objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum StrategyName {
    /// The cluster if it supports StorageVersionMigration, otherwise pointsman.
    Auto,
    /// pointsman, as fast as the API server allows.
    Loop,
    /// The cluster, at the speed of its controller. Remaining objects are written and named by pointsman.
    StorageVersionMigration,
}

impl StrategyName {
    fn means(self) -> MigrationStrategy {
        match self {
            Self::Auto => MigrationStrategy::Auto,
            Self::Loop => MigrationStrategy::Loop,
            Self::StorageVersionMigration => MigrationStrategy::StorageVersionMigration,
        }
    }
}

/// Rewrites stored objects.
pub(crate) fn run(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    if let Some(version) = &args.forget {
        let all = args.kinds.load()?;
        let (page, max_in_flight, dry_run, output) = (args.page, args.max_in_flight, args.dry_run, args.output);
        let (kind, conversion) = (&find(&all, &args.kind)?.kind, conversion(&args.kinds)?);
        let requested = ForgetRequest { kind, conversion, version, page, max_in_flight, dry_run, output };
        return requested.run(&args.cluster);
    }
    let requested = requested(args)?;
    let stop = Stop::on_interrupt()?;
    let printer = MigratePrinter::new(args.output);
    let migrated = args.cluster.with(async |cluster| {
        let on_event = &mut |event| printer.on_event(&event);
        let result = migrate(&cluster, &requested.crd, &requested.options, on_event, &|| stop.is_wanted()).await;
        result.map_err(|error| match (&error, &requested.unknown) {
            (MigrateError::Call(CallError::NoCrd { .. }), Some(unknown)) => {
                anyhow::Error::msg(format!("{error}, and {unknown}"))
            }
            _ => advised(error, MigrateError::call),
        })
    });
    let migrated = printer.end(migrated)?;
    let printed = match args.output {
        MigrateFormat::Json => output::json_line(&outcome(&migrated, args.dry_run)),
        MigrateFormat::Text => output::text(&summary(&migrated, args.dry_run)),
    };
    if migrated.objects.interrupted {
        talk("Stopped. Run the same command again to continue; written objects stay");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if !args.dry_run && !migrated.is_complete() {
        // Also if the output is closed.
        return Ok(ExitCode::FAILURE);
    }
    printed?;
    Ok(ExitCode::SUCCESS)
}

/// A requested migration.
struct RequestedMigration {
    /// The name of the CRD.
    crd: String,
    options: MigrateOptions,
    /// Why there is no definition. A CRD needs none, but the name may be misspelt.
    unknown: Option<anyhow::Error>,
}

fn requested(args: &MigrateArgs) -> anyhow::Result<RequestedMigration> {
    let options = MigrateOptions {
        to: args.to.clone(),
        before: Vec::new(),
        conversion: None,
        page: args.page,
        max_in_flight: args.max_in_flight,
        settle: args.settle,
        means: args.means.means(),
        dry_run: args.dry_run,
    };
    let all = args.kinds.load()?;
    let known = match find(&all, &args.kind) {
        Ok(known) => &known.kind,
        // Without a definition, the conversion of the cluster rewrites the objects.
        Err(error) if args.kind.contains('.') => {
            return Ok(RequestedMigration { crd: args.kind.to_lowercase(), options, unknown: Some(error) });
        }
        Err(error) => return Err(error),
    };
    let before = args.to.as_deref().map(|to| policies(known, to)).unwrap_or_default();
    let crd = format!("{}.{}", known.plural(), known.group());
    let conversion = Some(conversion(&args.kinds)?);
    Ok(RequestedMigration { crd, options: MigrateOptions { before, conversion, ..options }, unknown: None })
}

/// The policies that must be in force before a version is stored. The cluster reports an unknown version.
fn policies(kind: &Kind, to: &str) -> Vec<Value> {
    let converts = kind.versions().count() > 1 && kind.versions().any(|version| version == to);
    if converts { incomplete(kind, to).to_vec() } else { Vec::new() }
}

const EXAMPLES: &str = "\
The command writes every object unchanged, by an empty patch, so that the API
server stores the object in the storage version. Then the command removes the
older versions from status.storedVersions of the CRD, and you can stop serving
these versions. You can stop the command at any time: the next run continues.

Examples:
  Show the steps, and change nothing:
    pointsman migrate materialize --dry-run

  Rewrite all objects in the storage version:
    pointsman migrate materialize

  Make the older version the storage version again, and rewrite all objects:
    pointsman migrate materialize --to v1alpha1

  Also remove the fields that were kept for a version that you removed:
    pointsman migrate materialize --forget v1alpha1

  Migrate a CRD that another webhook converts:
    pointsman migrate certificates.cert-manager.io

Exit codes:
  0    all objects are stored in the storage version, or this was a dry run
  1    an object could not be written, or the API server did not respond
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";
