//! The runner of one rollout: observe, plan, write, repeat.
//!
//! The loop in `reconcile` joins four parts. The `session` holds the Lease and limits the calls, the `observer` knows
//! the fleet, the `writer` performs a plan, and the `reporter` informs people.

mod event;
mod fleet_writes;
mod observer;
mod options;
mod other_writes;
mod reconcile;
mod reporter;
mod session;
mod write_results;
mod writer;

use pointsman_core::definition::Kind;
use pointsman_rollout::RolloutStatus;
use tokio::sync::Mutex;

pub use self::event::RolloutEvent;
pub use self::options::RolloutOptions;
use self::reconcile::RolloutRunner;
use self::reporter::EventReporter;
pub(super) use self::session::INTERVAL;
use self::session::LeaseSession;
use super::clock::RolloutClock;
use super::error::RolloutError;
use super::lease::RolloutLease;
use crate::cluster::Cluster;

/// Runs a rollout until it has finished, `stop` returns true, or, with `once`, until it only waits for others. The
/// process can be killed at any time, and the rollout run again.
///
/// # Errors
/// [`RolloutError`]. A paused or refused rollout is no error: its status contains the reason.
pub async fn run_rollout(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RolloutOptions,
    report: &dyn Fn(RolloutEvent),
    stop: &dyn Fn() -> bool,
) -> Result<RolloutStatus, RolloutError> {
    run_with_lock(cluster, kind, name, options, report, stop, &Mutex::new(())).await
}

/// The same alongside other rollouts. `begins` is locked while one begins, so that each sees earlier ones.
pub(super) async fn run_with_lock(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    options: &RolloutOptions,
    report: &dyn Fn(RolloutEvent),
    stop: &dyn Fn() -> bool,
    begins: &Mutex<()>,
) -> Result<RolloutStatus, RolloutError> {
    let (clock, cluster) = (RolloutClock::start(), &cluster.heeding());
    let lease = RolloutLease::new(name, &options.namespace, &options.holder, clock);
    let reporter = EventReporter::new(kind, &options.holder, report);
    let session = LeaseSession::new(cluster, name, (clock, lease), reporter);
    RolloutRunner::new(session, kind, options, begins).run_to_end(stop).await
}
