//! Parts of an object that run a version each, such as a control plane and a kubelet.

use serde_json::Value;

use super::observe::VersionSource;
use super::other_source::OtherSource;
use crate::definition::path::Path;

/// A part of an object, and where it is read which versions run of it.
#[derive(Clone, Debug)]
pub(crate) struct ObservedPart {
    /// What it is called; nothing where the definition names no parts, and this is all of the object.
    pub(crate) name: Option<String>,
    /// At least one.
    places: Vec<VersionPlace>,
}

/// Who says which version runs.
#[derive(Clone, Debug)]
pub(crate) enum VersionPlace {
    /// The object itself.
    Own(VersionSource),
    /// Others, which name it.
    Others(Box<OtherSource>),
}

/// What runs of a part of an object, each version once: none where the object has no such part. Else why nobody knows.
pub(crate) type PartVersions = Result<Vec<String>, String>;

impl VersionPlace {
    /// What no other place is called by.
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
    /// A part, or all of an object, read at one place.
    pub(super) fn at(name: Option<String>, place: VersionPlace) -> Self {
        Self { name, places: vec![place] }
    }

    /// It is read at one more place.
    pub(super) fn and(&mut self, place: VersionPlace) {
        self.places.push(place);
    }

    pub(super) fn has(&self, place: &VersionPlace) -> bool {
        self.places.iter().any(|known| known.id() == place.id())
    }

    /// The fields of the object that are looked at.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().filter_map(VersionPlace::own).map(VersionSource::path)
    }

    /// The other objects that are looked at.
    pub(crate) fn others(&self) -> impl Iterator<Item = &OtherSource> {
        self.places.iter().filter_map(VersionPlace::others)
    }

    /// What an object says of it itself, in the newest version of its kind.
    pub(crate) fn own(&self, object: &Value) -> PartVersions {
        let mut versions = Vec::new();
        for place in self.places.iter().filter_map(VersionPlace::own) {
            add(&mut versions, place.read(object)?);
        }
        Ok(versions)
    }

    /// What is known to run of it, whatever else nobody knows: what an object says itself, and what others say.
    pub(crate) fn known(&self, object: &Value, others: &dyn Fn(&OtherSource) -> PartVersions) -> Vec<String> {
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

    /// The same with what others say of it.
    fn with_others(&self, own: &PartVersions, others: &dyn Fn(&OtherSource) -> PartVersions) -> PartVersions {
        let mut versions = own.clone()?;
        for source in self.others() {
            add(&mut versions, others(source)?);
        }
        Ok(versions)
    }
}

/// Each once.
fn add(versions: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for version in more {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
}

/// What runs of each part of an object, by what it says itself and by what others say. Of one of which nobody says
/// anything nobody knows.
pub(crate) fn whole_parts(
    parts: &[ObservedPart],
    own: &[PartVersions],
    others: &dyn Fn(&OtherSource) -> PartVersions,
) -> Vec<PartVersions> {
    let all: Vec<PartVersions> = parts.iter().zip(own).map(|(part, own)| part.with_others(own, others)).collect();
    let says_nothing = all.iter().all(|part| part.as_ref().is_ok_and(Vec::is_empty));
    if says_nothing { vec![Err("nothing of it says a version".to_owned()); all.len()] } else { all }
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
        // Whatever it has, it does not say so.
        let silent = [part("hull", &["a"], true), part("sails", &["c"], true)];
        let why = unknown("nothing of it says a version");
        assert_eq!(read_parts(&silent, &json!({"metadata": {}})), [why.clone(), why]);
    }
}
