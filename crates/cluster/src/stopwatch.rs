//! Time without outages of the API server.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::outage_retry::OutageWait;

/// Measures time without outages of the API server, for timeouts that assume a responsive server.
pub(crate) struct Stopwatch<'c> {
    cluster: &'c Cluster,
    began: Instant,
    waited: Duration,
}

impl<'c> Stopwatch<'c> {
    pub(crate) fn start(cluster: &'c Cluster) -> Self {
        Self { cluster, began: Instant::now(), waited: waited(cluster) }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed().saturating_sub(waited(self.cluster).saturating_sub(self.waited))
    }
}

fn waited(cluster: &Cluster) -> Duration {
    cluster.waits().map_or(Duration::ZERO, OutageWait::waited)
}
