//! Parts of an object that each run a version, such as a control plane and a kubelet.

use serde_json::Value;

use super::observe::VersionSource;
use super::other_source::OtherSource;
use crate::definition::path::Path;

/// A part of an object, and the places that contain its running versions.
#[derive(Clone, Debug)]
pub struct ObservedPart {
    /// The name. `None` if the definition has no parts, and this is the whole object.
    pub name: Option<String>,
    /// There is at least one.
    places: Vec<VersionPlace>,
}

/// A source of the running version.
#[derive(Clone, Debug)]
pub(crate) enum VersionPlace {
    /// The object itself.
    Own(VersionSource),
    /// Other objects that refer to the object.
    Others(Box<OtherSource>),
}

/// The running versions of a part, without duplicates. Empty if the object has no such part. An error is the reason why
/// they are unknown.
pub type PartVersions = Result<Vec<String>, String>;

impl VersionPlace {
    /// A unique identifier of the place.
    pub(super) fn id(&self) -> String {
        match self {
            Self::Own(source) => source.path().to_string(),
            Self::Others(source) => source.id(),
        }
    }

    fn own(&self) -> Option<&VersionSource> {
        match self {
            Self::Own(source) => Some(source),
            Self::Others(_) => None,
        }
    }

    fn others(&self) -> Option<&OtherSource> {
        match self {
            Self::Own(_) => None,
            Self::Others(source) => Some(source),
        }
    }
}

impl ObservedPart {
    /// A part, or the whole object, with one place.
    pub(super) fn at(name: Option<String>, place: VersionPlace) -> Self {
        Self { name, places: vec![place] }
    }

    /// Adds a place.
    pub(super) fn and(&mut self, place: VersionPlace) {
        self.places.push(place);
    }

    pub(super) fn has(&self, place: &VersionPlace) -> bool {
        self.places.iter().any(|known| known.id() == place.id())
    }

    /// The fields of the object that are read.
    pub fn fields(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().filter_map(VersionPlace::own).map(VersionSource::path)
    }

    /// The other objects that are read.
    pub fn others(&self) -> impl Iterator<Item = &OtherSource> {
        self.places.iter().filter_map(VersionPlace::others)
    }

    /// The running versions from the object itself, in the newest version of its kind.
    pub fn own(&self, object: &Value) -> PartVersions {
        let mut versions = Vec::new();
        for place in self.places.iter().filter_map(VersionPlace::own) {
            add(&mut versions, place.read(object)?);
        }
        Ok(versions)
    }

    /// All known running versions, from the object and from other objects. Ignores places that are unknown.
    pub fn known(&self, object: &Value, others: &dyn Fn(&OtherSource) -> PartVersions) -> Vec<String> {
        let mut versions = Vec::new();
        for place in &self.places {
            let read = match place {
                VersionPlace::Own(source) => source.read(object).map(|version| version.into_iter().collect()),
                VersionPlace::Others(source) => others(source),
            };
            add(&mut versions, read.unwrap_or_default());
        }
        versions
    }

    /// Adds the versions from other objects.
    fn with_others(&self, own: &PartVersions, others: &dyn Fn(&OtherSource) -> PartVersions) -> PartVersions {
        let mut versions = own.clone()?;
        for source in self.others() {
            add(&mut versions, others(source)?);
        }
        Ok(versions)
    }
}

/// Adds versions without duplicates.
fn add(versions: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for version in more {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
}

/// The running versions of each part, from the object itself and from other objects. If no part has a version, all are
/// unknown.
pub fn whole_parts(
    parts: &[ObservedPart],
    own: &[PartVersions],
    others: &dyn Fn(&OtherSource) -> PartVersions,
) -> Vec<PartVersions> {
    let all: Vec<PartVersions> = parts.iter().zip(own).map(|(part, own)| part.with_others(own, others)).collect();
    let all_empty = all.iter().all(|part| part.as_ref().is_ok_and(Vec::is_empty));
    if all_empty { vec![Err("none of its fields contains a version".to_owned()); all.len()] } else { all }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(name: &str, keys: &[&str], optional: bool) -> ObservedPart {
        let mut places = keys.iter().map(|key| VersionPlace::Own(VersionSource::label(key, optional, true)));
        let mut part = ObservedPart::at(Some(name.to_owned()), places.next().unwrap());
        places.for_each(|place| part.and(place));
        part
    }

    fn read_parts(parts: &[ObservedPart], object: &Value) -> Vec<PartVersions> {
        let own: Vec<PartVersions> = parts.iter().map(|part| part.own(object)).collect();
        whole_parts(parts, &own, &|_| panic!("nobody else is asked"))
    }

    #[test]
    fn each_part_is_read_by_itself() {
        let parts = [part("hull", &["a", "b"], true), part("sails", &["c"], false)];
        let read = |labels: Value| read_parts(&parts, &json!({"metadata": {"labels": labels}}));
        let runs = |versions: &[&str]| Ok(versions.iter().map(|version| (*version).to_owned()).collect());
        let unknown = |why: &str| Err(why.to_owned());
        for (labels, read_as) in [
            (json!({"a": "1.0", "b": "2.0", "c": "3.0"}), [runs(&["1.0", "2.0"]), runs(&["3.0"])]),
            (json!({"a": "1.0", "b": "1.0", "c": "1.0"}), [runs(&["1.0"]), runs(&["1.0"])]),
            (json!({"c": "3.0"}), [runs(&[]), runs(&["3.0"])]),
            (json!({"a": "1.0"}), [runs(&["1.0"]), unknown("label c is not set")]),
            (json!({"a": "x", "c": "3.0"}), [unknown("label a is \"x\", which is no version"), runs(&["3.0"])]),
        ] {
            assert_eq!(read(labels.clone()), read_as, "{labels}");
        }
        // The object has parts without a version.
        let silent = [part("hull", &["a"], true), part("sails", &["c"], true)];
        let why = unknown("none of its fields contains a version");
        assert_eq!(read_parts(&silent, &json!({"metadata": {}})), [why.clone(), why]);
    }
}
