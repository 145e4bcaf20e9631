//! Follows the objects that say facts: a list, then a watch from there on, and a list again where that is too old.

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

/// Facts that one watch is enough for: those that the same objects say, in one version of their API.
#[must_use]
pub fn with_one_watch(facts: &[WatchedFact]) -> Vec<Vec<WatchedFact>> {
    let mut groups: Vec<Vec<WatchedFact>> = Vec::new();
    for fact in facts {
        let of = |group: &&mut Vec<WatchedFact>| group.first().is_some_and(|other| other.is_beside(fact));
        match groups.iter_mut().find(of) {
            Some(group) => group.push(fact.clone()),
            None => groups.push(vec![fact.clone()]),
        }
    }
    groups
}

/// Follows facts of one resource for ever, with get, list and watch of that resource and nothing else; only its
/// metadata is asked for where that says everything. `tell` hears what is known, and what stands in the way. Where
/// there is no such resource, nothing of it is true, until there is one.
pub async fn follow_facts(cluster: &Cluster, facts: &[WatchedFact], tell: &mut dyn FnMut(FactEvent)) {
    let (mut pause, mut known) = (Duration::ZERO, None);
    loop {
        let (ended, watched) = match read(cluster, facts, &mut known, tell).await {
            Ok(now) => {
                let began = Instant::now();
                (watch(cluster, facts, now, tell).await, began.elapsed())
            }
            Err(error) => (Err(error), Duration::ZERO),
        };
        pause = next_pause(pause, watched, ended.as_ref().err().and_then(CallError::retry_after));
        match ended {
            Ok(WatchEnd::Over) => tell(FactEvent::Heard),
            Ok(WatchEnd::Old) => known = None,
            Err(error) => {
                let is_gone = error.code() == Some(404);
                if is_gone {
                    tell(FactEvent::Seen(Seen::nothing(facts).facts()));
                }
                // A connection that broke says nothing of what was known: the watch goes on from there.
                if !error.passes() {
                    known = None;
                }
                tell(FactEvent::Failed { error, pause });
            }
        }
        sleep(pause).await;
    }
}

/// What is known of a collection, and from where on it is watched.
struct KnownObjects {
    collection: String,
    seen: Seen,
    version: String,
}

/// How a watch ended that did not fail.
enum WatchEnd {
    /// Its time was over: another one goes on.
    Over,
    /// It was too old, or said something that only a list can tell apart.
    Old,
}

/// What is known, read anew where nothing is.
async fn read<'k>(
    cluster: &Cluster,
    facts: &[WatchedFact],
    known: &'k mut Option<KnownObjects>,
    tell: &mut dyn FnMut(FactEvent),
) -> Result<&'k mut KnownObjects, CallError> {
    let now = match known.take() {
        Some(now) => now,
        None => {
            let collection = match facts.first() {
                Some(first) => collection(cluster, first).await?,
                None => String::new(),
            };
            let (seen, version) = list(cluster, facts, &collection).await?;
            tell(FactEvent::Seen(seen.facts()));
            tell_of_strays(&seen, tell);
            KnownObjects { collection, seen, version }
        }
    };
    Ok(known.insert(now))
}

/// Watches from what is known on, and keeps that up to date.
async fn watch(
    cluster: &Cluster,
    facts: &[WatchedFact],
    known: &mut KnownObjects,
    tell: &mut dyn FnMut(FactEvent),
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
            // Whatever it is, a list says what is so.
            _ => {
                end = WatchEnd::Old;
                return ControlFlow::Break(());
            }
        };
        if let Some(now) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
            now.clone_into(version);
        }
        tell(if changed { FactEvent::Seen(seen.facts()) } else { FactEvent::Heard });
        ControlFlow::Continue(())
    };
    let extent = if of_metadata(facts) { Extent::Metadata } else { Extent::Objects };
    match cluster.stream(&path, extent, (WATCH + LATE, LINE), &mut each).await {
        Err(error) if error.code() == Some(410) => Ok(WatchEnd::Old),
        Err(error) => Err(error),
        Ok(()) => {
            tell_of_strays(seen, tell);
            Ok(end)
        }
    }
}

/// Says where objects were seen that no stage can ever ask for.
fn tell_of_strays(seen: &Seen, tell: &mut dyn FnMut(FactEvent)) {
    if let Some(fact) = seen.stray() {
        tell(FactEvent::Misplaced { fact: fact.clone() });
    }
}

fn of_metadata(facts: &[WatchedFact]) -> bool {
    facts.iter().all(WatchedFact::is_of_metadata)
}

/// Reads every object, and from which version on it can be watched.
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
        // Every page is of one moment, which the first one names.
        let version = || page.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        first = first.or_else(version);
        next = next_page(&page);
        if next.is_none() {
            return Ok((seen, first.unwrap_or_default()));
        }
    }
}

/// Where the objects are, in the version that is said or that the API server prefers: a path to which a query is added.
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

/// Objects of a page, of which metadata is read.
const METADATA: u32 = 100;

/// Objects of a page, of which everything is read. One may have 1.5 MiB, as etcd takes it.
const OBJECTS: u32 = 20;

/// Bytes of a page at most.
const PAGE: usize = 48 << 20;

/// Bytes of an event of a watch at most.
const LINE: usize = 8 << 20;

/// How long an API server is to keep a watch open. Its own choice is between 30 and 60 minutes; a connection that died
/// unheard would be noticed as late as that.
const WATCH: Duration = Duration::from_secs(240);

/// How much later than that is too late.
const LATE: Duration = Duration::from_secs(20);
