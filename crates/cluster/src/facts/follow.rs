//! Follows the objects of facts: a list, then a watch, and a list again when the watch is too old.
//!
//! Written by hand, because the watcher of `kube-runtime` reads pages and events of any size. The server that follows
//! facts has a memory limit.

use std::ops::ControlFlow;
use std::time::Duration;

use pointsman_core::definition::{FactScope, WatchedFact};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::fact_event::FactEvent;
use super::fact_state::Seen;
use super::pace::next_pause;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::pages::{items, next_page};

/// Groups facts that can share a watch: same objects, same API version.
#[must_use]
pub fn with_one_watch(facts: &[WatchedFact]) -> Vec<Vec<WatchedFact>> {
    let mut groups: Vec<Vec<WatchedFact>> = Vec::new();
    for fact in facts {
        let of = |group: &&mut Vec<WatchedFact>| group.first().is_some_and(|other| other.shares_objects(fact));
        match groups.iter_mut().find(of) {
            Some(group) => group.push(fact.clone()),
            None => groups.push(vec![fact.clone()]),
        }
    }
    groups
}

/// Follows facts of one resource forever, with get, list and watch of that resource alone. Requests only metadata if
/// sufficient. Reports facts and errors by the callback. While the resource does not exist, its facts are false.
pub async fn follow_facts(cluster: &Cluster, facts: &[WatchedFact], report: &mut dyn FnMut(FactEvent)) {
    let (mut pause, mut known) = (Duration::ZERO, None);
    loop {
        let (ended, watched) = match read(cluster, facts, &mut known, report).await {
            Ok(now) => {
                let began = Instant::now();
                (watch(cluster, facts, now, report).await, began.elapsed())
            }
            Err(error) => (Err(error), Duration::ZERO),
        };
        pause = next_pause(pause, watched, ended.as_ref().err().and_then(CallError::retry_after));
        match ended {
            Ok(WatchEnd::Over) => report(FactEvent::Unchanged),
            Ok(WatchEnd::Old) => known = None,
            Err(error) => {
                let is_missing = error.code() == Some(404);
                if is_missing {
                    report(FactEvent::Seen(Seen::nothing(facts).facts()));
                }
                // A lost connection does not invalidate known facts: the watch continues.
                if !error.passes() {
                    known = None;
                }
                report(FactEvent::Failed { error, pause });
            }
        }
        sleep(pause).await;
    }
}

/// The known facts of a collection, and the watch position.
struct KnownObjects {
    collection: String,
    seen: Seen,
    version: String,
}

/// The end of a watch without error.
enum WatchEnd {
    /// Its time limit passed: another watch follows.
    Over,
    /// It was too old, or sent an event that requires a list.
    Old,
}

/// The known state, listed if there is none.
async fn read<'k>(
    cluster: &Cluster,
    facts: &[WatchedFact],
    known: &'k mut Option<KnownObjects>,
    report: &mut dyn FnMut(FactEvent),
) -> Result<&'k mut KnownObjects, CallError> {
    let now = match known.take() {
        Some(now) => now,
        None => {
            let collection = match facts.first() {
                Some(first) => collection(cluster, first).await?,
                None => String::new(),
            };
            let (seen, version) = list(cluster, facts, &collection).await?;
            report(FactEvent::Seen(seen.facts()));
            report_strays(&seen, report);
            KnownObjects { collection, seen, version }
        }
    };
    Ok(known.insert(now))
}

