//! Sends HTTP probes of a rollout, concurrently.

use pointsman_rollout::{HttpAddress, HttpProbe, LookupResults, ProbeKind, ProbeResult, quoted_in_address};
use tokio::task::JoinSet;

use crate::web::{BodyWanted, WebClient};

/// Sends probes.
#[derive(Default)]
pub(super) struct HttpProber {
    client: WebClient,
    /// The Prometheus of this cluster.
    prometheus: Option<HttpAddress>,
}

impl HttpProber {
    /// With the Prometheus of the cluster.
    pub(super) fn with(prometheus: Option<&HttpAddress>) -> Self {
        Self { client: WebClient::default(), prometheus: prometheus.cloned() }
    }

    /// Sends all probes and records the responses. A slow probe does not delay others.
    pub(super) async fn probe(&self, lookups: &[HttpProbe], answers: &mut LookupResults) {
        let mut asking = JoinSet::new();
        for lookup in lookups.iter().cloned() {
            let (client, prometheus) = (self.client.clone(), self.prometheus.clone());
            asking.spawn(async move {
                let answer = probe(&client, prometheus.as_ref(), &lookup.kind).await;
                (lookup, answer)
            });
        }
        while let Some(finished) = asking.join_next().await {
            // A panicked probe has no response, and is unmet.
            if let Ok((lookup, answer)) = finished {
                answers.record_response(&lookup, answer);
            }
        }
    }
}

async fn probe(client: &WebClient, prometheus: Option<&HttpAddress>, kind: &ProbeKind) -> Result<ProbeResult, String> {
    match kind {
        ProbeKind::Page(address) => client.get(address, BodyWanted::Nothing).await,
        ProbeKind::Number(query) => {
            let base = prometheus.ok_or_else(|| UNKNOWN.to_owned())?;
            let address = base.below(&format!("/api/v1/query?query={}", quoted_in_address(query)));
            client.get(&address, BodyWanted::All).await.map_err(|why| format!("Prometheus at {base}: {why}"))
        }
    }
}

/// The hint for the operator.
const UNKNOWN: &str = "no Prometheus is configured: use --prometheus URL, or set POINTSMAN_PROMETHEUS";
