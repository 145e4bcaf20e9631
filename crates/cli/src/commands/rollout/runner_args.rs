//! The identity of the runner.

use clap::Args;
use pointsman_core::registration::NamespacedName;

/// The service account of the runner.
#[derive(Args, Debug)]
pub(crate) struct RunnerArgs {
    /// Service account of the runner. It is exempt from the freeze policy.
    #[arg(long, value_name = "NAMESPACE/NAME", default_value = "pointsman-system/pointsman-rollout")]
    pub(super) service_account: NamespacedName,
}
