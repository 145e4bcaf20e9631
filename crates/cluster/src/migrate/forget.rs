//! Taking away what was kept for a version that nobody is offered any more, and nothing is stored in.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::options::Unwritten;
use super::pace::Pace;
use crate::annotations::KEPT;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::CrdState;
use crate::pages::{items, next_page, page};
use crate::patience::Patience;

/// What is forgotten, and how.
pub struct ForgetOptions<'o> {
    /// The version whose annotations go.
    pub version: String,
    /// The versions of the kind, oldest first: to one behind it the way leads through it.
    pub order: Vec<String>,
    /// Whether a text is what we keep. What is not is somebody else's.
    pub is_ours: &'o dyn Fn(&str) -> bool,
    /// Objects that are listed at a time.
    pub page: u32,
    /// Writes under way at a time, at most.
    pub at_once: u16,
    /// Change nothing, and say what would be done.
    pub dry_run: bool,
}

/// What forgetting says on the way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ForgetEvent {
    /// A page was dealt with: so many objects were looked at, and so many written.
    Looked {
        /// Objects so far.
        objects: u64,
        /// Those whose annotation was taken away.
        written: u64,
        /// Writes under way at a time.
        at_once: u16,
    },
    /// The API server is busy or away; the same call is tried again.
    Trying {
        /// What it said.
        error: CallError,
        /// After this long.
        pause: Duration,
    },
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// The CRD.
    pub crd: String,
    /// The version.
    pub version: String,
    /// Objects that were looked at.
    pub objects: u64,
    /// Objects whose annotation was taken away; in a dry run, would be.
    pub written: u64,
    /// Objects with an annotation of that name that is none of ours.
    pub foreign: u64,
    /// Objects that still have one of ours.
    pub failures: Vec<Unwritten>,
    /// Whether somebody asked it to stop.
    pub interrupted: bool,
}

/// Why nothing was forgotten.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForgetError {
    /// A call failed, and would fail again.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Somebody may still read it in that version.
    #[error(
        "nothing was changed: {crd} serves {version}: whoever reads it there would miss what is kept for it. First: \
         pointsman disarm, or pointsman crd --served"
    )]
    Served {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// It may be needed to read what is stored.
    #[error(
        "nothing was changed: {crd} may have objects stored as {version}, and going back to it takes what is kept for it. \
         First: pointsman migrate {crd}"
    )]
    Stored {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// What is kept for it is part of what a version behind it says.
    #[error(
        "nothing was changed: the way from {storage} to {behind} leads through {version}, and {behind} is still served or \
         stored. First let go of {behind} as well"
    )]
    OnTheWay {
        /// The version.
        version: String,
        /// The one that is stored.
        storage: String,
        /// The one behind it.
        behind: String,
    },
    /// One write after the other fails.
    #[error("the last {count} writes failed, the last one with: {last}. Mend that, and run this again")]
    NoneSucceeds {
        /// How many in a row.
        count: u16,
        /// What the API server said.
        last: String,
    },
}

impl ForgetError {
    /// The call that failed, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }
}

/// Takes the annotation that keeps what only `version` could say off every object, once nobody can ask for that version
/// and nothing is stored in it. `name` is `plural.group`; `stop` is asked whether to end early.
///
/// Each write says what it has seen, so that nobody else's is lost, and objects without the annotation are not written.
/// It can be killed at any point and run again.
///
/// # Errors
/// [`ForgetError`]. Objects that could not be written are no error: they are in [`Forgotten::failures`].
pub async fn forget(
    cluster: &Cluster,
    name: &str,
    options: &ForgetOptions<'_>,
    say: &mut dyn FnMut(ForgetEvent),
    stop: &dyn Fn() -> bool,
) -> Result<Forgotten, ForgetError> {
    let crd = CrdState::fetch(cluster, name).await?;
    check(&crd, options)?;
    let (version, name) = (options.version.clone(), crd.name());
    let key = format!("{KEPT}{version}");
    let forgotten = Forgotten { crd: name, version, ..Forgotten::default() };
    let pace = Pace::new(options.at_once);
    let mut run = ForgetRun { cluster, crd: &crd, key, options, pace, forgotten, in_a_row: 0, say };
    let mut next: Option<String> = None;
    loop {
        let list = run.list(next.as_deref()).await?;
        let found = run.found(&list);
        if options.dry_run {
            run.forgotten.written += found.len() as u64;
        } else {
            run.write_all(found, stop).await?;
        }
        next = next_page(&list);
        run.tell();
        run.forgotten.interrupted |= stop() && next.is_some();
        if next.is_none() || run.forgotten.interrupted {
            return Ok(run.forgotten);
        }
    }
}

