//! Results of lookups in the cluster.

use super::http::{HttpProbe, ProbeKind, ProbeResult, read_number};
use super::request::{LookupFilter, LookupPurpose, LookupRequest, LookupTarget, title};
use pointsman_core::definition::admission::{NamedObject, OtherSource, PartVersions};
use serde_json::Value;
use std::collections::BTreeMap;

/// Lookup results, initially empty. A condition without result is unmet.
#[derive(Clone, Debug, Default)]
pub struct LookupResults {
    /// The parts of the definition that the CRD lacks.
    crd: Option<Result<Vec<String>, String>>,
    found: BTreeMap<LookupPurpose, Result<FoundObjects, String>>,
    /// Numbers from Prometheus, or errors.
    numbers: BTreeMap<LookupPurpose, Result<f64, String>>,
    /// Replacements of objects.
    became: BTreeMap<LookupPurpose, ConversionOutcome>,
    /// Objects processed by mutations.
    mutated: BTreeMap<LookupPurpose, MutationState>,
    /// Results of page checks.
    pages: BTreeMap<LookupPurpose, Result<(), String>>,
}

/// Found objects, added page by page.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct FoundObjects {
    /// Their number.
    pub(crate) objects: usize,
    /// The number of failing objects, and the first messages.
    pub(crate) unmet: usize,
    pub(crate) shown: Vec<String>,
    /// The state of a prerequisite.
    pub(crate) state: Option<String>,
    /// The requested object, whole.
    pub(crate) whole: Option<Value>,
    /// All requested objects.
    pub(crate) all: Vec<Value>,
    /// Versions by name of the running object, and by namespace if known.
    versions: BTreeMap<String, BTreeMap<Option<String>, PartVersions>>,
}

/// The conversion of an object to the target kind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ConversionOutcome {
    /// The replacement, and `metadata.generation` of its source.
    Object(Value, Option<i64>),
    /// Refused, with the reason.
    Refused(String),
    /// Not known yet, with the reason.
    Waits(String),
}

impl LookupResults {
    /// Sets the parts of the definition that the CRD lacks, or the error.
    pub fn crd_lacks(&mut self, lacks: Result<Vec<String>, String>) {
        self.crd = Some(lacks);
    }

    /// Adds found objects: a page, or all, possibly none.
    pub fn saw(&mut self, lookup: &LookupRequest, objects: &[Value]) {
        let found = self.found.entry(lookup.about.clone()).or_insert_with(|| Ok(FoundObjects::default()));
        if let Ok(found) = found {
            objects.iter().for_each(|object| found.see(&lookup.filter, object));
        }
    }

    /// Sets the replacement of an object. The caller converts the object, with the definition and the requested facts.
    pub fn became(&mut self, lookup: &LookupRequest, became: ConversionOutcome) {
        self.became.insert(lookup.about.clone(), became);
    }

    /// Sets whether a mutation has processed an object. The caller evaluates the definition.
    pub fn mutated(&mut self, lookup: &LookupRequest, mutated: MutationState) {
        self.mutated.insert(lookup.about.clone(), mutated);
    }

    /// Copies the result of the same lookup from an earlier pass.
    pub fn again(&mut self, lookup: &LookupRequest, before: &Self) {
        let about = &lookup.about;
        self.found.extend(before.found.get(about).map(|found| (about.clone(), found.clone())));
    }

    /// Sets the error of a lookup.
    pub fn cannot_read(&mut self, lookup: &LookupRequest, why: String) {
        match lookup.wanted {
            LookupTarget::Mutated { .. } => self.mutated(lookup, MutationState::Unknown(why)),
            LookupTarget::Replaced { .. } => self.became(lookup, ConversionOutcome::Waits(why)),
            _ => drop(self.found.insert(lookup.about.clone(), Err(why))),
        }
    }

    /// The errors of all failed lookups.
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

    /// Sets the response to a probe, or the error.
    pub fn record_response(&mut self, lookup: &HttpProbe, answer: Result<ProbeResult, String>) {
        let about = lookup.about.clone();
        match &lookup.kind {
            ProbeKind::Number(_) => drop(self.numbers.insert(about, answer.and_then(|answer| read_number(&answer)))),
            ProbeKind::Page(_) => drop(self.pages.insert(about, answer.and_then(|answer| answer.fine()))),
        }
    }

