//! Where checks of metrics ask.

use clap::Args;
use pointsman_cluster::{SnapshotOptions, SurveyOptions};
use pointsman_core::definition::{HttpAddress, MutatedKind};

use crate::commands::usage::Usage;

/// The Prometheus of the cluster.
#[derive(Args, Debug)]
pub(crate) struct PrometheusArgs {
    /// Address of the Prometheus of this cluster, http:// or https://, for checks that ask for metrics.
    // Read here and not by clap, which repeats what it does not take: it may hold a password.
    #[arg(long, value_name = "URL", env = "POINTSMAN_PROMETHEUS", hide_env_values = true, help_heading = "Cluster")]
    prometheus: Option<String>,
}

impl PrometheusArgs {
    /// Where it is, if somebody says so.
    ///
    /// # Errors
    /// Something else is said.
    pub(super) fn address(&self) -> anyhow::Result<Option<HttpAddress>> {
        let wrong = |why: &str| Usage(format!("--prometheus: {why}"));
        // A variable that is set to nothing names nobody.
        let Some(text) = self.prometheus.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
        let address: HttpAddress = text.parse().map_err(|error| wrong(&format!("{error}")))?;
        if address.has_query() {
            return Err(wrong("the address ends with a path: what is behind `?` is what checks ask").into());
        }
        Ok(Some(address))
    }

    /// How a fleet is looked at.
    ///
    /// # Errors
    /// As [`Self::address`].
    pub(super) fn survey(&self, asks: SnapshotOptions, mutated: Vec<MutatedKind>) -> anyhow::Result<SurveyOptions> {
        Ok(SurveyOptions { asks, prometheus: self.address()?, mutated })
    }
}
