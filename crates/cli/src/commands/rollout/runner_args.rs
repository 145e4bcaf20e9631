//! As whom rollouts are run.

use clap::Args;
use pointsman_core::registration::NamespacedName;

/// The service account that runs rollouts.
#[derive(Args, Debug)]
pub(crate) struct RunnerArgs {
    /// Service account that runs the rollout: for it nothing is frozen.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "pointsman-system/pointsman-rollout")]
    pub(super) service_account: NamespacedName,
}