/// Watches from the known state, and updates it.
async fn watch(
    cluster: &Cluster,
    facts: &[WatchedFact],
    known: &mut KnownObjects,
    report: &mut dyn FnMut(FactEvent),
) -> Result<WatchEnd, CallError> {
    let KnownObjects { collection, seen, version } = known;
    let path = format!(
        "{collection}watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={version}",
        WATCH.as_secs()
    );
    let mut end = WatchEnd::Over;
    let mut each = |event: &Value| {
        let object = event.get("object").unwrap_or(&Value::Null);
        let changed = match event.get("type").and_then(Value::as_str) {
            Some("ADDED" | "MODIFIED") => seen.saw(object),
            Some("DELETED") => seen.lost(object),
            Some("BOOKMARK") => false,
            // For any other event, a list gives the state.
            _ => {
                end = WatchEnd::Old;
                return ControlFlow::Break(());
            }
        };
        if let Some(now) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            now.clone_into(version);
        }
        report(if changed { FactEvent::Seen(seen.facts()) } else { FactEvent::Unchanged });
        ControlFlow::Continue(())
    };
    let extent = if of_metadata(facts) { Extent::Metadata } else { Extent::Objects };
    match cluster.stream(&path, extent, (WATCH + LATE, LINE), &mut each).await {
        Err(error) if error.code() == Some(410) => Ok(WatchEnd::Old),
        Err(error) => Err(error),
        Ok(()) => {
            report_strays(seen, report);
            Ok(end)
        }
    }
}

/// Reports objects in locations that no mutation uses.
fn report_strays(seen: &Seen, report: &mut dyn FnMut(FactEvent)) {
    if let Some(fact) = seen.stray() {
        report(FactEvent::Misplaced { fact: fact.clone() });
    }
}

fn of_metadata(facts: &[WatchedFact]) -> bool {
    facts.iter().all(WatchedFact::is_of_metadata)
}

/// Lists every object. Returns the facts and the resourceVersion for the watch.
async fn list(cluster: &Cluster, facts: &[WatchedFact], collection: &str) -> Result<(Seen, String), CallError> {
    let (extent, limit) = match of_metadata(facts) {
        true => (Extent::MetadataOfAll, METADATA),
        false => (Extent::Objects, OBJECTS),
    };
    let (mut seen, mut next, mut first) = (Seen::nothing(facts), None::<String>, None::<String>);
    loop {
        let more = next.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
        let page = cluster.read_at_most(&format!("{collection}limit={limit}{more}"), extent, PAGE).await?;
        for object in items(&page) {
            seen.saw(object);
        }
        // All pages have the revision of the first one.
        let version = || page.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        first = first.or_else(version);
        next = next_page(&page);
        if next.is_none() {
            return Ok((seen, first.unwrap_or_default()));
        }
    }
}

/// The path of the objects, in the given or the preferred version; the caller appends a query.
async fn collection(cluster: &Cluster, fact: &WatchedFact) -> Result<String, CallError> {
    let (group, plural) = (&fact.resource.group, &fact.resource.plural);
    let version = match (&fact.version, group.as_str()) {
        (Some(version), _) => version.clone(),
        (None, "") => "v1".to_owned(),
        (None, group) => {
            let discovered = cluster.get(&format!("/apis/{group}")).await?;
            let preferred = discovered.pointer("/preferredVersion/version").and_then(Value::as_str);
            preferred.unwrap_or("v1").to_owned()
        }
    };
    let within = match &fact.scope {
        FactScope::One(namespace) => format!("namespaces/{namespace}/"),
        _ => String::new(),
    };
    let only = fact.name.as_ref().map(|name| format!("fieldSelector=metadata.name%3D{name}&")).unwrap_or_default();
    Ok(match group.as_str() {
        "" => format!("/api/{version}/{within}{plural}?{only}"),
        group => format!("/apis/{group}/{version}/{within}{plural}?{only}"),
    })
}

/// Objects per page with metadata only.
const METADATA: u32 = 100;

/// Objects per page with whole objects. One may have 1.5 MiB, the limit of etcd.
const OBJECTS: u32 = 20;

/// Maximum bytes of a page.
const PAGE: usize = 48 << 20;

/// Maximum bytes of a watch event.
const LINE: usize = 8 << 20;

/// Time limit of a watch. The API server's default is between 30 and 60 minutes; a silently broken connection would be
/// detected that late.
const WATCH: Duration = Duration::from_secs(240);

/// Additional time before the watch counts as broken.
const LATE: Duration = Duration::from_secs(20);
