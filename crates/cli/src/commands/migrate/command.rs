//! Flags in, a migration, an exit code out.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use pointsman_cluster::{CallError, MigrateError, MigrateOptions, migrate};
use pointsman_core::parse_duration;
use pointsman_core::registration::incomplete;

use super::told::{MigrateFormat, MigrateTold, outcome, summary};
use crate::commands::connected::ClusterArgs;
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
    /// Store this version from now on, newer or older; without it, the version that the CRD stores already.
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    /// Change nothing; say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Form of the result: lines for people, or JSON, with a line for each page while it runs.
    #[arg(short, long, value_enum, default_value_t = MigrateFormat::Text)]
    output: MigrateFormat,
    /// Writes under way at a time, at most. There are fewer while the API server is slow.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Pace")]
    at_once: u16,
    /// Objects listed at a time.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Pace")]
    page: u32,
    /// How long API servers may take to hear of another storage version, before anything is written.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s", help_heading = "Pace")]
    settle: Duration,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Rewrites what is stored.
pub(crate) fn run(args: &MigrateArgs) -> anyhow::Result<ExitCode> {
    let (name, options) = asked(args)?;
    let stop = Stop::on_interrupt()?;
    let mut told = MigrateTold::new(args.output);
    let migrated = args.cluster.with(async |cluster| {
        let result = migrate(&cluster, &name, &options, &mut |event| told.hear(&event), &|| stop.is_wanted()).await;
        result.map_err(advise)
    });
    told.clear();
    let migrated = migrated?;
    match args.output {
        MigrateFormat::Json => output::data(&format!("{}\n", outcome(&migrated, args.dry_run)))?,
        MigrateFormat::Text => output::text(&summary(&migrated, args.dry_run))?,
    }
    if migrated.interrupted {
        talk("stopped: what was written stays, and the same command goes on");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if args.dry_run || migrated.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The CRD's name, and what is to be done.
fn asked(args: &MigrateArgs) -> anyhow::Result<(String, MigrateOptions)> {
    let mut options = MigrateOptions {
        to: args.to.clone(),
        before: Vec::new(),
        page: args.page,
        at_once: args.at_once,
        settle: args.settle,
        dry_run: args.dry_run,
    };
    let all = args.kinds.load()?;
    let known = match find(&all, &args.kind) {
        Ok(known) => &known.kind,
        // A CRD need not have a definition: what is stored is rewritten by whoever converts it.
        Err(_) if args.kind.contains('.') => return Ok((args.kind.to_lowercase(), options)),
        Err(error) => return Err(error),
    };
    if let Some(to) = args.to.as_deref().filter(|to| known.versions().count() > 1 && known.versions().any(|v| v == *to))
    {
        options.before = incomplete(known, to).to_vec();
    }
    Ok((format!("{}.{}", known.plural(), known.group()), options))
}

fn advise(error: MigrateError) -> anyhow::Error {
    let hint = match &error {
        MigrateError::Call(call) => CallError::hint(call),
        _ => None,
    };
    match hint {
        Some(hint) => anyhow::Error::msg(format!("{error}: {hint}")),
        None => error.into(),
    }
}

const EXAMPLES: &str = "\
Every object is written as it is, by an empty patch, so that the API server stores it in the storage version. When
nothing old is left, status.storedVersions of the CRD says so, and older versions need not be served any more. It can
be stopped or killed at any time: the same command goes on.

Examples:
  What would be done:
    pointsman migrate materialize --dry-run

  Rewrite what is stored in other versions than the storage version:
    pointsman migrate materialize

  Store the older version again, and rewrite everything:
    pointsman migrate materialize --to v1alpha1

  A CRD that some other webhook converts:
    pointsman migrate certificates.cert-manager.io

Exit codes:
  0    all that is stored is in the storage version, or this was a dry run
  1    some objects could not be written, or the cluster could not be asked
  2    the flags are wrong
  130  stopped by Ctrl-C";
