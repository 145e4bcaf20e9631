//! Runs all rollouts of a cluster concurrently.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_rollout::{RolloutPhase, RolloutStatus};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::error::RolloutError;
use super::runner::{INTERVAL, RolloutEvent, RolloutOptions, run_with_lock};
use super::status_store::list_rollouts;
use crate::cluster::Cluster;

/// Runs every rollout of a cluster with a known kind, including later ones, until `stop` returns true. With `once`,
/// runs until each existing rollout has finished or waits for others. `kind` returns the kind of a StagedRollout, or an
/// error for an unknown one. A failing rollout does not affect others. Returns the last status by name, or `None` for a
/// failed run.
///
/// # Errors
/// StagedRollouts cannot be listed.
pub async fn run_rollouts<'a>(
    cluster: &'a Cluster,
    kind: &dyn Fn(&Value) -> Result<&'a Kind, String>,
    options: &'a RolloutOptions,
    report: &'a dyn Fn(&str, RolloutEvent),
    stop: &'a dyn Fn() -> bool,
) -> Result<BTreeMap<String, Option<RolloutStatus>>, RolloutError> {
    let cluster = &cluster.heeding();
    let begins = Mutex::new(());
    let mut ends = BTreeMap::new();
    let mut rollouts = RunningRollouts::default();
    let mut listed = false;
    loop {
        let has_all = options.once && listed;
        if !has_all && !stop() {
            match rollouts.while_running(list_rollouts(cluster)).await {
                Ok(documents) => {
                    listed = true;
                    for document in &documents {
                        if !rollouts.is_to_run(document) {
                            continue;
                        }
                        let name = name_of(document);
                        match kind(document) {
                            Ok(kind) => rollouts.begin(
                                document,
                                Box::pin(run_one(cluster, kind, name, options, report, stop, &begins)),
                            ),
                            Err(why) => rollouts.leave(document, || report(&name, RolloutEvent::Left(why))),
                        }
                    }
                }
                Err(RolloutError::Call(call)) if call.passes() && !options.once => {
                    report("", RolloutEvent::Trying(call))
                }
                Err(error) => return Err(error),
            }
        }
        let wait = if stop() || options.once { INTERVAL } else { SEEK };
        rollouts.while_running(sleep(wait)).await;
        for (name, ended) in std::mem::take(&mut rollouts.ended) {
            match &ended {
                Ok(status) => report(&name, RolloutEvent::Ended(Box::new(status.clone()))),
                Err(error) => report(&name, RolloutEvent::Left(error.to_string())),
            }
            if matches!(ended, Err(RolloutError::Lost { .. })) {
                rollouts.forget(&name);
            }
            ends.insert(name, ended.ok());
        }
        if rollouts.running.is_empty() && (stop() || options.once) {
            return Ok(ends);
        }
    }
}

async fn run_one(
    cluster: &Cluster,
    kind: &Kind,
    name: String,
    options: &RolloutOptions,
    report: &dyn Fn(&str, RolloutEvent),
    stop: &dyn Fn() -> bool,
    begins: &Mutex<()>,
) -> Result<RolloutStatus, RolloutError> {
    run_with_lock(cluster, kind, &name, options, &|event| report(&name, event), stop, begins).await
}

type RunningRollout<'a> = Pin<Box<dyn Future<Output = Result<RolloutStatus, RolloutError>> + 'a>>;

/// Rollouts in this process.
#[derive(Default)]
struct RunningRollouts<'a> {
    running: Vec<(String, RunningRollout<'a>)>,
    ended: Vec<(String, Result<RolloutStatus, RolloutError>)>,
    /// The resourceVersion at the last start or skip, the time and the name, by uid.
    known: BTreeMap<String, (String, Instant, String)>,
}

