//! Follows the objects that say facts: a list, then a watch from there on, and a list again where that is too old.

use std::ops::ControlFlow;
use std::time::Duration;

use pointsman_core::definition::WatchedFact;
use serde_json::Value;
use tokio::time::sleep;

use super::news::FactNews;
use super::seen::Seen;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::pages::{items, next_page};

/// Facts that one watch is enough for: those of one resource, in one version of its API.
#[must_use]
pub fn with_one_watch(facts: &[WatchedFact]) -> Vec<Vec<WatchedFact>> {
    let mut groups: Vec<Vec<WatchedFact>> = Vec::new();
    for fact in facts {
        let of = |group: &&mut Vec<WatchedFact>| {
            let first = group.first();
            first.is_some_and(|other| (&other.resource, &other.version) == (&fact.resource, &fact.version))
        };
        match groups.iter_mut().find(of) {
            Some(group) => group.push(fact.clone()),
            None => groups.push(vec![fact.clone()]),
        }
    }
    groups
}

/// Follows facts of one resource for ever, with get, list and watch of that resource and nothing else; only its
/// metadata is asked for where that says everything. `tell` hears what is known, and what stands in the way.
pub async fn follow_facts(cluster: &Cluster, facts: &[WatchedFact], tell: &mut dyn FnMut(FactNews)) {
    let mut pause = SHORTEST;
    loop {
        let error = match follow(cluster, facts, &mut |news| {
            pause = SHORTEST;
            tell(news);
        })
        .await
        {
            // Too old to be watched from there: everything is read anew.
            Ok(()) => continue,
            Err(error) => error,
        };
        let wait = error.retry_after().unwrap_or(pause).clamp(SHORTEST, LONGEST);
        tell(FactNews::Failed { error, pause: wait });
        sleep(wait).await;
        pause = (pause * 2).min(LONGEST);
    }
}

/// Lists and watches until what is known is too old.
async fn follow(cluster: &Cluster, facts: &[WatchedFact], tell: &mut dyn FnMut(FactNews)) -> Result<(), CallError> {
    let Some(first) = facts.first() else { return Ok(()) };
    let collection = collection(cluster, first).await?;
    let of_metadata = facts.iter().all(WatchedFact::is_of_metadata);
    let (mut seen, mut version) = list(cluster, facts, &collection, of_metadata).await?;
    tell(FactNews::Seen(seen.facts()));
    let extent = if of_metadata { Extent::Metadata } else { Extent::Objects };
    loop {
        let path = format!(
            "{collection}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={version}",
            WATCH.as_secs()
        );
        let mut is_old = false;
        let mut each = |event: &Value| {
            let object = event.get("object").unwrap_or(&Value::Null);
            let changed = match event.get("type").and_then(Value::as_str) {
                Some("ADDED" | "MODIFIED") => seen.saw(object),
                Some("DELETED") => seen.lost(object),
                Some("BOOKMARK") => false,
                // Whatever it is, a list says what is so.
                _ => {
                    is_old = true;
                    return ControlFlow::Break(());
                }
            };
            if let Some(now) = object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
                now.clone_into(&mut version);
            }
            tell(if changed { FactNews::Seen(seen.facts()) } else { FactNews::Heard });
            ControlFlow::Continue(())
        };
        match cluster.stream(&path, extent, WATCH + LATE, &mut each).await {
            Err(error) if error.code() == Some(410) => return Ok(()),
            Err(error) => return Err(error),
            Ok(()) if is_old => return Ok(()),
            Ok(()) => tell(FactNews::Heard),
        }
    }
}

/// Reads every object, and from which version on it can be watched.
async fn list(
    cluster: &Cluster,
    facts: &[WatchedFact],
    collection: &str,
    of_metadata: bool,
) -> Result<(Seen, String), CallError> {
    let extent = if of_metadata { Extent::MetadataOfAll } else { Extent::Objects };
    let (mut seen, mut next, mut first) = (Seen::nothing(facts), None::<String>, None::<String>);
    loop {
        let more = next.as_ref().map(|token| format!("&continue={token}")).unwrap_or_default();
        let page = cluster.read(&format!("{collection}?limit={PAGE}{more}"), extent).await?;
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

/// Where the objects are, in the version that is said or that the API server prefers.
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
    Ok(match group.as_str() {
        "" => format!("/api/{version}/{plural}"),
        group => format!("/apis/{group}/{version}/{plural}"),
    })
}

/// Objects of a page.
const PAGE: u32 = 500;

/// How long an API server is to keep a watch open. Its own choice is between 30 and 60 minutes; a connection that died
/// unheard would be noticed as late as that.
const WATCH: Duration = Duration::from_secs(240);

/// How much later than that is too late.
const LATE: Duration = Duration::from_secs(20);

const SHORTEST: Duration = Duration::from_secs(1);
/// As client-go's reflectors wait at most.
const LONGEST: Duration = Duration::from_secs(30);
