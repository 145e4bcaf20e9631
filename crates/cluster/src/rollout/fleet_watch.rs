//! Watches a fleet after it was listed: one watch that is restarted when it ends, fails or falls silent.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::{Instant as Deadline, sleep_until, timeout_at};

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::event_lines::EventLines;

/// A watch of a collection.
pub(super) struct FleetWatch {
    collection: String,
    /// The resourceVersion of the last event.
    until: String,
    lines: Option<EventLines>,
    /// The last event, including bookmarks.
    last_event: Instant,
    /// The last event about existing state.
    last_change: Option<Instant>,
    /// A write whose event is pending: its resourceVersion, and the start of the wait.
    owed: Option<(u64, Instant)>,
}

/// A watch event.
pub(super) enum FleetNews {
    /// The current object.
    Is(Value),
    /// A deleted object, in its last state.
    Deleted(Value),
    /// No event in time.
    Nothing,
    /// Events were lost: the fleet must be listed again.
    Lost,
}

impl FleetWatch {
    /// Watches after this resourceVersion. Opens at the first use.
    pub(super) fn after(collection: String, until: String) -> Self {
        Self { collection, until, lines: None, last_event: Instant::now(), last_change: None, owed: None }
    }

    /// Records a write whose event must arrive.
    pub(super) fn owes(&mut self, revision: u64) {
        self.owed.get_or_insert_with(|| (revision, Instant::now()));
    }

    /// True if an event arrived within this time: an event implies all earlier ones.
    pub(super) fn has_event(&self, within: Duration) -> bool {
        self.last_change.is_some_and(|last_change| last_change.elapsed() < within)
    }

    /// The next event.
    ///
    /// # Errors
    /// The watch is refused.
    pub(super) async fn next(&mut self, cluster: &Cluster, deadline: Deadline) -> Result<FleetNews, CallError> {
        loop {
            if self.is_deaf() {
                self.lines = None;
            }
            let lines = match &mut self.lines {
                Some(lines) => lines,
                closed => {
                    let path = format!("{}?watch=true&allowWatchBookmarks=true", self.collection);
                    let path = format!("{path}&resourceVersion={}", self.until);
                    let lines = match cluster.open(&path, Extent::Objects, LINE).await {
                        Err(error) if error.code() == Some(410) => return Ok(FleetNews::Lost),
                        answer => answer?,
                    };
                    self.last_event = Instant::now();
                    self.owed = self.owed.map(|(revision, _)| (revision, self.last_event));
                    closed.insert(lines)
                }
            };
            let news = match timeout_at(deadline, lines.next()).await {
                Err(_) => return Ok(FleetNews::Nothing),
                Ok(Ok(Some(event))) => self.process(event),
                // Continues from the last event after the remaining time, since the server may be overloaded.
                Ok(Ok(None) | Err(CallError::NoAnswer { .. })) => {
                    self.lines = None;
                    sleep_until(deadline).await;
                    return Ok(FleetNews::Nothing);
                }
                Ok(Err(error)) => {
                    self.lines = None;
                    return Err(error);
                }
            };
            if let Some(news) = news {
                return Ok(news);
            }
        }
    }

    /// True if an expected event is missing: the connection may be broken silently.
    fn is_deaf(&self) -> bool {
        self.last_event.elapsed() > SILENT || self.owed.is_some_and(|(_, since)| since.elapsed() > LATE)
    }

    fn process(&mut self, mut event: Value) -> Option<FleetNews> {
        let object = event.get_mut("object").map(Value::take).unwrap_or_default();
        let what = event.get("type").and_then(Value::as_str);
        if !matches!(what, Some("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK")) {
            // For any other event, a list gives the state.
            self.lines = None;
            return Some(FleetNews::Lost);
        }
        self.record_progress(&object);
        match what {
            Some("BOOKMARK") => None,
            Some("DELETED") => Some(FleetNews::Deleted(object)),
            _ => Some(FleetNews::Is(object)),
        }
    }

    /// Records the progress of the watch.
    fn record_progress(&mut self, object: &Value) {
        if let Some(version) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            version.clone_into(&mut self.until);
            let now: u64 = version.parse().unwrap_or(u64::MAX);
            self.owed = self.owed.filter(|(revision, _)| *revision > now);
        }
        self.last_event = Instant::now();
        self.last_change = Some(self.last_event);
    }
}

/// Maximum bytes of an event: several times the limit of etcd per object.
const LINE: usize = 8 << 20;

/// An API server sends a bookmark at least every minute (`bookmarkFrequency`): a longer silence may be a broken
/// connection.
const SILENT: Duration = Duration::from_secs(90);

/// The event of a write normally arrives within a second.
const LATE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(what: &str, version: &str) -> Value {
        json!({"type": what, "object": {"metadata": {"resourceVersion": version}}})
    }

    #[test]
    fn silent_watch_is_stale() {
        let mut watch = FleetWatch::after("/c".to_owned(), "1".to_owned());
        assert!(!watch.is_deaf());
        watch.last_event -= SILENT * 2;
        assert!(watch.is_deaf(), "nothing for minutes");
        assert!(watch.process(event("BOOKMARK", "4")).is_none());
        assert!(!watch.is_deaf(), "a bookmark is a sign of life");
        watch.owes(7);
        watch.owes(9);
        assert!(!watch.is_deaf());
        let backdate = |watch: &mut FleetWatch| {
            watch.owed = watch.owed.map(|(revision, since)| (revision, since.checked_sub(LATE * 2).unwrap()));
        };
        backdate(&mut watch);
        assert!(watch.process(event("MODIFIED", "6")).is_some() && watch.is_deaf(), "of others only");
        assert!(watch.process(event("MODIFIED", "7")).is_some() && !watch.is_deaf());
        watch.owes(9);
        backdate(&mut watch);
        assert!(watch.is_deaf(), "the next write counts for itself");
        assert!(watch.process(event("DELETED", "10")).is_some() && !watch.is_deaf());
        assert_eq!(watch.until, "10");
    }
}
