//! What was found in the cluster of what a rollout has to know.

use std::collections::BTreeMap;

use serde_json::Value;

use super::mutation_state::MutationState;
use super::prometheus_answer::read_number;
use super::lookup_request::{LookupPurpose, LookupFilter, LookupRequest, LookupTarget, title};
use super::probe_result::ProbeResult;
use super::http_probe::{ProbeKind, HttpProbe};
use crate::definition::admission::{NamedObject, OtherSource, PartVersions};

/// What was found in the cluster. It begins with nothing, and what nobody knows does not hold.
#[derive(Clone, Debug, Default)]
pub struct LookupResults {
    /// What the CRD lacks of what the definition knows.
    crd: Option<Result<Vec<String>, String>>,
    found: BTreeMap<LookupPurpose, Result<FoundObjects, String>>,
    /// What Prometheus says, or why nobody knows.
    numbers: BTreeMap<LookupPurpose, Result<f64, String>>,
    /// What objects become.
    became: BTreeMap<LookupPurpose, ConversionOutcome>,
    /// Which objects stages have seen.
    mutated: BTreeMap<LookupPurpose, MutationState>,
    /// Whether whoever was asked says that all is well, or what is not.
    pages: BTreeMap<LookupPurpose, Result<(), String>>,
}

/// What was found of some objects, a page after the other.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct FoundObjects {
    /// How many there are.
    pub(super) objects: usize,
    /// How many are not as they should be, and the first of these.
    pub(super) unmet: usize,
    pub(super) shown: Vec<String>,
    /// What the one that a version needs says of its state.
    pub(super) state: Option<String>,
    /// The one that was asked for as a whole.
    pub(super) whole: Option<Value>,
    /// All that were asked for.
    pub(super) all: Vec<Value>,
    /// Which versions they say, by the name of the object that runs them, and by its namespace, where that tells.
    versions: BTreeMap<String, BTreeMap<Option<String>, PartVersions>>,
}

/// What an object becomes, as one of another kind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ConversionOutcome {
    /// This; and `metadata.generation` of the object that it would be made of.
    Object(Value, Option<i64>),
    /// Nothing, and why.
    Refused(String),
    /// Nobody knows yet, and why.
    Waits(String),
}

impl LookupResults {
    /// What the CRD in the cluster lacks of what the definition knows, or why nobody can tell.
    pub fn crd_lacks(&mut self, lacks: Result<Vec<String>, String>) {
        self.crd = Some(lacks);
    }

    /// Objects that were found: a page, or all there are, which may be none.
    pub fn saw(&mut self, question: &LookupRequest, objects: &[Value]) {
        let found = self.found.entry(question.about.clone()).or_insert_with(|| Ok(FoundObjects::default()));
        if let Ok(found) = found {
            objects.iter().for_each(|object| found.see(&question.looked_for, object));
        }
    }

    /// What an object becomes. It is for the shell to find that out, by what the definition says, from the object and
    /// the facts that are asked for.
    pub fn became(&mut self, question: &LookupRequest, became: ConversionOutcome) {
        self.became.insert(question.about.clone(), became);
    }

    /// Whether a stage has seen an object. It is for the shell to find that out, by what the definition says.
    pub fn mutated(&mut self, question: &LookupRequest, mutated: MutationState) {
        self.mutated.insert(question.about.clone(), mutated);
    }

    /// What was found before, by the same question.
    pub fn again(&mut self, question: &LookupRequest, before: &Self) {
        let about = &question.about;
        self.found.extend(before.found.get(about).map(|found| (about.clone(), found.clone())));
    }

    /// Objects that cannot be read, and why.
    pub fn cannot_read(&mut self, question: &LookupRequest, why: String) {
        match question.wanted {
            LookupTarget::Mutated { .. } => self.mutated(question, MutationState::Unknown(why)),
            LookupTarget::Replaced { .. } => self.became(question, ConversionOutcome::Waits(why)),
            _ => drop(self.found.insert(question.about.clone(), Err(why))),
        }
    }

    /// Why each thing is not known that is not, in words.
    pub fn unread(&self) -> impl Iterator<Item = &str> {
        let found = self.found.values().filter_map(|found| found.as_ref().err());
        let crd = self.crd.iter().filter_map(|lacks| lacks.as_ref().err());
        let became = self.became.values().filter_map(|became| match became {
            ConversionOutcome::Waits(why) => Some(why),
            ConversionOutcome::Object(..) | ConversionOutcome::Refused(_) => None,
        });
        let mutated = self.mutated.values().filter_map(|mutated| match mutated {
            MutationState::Unknown(why) => Some(why),
            _ => None,
        });
        found.chain(crd).chain(became).chain(mutated).map(String::as_str)
    }

