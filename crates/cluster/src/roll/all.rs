//! Runs all rolls of a cluster, each beside the others.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_core::roll::{RollPhase, RollStatus};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::error::RollError;
use super::runner::{AGAIN, LOOK, RollEvent, RollOptions, run_beside};
use super::store::list_rolls;
use crate::cluster::Cluster;

/// Runs every roll of a cluster whose kind is known, also those that come later, until `stop` says so; or, with
/// `once`, until each of those that are there is over or waits for others. `kind` says which kind a Roll is about, or
/// that it is nobody's here. What is wrong with one of them ends no other. Returns how they ended last, by name;
/// nothing for one that could not be run.
///
/// # Errors
/// Rolls cannot be listed.
pub async fn run_rolls<'a>(
    cluster: &'a Cluster,
    kind: &dyn Fn(&Value) -> Result<&'a Kind, String>,
    options: &'a RollOptions,
    say: &'a dyn Fn(&str, RollEvent),
    stop: &'a dyn Fn() -> bool,
) -> Result<BTreeMap<String, Option<RollStatus>>, RollError> {
    let cluster = &cluster.heeding();
    let begins = Mutex::new(());
    let mut ends = BTreeMap::new();
    let mut rolls = Rolls::default();
    let mut listed = false;
    loop {
        let has_all = options.once && listed;
        if !has_all && !stop() {
            match rolls.beside(list_rolls(cluster)).await {
                Ok(documents) => {
                    listed = true;
                    for document in &documents {
                        if !rolls.is_to_run(document) {
                            continue;
                        }
                        let name = name_of(document);
                        match kind(document) {
                            Ok(kind) => rolls
                                .begin(document, Box::pin(run_one(cluster, kind, name, options, say, stop, &begins))),
                            Err(why) => rolls.leave(document, || say(&name, RollEvent::Left(why))),
                        }
                    }
                }
                Err(RollError::Call(call)) if call.passes() && !options.once => say("", RollEvent::Trying(call)),
                Err(error) => return Err(error),
            }
        }
        let wait = if stop() || options.once { LOOK } else { SEEK };
        rolls.beside(sleep(wait)).await;
        for (name, ended) in std::mem::take(&mut rolls.ended) {
            match &ended {
                Ok(status) => say(&name, RollEvent::Ended(Box::new(status.clone()))),
                Err(error) => say(&name, RollEvent::Left(error.to_string())),
            }
            if matches!(ended, Err(RollError::Lost { .. })) {
                rolls.forget(&name);
            }
            ends.insert(name, ended.ok());
        }
        if rolls.running.is_empty() && (stop() || options.once) {
            return Ok(ends);
        }
    }
}

async fn run_one(
    cluster: &Cluster,
    kind: &Kind,
    name: String,
    options: &RollOptions,
    say: &dyn Fn(&str, RollEvent),
    stop: &dyn Fn() -> bool,
    begins: &Mutex<()>,
) -> Result<RollStatus, RollError> {
    run_beside(cluster, kind, &name, options, &|event| say(&name, event), stop, begins).await
}

type RunningRoll<'a> = Pin<Box<dyn Future<Output = Result<RollStatus, RollError>> + 'a>>;

/// Rolls that are run.
#[derive(Default)]
struct Rolls<'a> {
    running: Vec<(String, RunningRoll<'a>)>,
    ended: Vec<(String, Result<RollStatus, RollError>)>,
    /// What each Roll was, by uid, when it was begun or left alone last, when that was, and its name.
    known: BTreeMap<String, (String, Instant, String)>,
}

impl<'a> Rolls<'a> {
    /// Does something, and runs the rolls meanwhile.
    async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
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

    /// Whether a roll has to be run: nobody does here, and something has changed since that was last so. What is
    /// refused, or does not turn after its end, may wait for another roll to end.
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

    fn begin(&mut self, document: &Value, run: RunningRoll<'a>) {
        self.know(document);
        self.running.push((name_of(document), run));
    }

    /// Leaves a roll alone, and says so when it is met first.
    fn leave(&mut self, document: &Value, say: impl FnOnce()) {
        if !self.known.contains_key(text(document, "/metadata/uid")) {
            say();
        }
        self.know(document);
    }

    /// Begins a roll anew that somebody else has taken over: they may end, and leave nothing that changes.
    fn forget(&mut self, name: &str) {
        self.known.retain(|_, (_, _, known)| known != name);
    }

    fn know(&mut self, document: &Value) {
        let now = (version_of(document).to_owned(), Instant::now(), name_of(document));
        self.known.insert(text(document, "/metadata/uid").to_owned(), now);
    }
}

/// Whether a roll may wait for another one to end: it is refused, or is over and is to turn, or to look once more.
fn may_wait(document: &Value) -> bool {
    let status = RollStatus::of(document);
    let asked = document.pointer("/spec/direction").and_then(|asked| serde_json::from_value(asked.clone()).ok());
    status.phase == RollPhase::Refused || status.looks_again || status.turns_after_end(asked.unwrap_or_default())
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

/// How often rolls that came, or that somebody turned, are looked for.
const SEEK: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_wait_for_another_roll_is_tried_again_though_nothing_changes() {
        let long_ago = Instant::now().checked_sub(AGAIN * 2).unwrap();
        for (phase, started, went, wanted, again) in [
            ("Refused", json!(null), "Forward", json!(null), true),
            ("Complete", json!("2026-01-01T00:00:00Z"), "Forward", json!("Back"), true),
            ("Aborted", json!("2026-01-01T00:00:00Z"), "Back", json!(null), true),
            ("Complete", json!("2026-01-01T00:00:00Z"), "Forward", json!(null), false),
            ("Aborted", json!("2026-01-01T00:00:00Z"), "Back", json!("Back"), false),
            // It went back by itself.
            ("Failed", json!("2026-01-01T00:00:00Z"), "Back", json!("Forward"), false),
            // Nothing of it was moved, and so nothing is to be taken back.
            ("Aborted", json!(null), "Forward", json!("Back"), false),
        ] {
            let roll = json!({
                "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
                "spec": {"direction": wanted},
                "status": {"phase": phase, "started": started, "direction": went, "backAll": phase == "Failed"},
            });
            let mut rolls = Rolls::default();
            assert!(rolls.is_to_run(&roll), "nobody has run it");
            rolls.know(&roll);
            assert!(!rolls.is_to_run(&roll), "{roll}");
            rolls.known.insert("u".to_owned(), ("1".to_owned(), long_ago, "a".to_owned()));
            assert_eq!(rolls.is_to_run(&roll), again, "{roll}");
            rolls.forget("b");
            assert_eq!(rolls.is_to_run(&roll), again, "{roll}");
            rolls.forget("a");
            assert!(rolls.is_to_run(&roll), "somebody else had it");
        }
    }
}