/// Whether nobody can ask for the version, or for one that is reached through it.
fn check(crd: &CrdState, options: &ForgetOptions<'_>) -> Result<(), ForgetError> {
    let (name, version, storage) = (crd.name(), options.version.clone(), crd.storage().to_owned());
    let (served, stored) = (crd.served(), crd.stored_versions());
    if served.contains(&version.as_str()) {
        return Err(ForgetError::Served { crd: name, version });
    }
    if storage == version || stored.contains(&version.as_str()) {
        return Err(ForgetError::Stored { crd: name, version });
    }
    let at = |version: &str| options.order.iter().position(|one| one == version);
    let (Some(from), Some(through)) = (at(&storage), at(&version)) else { return Ok(()) };
    let is_behind = |at: usize| if from < through { at > through } else { at < through };
    let behind = options.order.iter().enumerate().filter(|(at, _)| is_behind(*at)).map(|(_, version)| version);
    let mut used = behind.filter(|version| served.contains(&version.as_str()) || stored.contains(&version.as_str()));
    match used.next() {
        Some(behind) => Err(ForgetError::OnTheWay { version, storage, behind: behind.clone() }),
        None => Ok(()),
    }
}

/// An object that has something of ours to lose.
struct Keeper {
    namespace: Option<String>,
    name: String,
    /// The annotation as it was seen.
    text: String,
}

/// What came of a write.
enum Parted {
    /// The annotation is gone, or the object is.
    Done,
    Failed(String),
}

struct ForgetRun<'r> {
    cluster: &'r Cluster,
    crd: &'r CrdState,
    /// Of the annotation.
    key: String,
    options: &'r ForgetOptions<'r>,
    pace: Pace,
    forgotten: Forgotten,
    /// Writes that failed one after the other.
    in_a_row: u16,
    say: &'r mut dyn FnMut(ForgetEvent),
}

impl ForgetRun<'_> {
    async fn list(&mut self, next: Option<&str>) -> Result<Value, CallError> {
        let collection = self.crd.collection(self.crd.storage());
        let say = &mut self.say;
        let mut waits = |error, pause| say(ForgetEvent::Trying { error, pause });
        page(self.cluster, &collection, Extent::MetadataOfAll, self.options.page, next, &mut waits).await
    }

    fn found(&mut self, list: &Value) -> Vec<Keeper> {
        let mut found = Vec::new();
        for item in items(list) {
            self.forgotten.objects += 1;
            let text = |path: &str| item.pointer(path).and_then(Value::as_str).map(str::to_owned);
            let Some(kept) = annotation(item, &self.key) else { continue };
            // Somebody has emptied it, to be rid of what it held.
            if !kept.is_empty() && !(self.options.is_ours)(kept) {
                self.forgotten.foreign += 1;
                continue;
            }
            let name = text("/metadata/name").unwrap_or_default();
            found.push(Keeper { namespace: text("/metadata/namespace"), name, text: kept.to_owned() });
        }
        found
    }

    fn tell(&mut self) {
        let Forgotten { objects, written, .. } = self.forgotten;
        (self.say)(ForgetEvent::Looked { objects, written, at_once: self.pace.at_once() as u16 });
    }

    /// Writes these, a few at a time, until somebody asks to stop.
    async fn write_all(&mut self, found: Vec<Keeper>, stop: &dyn Fn() -> bool) -> Result<(), ForgetError> {
        let (mut waiting, mut under_way) = (found.into_iter(), JoinSet::new());
        loop {
            while under_way.len() < self.pace.at_once() && !stop() {
                let Some(keeper) = waiting.next() else { break };
                let path = self.crd.object(self.crd.storage(), keeper.namespace.as_deref(), &keeper.name);
                let (cluster, key) = (self.cluster.clone(), self.key.clone());
                under_way.spawn(async move {
                    let (parted, time, tried) = part(&cluster, &path, &key, &keeper.text).await;
                    (keeper, parted, time, tried)
                });
            }
            let Some(joined) = under_way.join_next().await else {
                self.forgotten.interrupted |= waiting.next().is_some();
                return Ok(());
            };
            let Ok((keeper, parted, time, tried)) = joined else { continue };
            match tried {
                Some((error, pause)) => {
                    self.pace.refused();
                    (self.say)(ForgetEvent::Trying { error, pause });
                }
                None => self.pace.took(time),
            }
            self.note(keeper, parted)?;
        }
    }

    fn note(&mut self, keeper: Keeper, parted: Parted) -> Result<(), ForgetError> {
        match parted {
            Parted::Done => {
                self.forgotten.written += 1;
                self.in_a_row = 0;
                Ok(())
            }
            Parted::Failed(reason) => {
                self.in_a_row += 1;
                if self.in_a_row == ALL {
                    return Err(ForgetError::NoneSucceeds { count: ALL, last: reason });
                }
                let Keeper { namespace, name, .. } = keeper;
                self.forgotten.failures.push(Unwritten { namespace, name, reason });
                Ok(())
            }
        }
    }
}