    pub(crate) fn crd(&self) -> Option<&Result<Vec<String>, String>> {
        self.crd.as_ref()
    }

    pub(crate) fn of(&self, about: &LookupPurpose) -> Option<&Result<FoundObjects, String>> {
        self.found.get(about)
    }

    /// The versions that other objects contain for this object, each once; empty if it needs none. Otherwise the error.
    pub(crate) fn versions_of(&self, source: &OtherSource, (namespace, name): (Option<&str>, &str)) -> PartVersions {
        match self.of(&LookupRequest::about_versions(source)) {
            None => Err(format!("{} was not read yet", source.title())),
            Some(Err(why)) => Err(format!("{} cannot be read: {why}", source.title())),
            Some(Ok(found)) => {
                found.versions_of(namespace, name).unwrap_or_else(|elsewhere| source.if_unreferenced(elsewhere))
            }
        }
    }

    pub(crate) fn conversion_of(&self, lookup: &LookupRequest) -> Option<&ConversionOutcome> {
        self.became.get(&lookup.about)
    }

    pub(crate) fn mutated_of(&self, lookup: &LookupRequest) -> Option<&MutationState> {
        self.mutated.get(&lookup.about)
    }

    pub(crate) fn number(&self, about: &LookupPurpose) -> Option<&Result<f64, String>> {
        self.numbers.get(about)
    }

    pub(crate) fn page(&self, about: &LookupPurpose) -> Option<&Result<(), String>> {
        self.pages.get(about)
    }
}

impl FoundObjects {
    fn see(&mut self, filter: &LookupFilter, object: &Value) {
        self.objects += 1;
        match filter {
            LookupFilter::State(place) => self.state = place.state_of(object),
            LookupFilter::Whole => self.whole = Some(object.clone()),
            LookupFilter::All => self.all.push(object.clone()),
            LookupFilter::Versions(source) => self.add_versions(source, object),
            LookupFilter::Faults(_) | LookupFilter::Unmet(_) => {
                let Some(why) = filter.unmet(object) else { return };
                self.unmet += 1;
                if self.shown.len() < SHOWN {
                    self.shown.push(format!("{}: {why}", title(object)));
                }
            }
        }
    }
}

impl FoundObjects {
    /// Adds an object that contains versions. One unreadable version makes the result unknown.
    fn add_versions(&mut self, source: &OtherSource, other: &Value) {
        let Some((NamedObject { namespace, name }, version)) = source.read(other) else { return };
        let version = version.map_err(|why| format!("{} {}: {why}", source.resource, title(other)));
        let known = self.versions.entry(name.to_owned()).or_default().entry(namespace.map(str::to_owned));
        add_version(known.or_insert_with(|| Ok(Vec::new())), version);
    }

    /// The versions of an object. Otherwise true if another object of this name has versions.
    fn versions_of(&self, namespace: Option<&str>, name: &str) -> Result<PartVersions, bool> {
        let all = self.versions.get(name).ok_or(false)?;
        // The name of a cluster-scoped object is unique.
        let is_its =
            |within: &Option<String>| namespace.is_none() || within.is_none() || within.as_deref() == namespace;
        let its = all.iter().filter(|(within, _)| is_its(within)).map(|(_, versions)| versions);
        its.cloned()
            .reduce(|mut known, more| {
                match more {
                    Ok(more) => more.into_iter().for_each(|version| add_version(&mut known, Ok(version))),
                    Err(why) => add_version(&mut known, Err(why)),
                }
                known
            })
            .ok_or(true)
    }
}

/// Adds a version, or an error.
fn add_version(known: &mut PartVersions, version: Result<String, String>) {
    match (&mut *known, version) {
        (Ok(all), Ok(version)) if !all.contains(&version) => all.push(version),
        (Ok(_), Err(why)) => *known = Err(why),
        (Ok(_), Ok(_)) | (Err(_), _) => {}
    }
}

/// Number of listed objects.
const SHOWN: usize = 3;

/// State of an object that a mutation must process.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MutationState {
    /// The object does not exist.
    Absent,
    /// The object is terminating, and mutations skip it.
    Terminating,
    /// The object equals the result of the mutation.
    Seen,
    /// The object differs, at this path.
    Unseen(String),
    /// Unknown, with the reason.
    Unknown(String),
}