impl<'a> RunningRollouts<'a> {
    /// Awaits a future while the rollouts run.
    async fn while_running<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let (running, ended) = (&mut self.running, &mut self.ended);
        poll_fn(|context| {
            running.retain_mut(|(name, run)| match run.as_mut().poll(context) {
                Poll::Ready(result) => {
                    ended.push((name.clone(), result));
                    false
                }
                Poll::Pending => true,
            });
            work.as_mut().poll(context)
        })
        .await
    }

    /// True if a rollout must be started: it does not run here, and has changed since its last run. A refused rollout,
    /// or one that cannot change direction after its end, may wait for the end of another one.
    fn is_to_run(&self, document: &Value) -> bool {
        let name = name_of(document);
        if self.running.iter().any(|(running, _)| *running == name) {
            return false;
        }
        let waits = may_wait(document);
        self.known
            .get(text(document, "/metadata/uid"))
            .is_none_or(|(version, since, _)| version != version_of(document) || (waits && since.elapsed() > AGAIN))
    }

    fn begin(&mut self, document: &Value, run: RunningRollout<'a>) {
        self.know(document);
        self.running.push((name_of(document), run));
    }

    /// Skips a rollout; reports this at the first time.
    fn leave(&mut self, document: &Value, report: impl FnOnce()) {
        if !self.known.contains_key(text(document, "/metadata/uid")) {
            report();
        }
        self.know(document);
    }

    /// Forgets a rollout that another process runs, so that it is tried again: that process may end without a visible
    /// change.
    fn forget(&mut self, name: &str) {
        self.known.retain(|_, (_, _, known)| known != name);
    }

    fn know(&mut self, document: &Value) {
        let now = (version_of(document).to_owned(), Instant::now(), name_of(document));
        self.known.insert(text(document, "/metadata/uid").to_owned(), now);
    }
}

/// True if a rollout may wait for the end of another one: it is refused, or has finished and must change direction or
/// recheck.
fn may_wait(document: &Value) -> bool {
    let status = RolloutStatus::of(document);
    let requested =
        document.pointer("/spec/direction").and_then(|requested| serde_json::from_value(requested.clone()).ok());
    status.phase == RolloutPhase::Refused
        || status.recheck_requested
        || status.turns_after_end(requested.unwrap_or_default())
}

fn name_of(document: &Value) -> String {
    text(document, "/metadata/name").to_owned()
}

fn version_of(document: &Value) -> &str {
    text(document, "/metadata/resourceVersion")
}

fn text<'v>(document: &'v Value, path: &str) -> &'v str {
    document.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Interval of lists, to find new rollouts and changes of direction.
const SEEK: Duration = Duration::from_secs(5);

/// Retry interval for a refused rollout.
const AGAIN: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocked_rollout_is_retried() {
        let long_ago = Instant::now().checked_sub(AGAIN * 2).unwrap();
        for (phase, started, direction, wanted, again) in [
            ("Refused", json!(null), "Forward", json!(null), true),
            ("Complete", json!("2026-01-01T00:00:00Z"), "Forward", json!("Undo"), true),
            ("Aborted", json!("2026-01-01T00:00:00Z"), "Undo", json!(null), true),
            ("Complete", json!("2026-01-01T00:00:00Z"), "Forward", json!(null), false),
            ("Aborted", json!("2026-01-01T00:00:00Z"), "Undo", json!("Undo"), false),
            // It was undone by itself.
            ("Failed", json!("2026-01-01T00:00:00Z"), "Undo", json!("Forward"), false),
            // It moved no object, so an undo has no effect.
            ("Aborted", json!(null), "Forward", json!("Undo"), false),
        ] {
            let rollout = json!({
                "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
                "spec": {"direction": wanted},
                "status": {"phase": phase, "started": started, "direction": direction, "undoAll": phase == "Failed"},
            });
            let mut rollouts = RunningRollouts::default();
            assert!(rollouts.is_to_run(&rollout), "nobody has run it");
            rollouts.know(&rollout);
            assert!(!rollouts.is_to_run(&rollout), "{rollout}");
            rollouts.known.insert("u".to_owned(), ("1".to_owned(), long_ago, "a".to_owned()));
            assert_eq!(rollouts.is_to_run(&rollout), again, "{rollout}");
            rollouts.forget("b");
            assert_eq!(rollouts.is_to_run(&rollout), again, "{rollout}");
            rollouts.forget("a");
            assert!(rollouts.is_to_run(&rollout), "another runner had it");
        }
    }
}
