//! Whether the controllers run that a rollout needs, by the Leases that they hold.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pointsman_core::rollout::{Rollout, RolloutStatus, wall};
use serde_json::Value;

use super::clock::RolloutClock;
use crate::call_error::CallError;
use crate::cluster::Cluster;

/// The Leases of controllers, as far as they were looked at.
#[derive(Debug, Default)]
pub(super) struct ControllerLeases {
    /// What was seen of each last, and when that was new.
    seen: BTreeMap<String, LeaseSeen>,
    looked: Option<Instant>,
    shut: Option<String>,
}

/// A Lease as it was seen last.
#[derive(Debug)]
struct LeaseSeen {
    version: String,
    /// When this version of it was seen first, by our clock: theirs may be another one.
    since: Instant,
    /// How long ago it was renewed by then, as its holder has it.
    late: Duration,
}

impl ControllerLeases {
    /// Says which controller does not run that has to, and why that is thought; nothing where all do. It looks every
    /// few seconds at most.
    pub(super) async fn shut(
        &mut self,
        cluster: &Cluster,
        rollout: &Rollout,
        status: &RolloutStatus,
        clock: RolloutClock,
    ) -> Result<Option<String>, CallError> {
        if self.looked.is_some_and(|looked| looked.elapsed() < SELDOM) {
            return Ok(self.shut.clone());
        }
        let mut shut = None;
        for (version, namespace, name) in status.leases(rollout) {
            let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
            let why = match cluster.find(&path).await? {
                Some(lease) => self.not_held(&path, &lease, clock),
                None => Some("is not there".to_owned()),
            };
            if let Some(why) = why.filter(|_| shut.is_none()) {
                shut = Some(format!("controller {version} does not run: Lease {namespace}/{name} {why}"));
            }
        }
        (self.looked, self.shut) = (Some(Instant::now()), shut.clone());
        Ok(shut)
    }

    /// Why a Lease is not held, as client-go has it: whoever does not renew it in time has lost it
    /// (`client-go tools/leaderelection/leaderelection.go`).
    fn not_held(&mut self, path: &str, lease: &Value, clock: RolloutClock) -> Option<String> {
        let text = |path: &str| lease.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if text("/spec/holderIdentity").is_empty() {
            return Some("is held by nobody".to_owned());
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
            // What is seen to change was renewed just now; of what is seen for the first time only its holder knows.
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

/// How often they are looked at: a controller renews its own every 2 s, and has lost it after 15 s
/// (client-go's defaults).
const SELDOM: Duration = Duration::from_secs(5);

/// Seconds, where a Lease does not say.
const DURATION: u64 = 15;
