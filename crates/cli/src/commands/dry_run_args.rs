//! `--dry-run`, as in kubectl.

use clap::{Args, ValueEnum};
use pointsman_cluster::DryRun;

/// The dry-run flag.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DryRunArgs {
    /// Make no changes: print the steps only, or also send them to the API server for validation.
    #[arg(long, value_enum, value_name = "client|server", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<DryRunMode>,
}

/// The modes of kubectl.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum DryRunMode {
    /// Sends no requests.
    Client,
    /// The API server validates the requests without storing them.
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
