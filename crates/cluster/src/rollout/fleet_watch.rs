//! What becomes of a fleet after it was listed: one watch, begun anew wherever it ends, breaks or falls silent.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::{Instant as Deadline, sleep_until, timeout_at};

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::event_lines::EventLines;

/// A watch of a collection.
pub(super) struct FleetWatch {
    collection: String,
    /// The resourceVersion up to which all is known.
    until: String,
    lines: Option<EventLines>,
    /// When anything was heard last, be it that there is nothing new.
    heard: Instant,
    /// When anything of what is there was told last.
    told: Option<Instant>,
    /// What was written and is still to be heard of: its resourceVersion, and since when that is waited for.
    owed: Option<(u64, Instant)>,
}

/// What a watch tells.
pub(super) enum FleetNews {
    /// An object, as it is now.
    Is(Value),
    /// An object that is no more, as it was last.
    Gone(Value),
    /// Nothing, for as long as was listened.
    Nothing,
    /// It cannot be told what came after all that is known: it has to be listed again.
    Lost,
}

impl FleetWatch {
    /// Of what comes after this resourceVersion. It is opened by whoever listens first.
    pub(super) fn after(collection: String, until: String) -> Self {
        Self { collection, until, lines: None, heard: Instant::now(), told: None, owed: None }
    }

    /// Something was written, which has to be heard of.
    pub(super) fn owes(&mut self, revision: u64) {
        self.owed.get_or_insert_with(|| (revision, Instant::now()));
    }

    /// Whether anything was told within so long: whatever is told comes after all that was before it.
    pub(super) fn has_told(&self, within: Duration) -> bool {
        self.told.is_some_and(|told| told.elapsed() < within)
    }

    /// The next that is told.
    ///
    /// # Errors
    /// It cannot be watched.
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
                    self.heard = Instant::now();
                    self.owed = self.owed.map(|(revision, _)| (revision, self.heard));
                    closed.insert(lines)
                }
            };
            let news = match timeout_at(deadline, lines.next()).await {
                Err(_) => return Ok(FleetNews::Nothing),
                Ok(Ok(Some(event))) => self.hear(event),
                // It goes on where it broke, after what is left of the time: whoever ends it may be busy.
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

    /// Whether what should have been heard by now was not: the connection may have broken unheard.
    fn is_deaf(&self) -> bool {
        self.heard.elapsed() > SILENT || self.owed.is_some_and(|(_, since)| since.elapsed() > LATE)
    }

    fn hear(&mut self, mut event: Value) -> Option<FleetNews> {
        let object = event.get_mut("object").map(Value::take).unwrap_or_default();
        let what = event.get("type").and_then(Value::as_str);
        if !matches!(what, Some("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK")) {
            // Whatever it is, a list says what is so.
            self.lines = None;
            return Some(FleetNews::Lost);
        }
        self.is_told(&object);
        match what {
            Some("BOOKMARK") => None,
            Some("DELETED") => Some(FleetNews::Gone(object)),
            _ => Some(FleetNews::Is(object)),
        }
    }

    /// All is told up to this object.
    fn is_told(&mut self, object: &Value) {
        if let Some(version) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            version.clone_into(&mut self.until);
            let now: u64 = version.parse().unwrap_or(u64::MAX);
            self.owed = self.owed.filter(|(revision, _)| *revision > now);
        }
        self.heard = Instant::now();
        self.told = Some(self.heard);
    }
}

/// Bytes of an event at most: several times what etcd takes of an object.
const LINE: usize = 8 << 20;

/// An API server says every minute at least how far it has told (`bookmarkFrequency`): what is silent for longer may
/// have broken unheard.
const SILENT: Duration = Duration::from_secs(90);

/// What was written is told within a moment.
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
        watch.heard -= SILENT * 2;
        assert!(watch.is_deaf(), "nothing for minutes");
        assert!(watch.hear(event("BOOKMARK", "4")).is_none());
        assert!(!watch.is_deaf(), "a bookmark is a sign of life");
        watch.owes(7);
        watch.owes(9);
        assert!(!watch.is_deaf());
        let backdate = |watch: &mut FleetWatch| {
            watch.owed = watch.owed.map(|(revision, since)| (revision, since.checked_sub(LATE * 2).unwrap()));
        };
        backdate(&mut watch);
        assert!(watch.hear(event("MODIFIED", "6")).is_some() && watch.is_deaf(), "of others only");
        assert!(watch.hear(event("MODIFIED", "7")).is_some() && !watch.is_deaf());
        watch.owes(9);
        backdate(&mut watch);
        assert!(watch.is_deaf(), "the next write counts for itself");
        assert!(watch.hear(event("DELETED", "10")).is_some() && !watch.is_deaf());
        assert_eq!(watch.until, "10");
    }
}
