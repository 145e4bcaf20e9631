//! `--dry-run`, as kubectl has it.

use clap::{Args, ValueEnum};
use pointsman_cluster::DryRun;

/// Whether anything is changed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DryRunArgs {
    /// Change nothing: only say what would be done, or have the API server judge it as well.
    #[arg(long, value_enum, value_name = "client|server", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<DryRunMode>,
}

/// As kubectl calls them.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DryRunMode {
    /// Nothing is sent.
    Client,
    /// The API server judges what it can, and stores nothing.
    Server,
}

impl DryRunArgs {
    pub(crate) fn mode(self) -> Option<DryRun> {
        self.dry_run.map(|mode| match mode {
            DryRunMode::Client => DryRun::Client,
            DryRunMode::Server => DryRun::Server,
        })
    }
}
