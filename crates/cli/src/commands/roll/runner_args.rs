//! As whom rolls are run.

use clap::Args;
use pointsman_core::registration::NamespacedName;

/// The service account that runs rolls.
#[derive(Args, Debug)]
pub(crate) struct RunnerArgs {
    /// Service account that runs the roll: for it nothing is frozen.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "pointsman-system/pointsman-roll")]
    pub(super) service_account: NamespacedName,
}