/// Takes the annotation off one object, if it still is what was seen. Returns how long the last try took, and what was
/// said before it where it had to be tried again.
async fn part(
    cluster: &Cluster,
    path: &str,
    key: &str,
    text: &str,
) -> (Parted, Duration, Option<(CallError, Duration)>) {
    let place = format!("/metadata/annotations/{}", key.replace('~', "~0").replace('/', "~1"));
    let patch = json!([{"op": "test", "path": place, "value": text}, {"op": "remove", "path": place}]);
    let (patience, mut tried) = (Patience::default(), None);
    loop {
        let asked = Instant::now();
        let answer = cluster.patch(path, PatchForm::Json, &patch, Extent::Metadata).await;
        let time = asked.elapsed();
        let parted = match answer {
            Ok(object) if annotation(&object, key).is_some() => Parted::Failed(PUT_BACK.to_owned()),
            Ok(_) => Parted::Done,
            Err(error) if error.code() == Some(404) => Parted::Done,
            Err(error) => {
                let conflict = error.code() == Some(409);
                match if conflict { patience.pause_anyway(&error) } else { patience.pause(&error) } {
                    Some(pause) => {
                        tried = Some((error, pause));
                        sleep(pause).await;
                        continue;
                    }
                    None => refused(cluster, path, key, text, &error).await,
                }
            }
        };
        return (parted, time, tried);
    }
}

/// Why an object could not be written. The API server does not say which operation of a patch has failed, so whether
/// the annotation is still the one that was seen is asked.
async fn refused(cluster: &Cluster, path: &str, key: &str, text: &str, error: &CallError) -> Parted {
    match cluster.read(path, Extent::Metadata).await {
        Ok(object) => match annotation(&object, key) {
            None => Parted::Done,
            Some(now) if now != text => Parted::Failed("it was changed meanwhile: run this again".to_owned()),
            Some(_) => Parted::Failed(error.message()),
        },
        Err(gone) if gone.code() == Some(404) => Parted::Done,
        Err(_) => Parted::Failed(error.message()),
    }
}

fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

/// `/mutate` does, for whoever could not see what an annotation holds.
const PUT_BACK: &str =
    "an admission webhook puts it back: take /mutate away first, as pointsman disarm --admission does";

/// Nobody wants to see the same failure for each of twenty thousand objects.
const ALL: u16 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_can_still_ask_for_is_not_forgotten() {
        let crd = |served: &[&str], storage: &str, stored: &[&str]| {
            let version =
                |name: &&str| json!({"name": name, "served": served.contains(name), "storage": *name == storage});
            CrdState::new(json!({
                "metadata": {"name": "ws.e.com"},
                "spec": {
                    "group": "e.com", "names": {"plural": "ws"},
                    "versions": [version(&"v1"), version(&"v2"), version(&"v3")],
                },
                "status": {"storedVersions": stored},
            }))
            .unwrap()
        };
        let said = |crd: &CrdState, version: &str| {
            let (version, order) = (version.to_owned(), ["v1", "v2", "v3"].map(str::to_owned).to_vec());
            let options = ForgetOptions { version, order, is_ours: &|_| true, page: 1, at_once: 1, dry_run: false };
            check(crd, &options).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let alone = crd(&["v3"], "v3", &["v3"]);
        assert_eq!(
            (said(&alone, "v1").as_str(), said(&alone, "v2").as_str(), said(&alone, "v0").as_str()),
            ("", "", "")
        );
        assert!(said(&alone, "v3").contains("serves v3"));
        assert!(said(&crd(&["v3"], "v2", &["v2"]), "v2").contains("stored as v2"));
        assert!(said(&crd(&["v3"], "v3", &["v1", "v3"]), "v1").contains("stored as v1"));
        let around = crd(&["v1", "v3"], "v3", &["v3"]);
        assert!(said(&around, "v2").contains("the way from v3 to v1 leads through v2"));
        assert_eq!(said(&crd(&["v2", "v3"], "v3", &["v3"]), "v1"), "");
        assert!(said(&crd(&["v3"], "v1", &["v1"]), "v2").contains("the way from v1 to v3 leads through v2"));
    }
}
