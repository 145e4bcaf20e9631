//! Checks that the controllers of a rollout run, by their Leases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pointsman_rollout::{Rollout, RolloutStatus, wall};
use serde_json::Value;

use super::clock::RolloutClock;
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// Observed Leases of controllers.
#[derive(Debug, Default)]
pub(super) struct ControllerLeases {
    /// The last observation of each Lease.
    seen: BTreeMap<String, LeaseSeen>,
    read_at: Option<Instant>,
    shut: Option<String>,
}

/// The last observation of a Lease.
#[derive(Debug)]
struct LeaseSeen {
    version: String,
    /// First observation of this version, on the local clock, which may differ from the holder's.
    since: Instant,
    /// Age of the renewal at that time, on the holder's clock.
    late: Duration,
}

impl ControllerLeases {
    /// The controller that must run and does not, with the reason; `None` if all run. Reads Leases at most every few
    /// seconds.
    pub(super) async fn shut(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        status: &RolloutStatus,
        clock: RolloutClock,
    ) -> Result<Option<String>, CallError> {
        if self.read_at.is_some_and(|read_at| read_at.elapsed() < SELDOM) {
            return Ok(self.shut.clone());
        }
        let mut shut = None;
        for (version, namespace, name) in status.leases(rollout) {
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
            let why = match cluster.find(&path).await? {
                Some(lease) => self.not_held(&path, &lease, clock),
                None => Some("does not exist".to_owned()),
            };
            if let Some(why) = why.filter(|_| shut.is_none()) {
                shut = Some(format!("controller {version} does not run: Lease {namespace}/{name} {why}"));
            }
        }
        (self.read_at, self.shut) = (Some(Instant::now()), shut.clone());
        Ok(shut)
    }

    /// The reason why a Lease is not held, by the rule of client-go: a holder that does not renew in time has lost it
    /// (`client-go tools/leaderelection/leaderelection.go`).
    fn not_held(&mut self, path: &str, lease: &Value, clock: RolloutClock) -> Option<String> {
        let text = |path: &str| lease.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if text("/spec/holderIdentity").is_empty() {
            return Some("has no holder".to_owned());
        }
        let version = text("/metadata/resourceVersion");
        let duration = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64).unwrap_or(DURATION);
        let first = !self.seen.contains_key(path);
        let seen = self.seen.entry(path.to_owned()).or_insert_with(|| LeaseSeen {
            version: String::new(),
            since: Instant::now(),
            late: Duration::ZERO,
        });
        if seen.version != version {
            // An observed change means a renewal now; at the first observation, only the holder's time is available.
            let late = wall(text("/spec/renewTime")).filter(|_| first).map(|at| clock.now().wall.saturating_sub(at));
            *seen = LeaseSeen {
                version: version.to_owned(),
                since: Instant::now(),
                late: Duration::from_secs(late.unwrap_or_default()),
            };
        }
        let silent = (seen.since.elapsed() + seen.late).as_secs();
        (silent > duration).then(|| format!("was not renewed for {silent} s, and lasts {duration} s"))
    }
}

/// Interval of reads: a controller renews its Lease every 2 s, and loses it after 15 s (client-go's defaults).
const SELDOM: Duration = Duration::from_secs(5);

/// Seconds, if not in the Lease.
const DURATION: u64 = 15;