    /// What somebody answered, or why nobody did.
    pub fn heard(&mut self, question: &HttpProbe, answer: Result<ProbeResult, String>) {
        let about = question.about.clone();
        match &question.asks {
            ProbeKind::Number(_) => drop(self.numbers.insert(about, answer.and_then(|answer| read_number(&answer)))),
            ProbeKind::Page(_) => drop(self.pages.insert(about, answer.and_then(|answer| answer.fine()))),
        }
    }

    pub(super) fn crd(&self) -> Option<&Result<Vec<String>, String>> {
        self.crd.as_ref()
    }

    pub(super) fn of(&self, about: &LookupPurpose) -> Option<&Result<FoundObjects, String>> {
        self.found.get(about)
    }

    /// The versions that others say of an object of this namespace and name, each once; none where it need not have
    /// any. Else why nobody knows.
    pub(super) fn versions_of(&self, source: &OtherSource, (namespace, name): (Option<&str>, &str)) -> PartVersions {
        match self.of(&LookupRequest::about_versions(source)) {
            None => Err(format!("nobody has looked at {}", source.title())),
            Some(Err(why)) => Err(format!("{} cannot be read: {why}", source.title())),
            Some(Ok(found)) => {
                found.versions_of(namespace, name).unwrap_or_else(|elsewhere| source.of_nobody(elsewhere))
            }
        }
    }

    pub(super) fn conversion_of(&self, question: &LookupRequest) -> Option<&ConversionOutcome> {
        self.became.get(&question.about)
    }

    pub(super) fn mutated_of(&self, question: &LookupRequest) -> Option<&MutationState> {
        self.mutated.get(&question.about)
    }

    pub(super) fn number(&self, about: &LookupPurpose) -> Option<&Result<f64, String>> {
        self.numbers.get(about)
    }

    pub(super) fn page(&self, about: &LookupPurpose) -> Option<&Result<(), String>> {
        self.pages.get(about)
    }
}

impl FoundObjects {
    fn see(&mut self, looked_for: &LookupFilter, object: &Value) {
        self.objects += 1;
        match looked_for {
            LookupFilter::State(place) => self.state = place.state_of(object),
            LookupFilter::Whole => self.whole = Some(object.clone()),
            LookupFilter::All => self.all.push(object.clone()),
            LookupFilter::Versions(source) => self.hear(source, object),
            LookupFilter::Faults(_) | LookupFilter::Unmet(_) => {
                let Some(why) = looked_for.unmet(object) else { return };
                self.unmet += 1;
                if self.shown.len() < SHOWN {
                    self.shown.push(format!("{}: {why}", title(object)));
                }
            }
        }
    }
}

impl FoundObjects {
    /// One of those that say versions. What cannot be read of one is not known, whatever others say.
    fn hear(&mut self, source: &OtherSource, other: &Value) {
        let Some((NamedObject { namespace, name }, version)) = source.read(other) else { return };
        let version = version.map_err(|why| format!("{} {}: {why}", source.resource, title(other)));
        let known = self.versions.entry(name.to_owned()).or_default().entry(namespace.map(str::to_owned));
        hear_one(known.or_insert_with(|| Ok(Vec::new())), version);
    }

    /// What was heard of an object. Else whether any was of others that are called so.
    fn versions_of(&self, namespace: Option<&str>, name: &str) -> Result<PartVersions, bool> {
        let all = self.versions.get(name).ok_or(false)?;
        // An object without a namespace is the only one of its name.
        let is_its =
            |within: &Option<String>| namespace.is_none() || within.is_none() || within.as_deref() == namespace;
        let its = all.iter().filter(|(within, _)| is_its(within)).map(|(_, versions)| versions);
        its.cloned()
            .reduce(|mut known, more| {
                match more {
                    Ok(more) => more.into_iter().for_each(|version| hear_one(&mut known, Ok(version))),
                    Err(why) => hear_one(&mut known, Err(why)),
                }
                known
            })
            .ok_or(true)
    }
}

/// One more version, or why it is not known.
fn hear_one(known: &mut PartVersions, version: Result<String, String>) {
    match (&mut *known, version) {
        (Ok(all), Ok(version)) if !all.contains(&version) => all.push(version),
        (Ok(_), Err(why)) => *known = Err(why),
        (Ok(_), Ok(_)) | (Err(_), _) => {}
    }
}

/// Objects that are named.
const SHOWN: usize = 3;
