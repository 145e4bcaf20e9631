//! Parts of an object that run a version each, such as a control plane and a kubelet.

use serde_json::Value;

use super::observe::VersionSource;
use crate::definition::path::Path;

/// A part of an object, and where it is read which versions run of it.
#[derive(Clone, Debug)]
pub(crate) struct ObservedPart {
    /// What it is called; nothing where the definition names no parts, and this is all of the object.
    pub(crate) name: Option<String>,
    /// At least one.
    places: Vec<VersionSource>,
}

/// What runs of a part of an object, each version once: none where the object has no such part. Else why nobody knows.
pub(crate) type PartVersions = Result<Vec<String>, String>;

impl ObservedPart {
    /// A part, or all of an object, read at one place.
    pub(super) fn at(name: Option<String>, place: VersionSource) -> Self {
        Self { name, places: vec![place] }
    }

    /// It is read at one more place.
    pub(super) fn and(&mut self, place: VersionSource) {
        self.places.push(place);
    }

    /// The fields that are looked at.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Path> {
        self.places.iter().map(VersionSource::path)
    }

    fn read(&self, object: &Value) -> PartVersions {
        let mut versions: Vec<String> = Vec::new();
        for place in &self.places {
            versions.extend(place.read(object)?.filter(|version| !versions.contains(version)));
        }
        Ok(versions)
    }
}

/// What runs of each part of an object, in the newest version of its kind. Of one that says nothing at all nobody
/// knows.
pub(crate) fn read_parts(parts: &[ObservedPart], object: &Value) -> Vec<PartVersions> {
    let read: Vec<PartVersions> = parts.iter().map(|part| part.read(object)).collect();
    let says_nothing = read.iter().all(|part| part.as_ref().is_ok_and(Vec::is_empty));
    if says_nothing { vec![Err("nothing of it says a version".to_owned()); parts.len()] } else { read }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(name: &str, keys: &[&str], optional: bool) -> ObservedPart {
        let mut places = keys.iter().map(|key| VersionSource::label(key, optional, true));
        let mut part = ObservedPart::at(Some(name.to_owned()), places.next().unwrap());
        places.for_each(|place| part.and(place));
        part
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
