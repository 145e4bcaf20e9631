//! The Prometheus server for metric checks.

use clap::Args;
use pointsman_cluster::{SnapshotOptions, SurveyOptions};
use pointsman_core::definition::MutatedKind;
use pointsman_rollout::HttpAddress;

use crate::commands::usage::Usage;

/// The Prometheus server of the cluster.
#[derive(Args, Debug)]
pub(crate) struct PrometheusArgs {
    /// URL of the Prometheus server of this cluster, http:// or https://, for metric checks.
    // Parsed here instead of by clap, which prints invalid values: the URL may contain a password.
    #[arg(long, value_name = "URL", env = "POINTSMAN_PROMETHEUS", hide_env_values = true, help_heading = "Cluster")]
    prometheus: Option<String>,
}

impl PrometheusArgs {
    /// The address, if given.
    ///
    /// # Errors
    /// The address is invalid.
    pub(super) fn address(&self) -> anyhow::Result<Option<HttpAddress>> {
        let wrong = |why: &str| Usage(format!("--prometheus: {why}"));
        // An empty variable counts as not set.
        let Some(text) = self.prometheus.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        let address: HttpAddress = text.parse().map_err(|error| wrong(&format!("{error}")))?;
        if address.has_query() {
            return Err(wrong("the address must end with a path: checks add the query after `?`").into());
        }
        Ok(Some(address))
    }

    /// The options of a fleet snapshot.
    ///
    /// # Errors
    /// As [`Self::address`].
    pub(super) fn survey(&self, mode: SnapshotOptions, mutated: Vec<MutatedKind>) -> anyhow::Result<SurveyOptions> {
        Ok(SurveyOptions { mode, prometheus: self.address()?, mutated })
    }
}
