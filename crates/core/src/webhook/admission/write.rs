//! A write: an object that is created or updated.

use crate::json::Json;
use crate::webhook::caller::{Caller, ClientDisconnected};
use crate::webhook::convert::{ConvertError, Object, StringArena};

/// A created or updated object, with its old version.
pub(crate) struct Write<'j> {
    pub(crate) new: SentObject<'j>,
    pub(crate) old: Option<SentObject<'j>>,
    /// The field manager of the client. Empty if unknown.
    pub(super) manager: String,
}

impl<'j> Write<'j> {
    pub(crate) fn new(new: Json<'j>, old: Option<Json<'j>>) -> Self {
        Self { new: SentObject::new(new), old: old.map(SentObject::new), manager: String::new() }
    }

    /// Sets the client, which may disconnect.
    pub(crate) fn for_caller(mut self, caller: &'j Caller<'j>) -> Self {
        for object in [Some(&mut self.new), self.old.as_mut()].into_iter().flatten() {
            object.caller = Some(caller);
        }
        self
    }

    /// Sets the field manager.
    pub(crate) fn by(self, manager: impl Into<String>) -> Self {
        Self { manager: manager.into(), ..self }
    }
}

/// An object as sent. Its members, labels and annotations are split once, for all checks.
pub(crate) struct SentObject<'j> {
    json: Json<'j>,
    own_size: usize,
    texts: StringArena,
    caller: Option<&'j Caller<'j>>,
}

impl<'j> SentObject<'j> {
    fn new(mut json: Json<'j>) -> Self {
        let size = json.size();
        // An object with duplicate members stays unparsed. [`Self::object`] reports the error.
        let _ = json.open();
        let notes = json.get_path(&["metadata", "managedFields"]).map_or(0, |notes| notes.size());
        // Checks look up many labels and annotations.
        if let Json::Object(members) = &mut json
            && let Some(Json::Object(metadata)) = members.get_mut("metadata")
        {
            for map in ["labels", "annotations"] {
                let _ = metadata.get_mut(map).map(Json::open);
            }
        }
        Self { json, own_size: size.saturating_sub(notes), texts: StringArena::default(), caller: None }
    }

    /// The size without `managedFields`, which is half of most objects, and without white space between members.
    pub(super) fn own_size(&self) -> usize {
        self.own_size
    }

    /// The parsed object.
    pub(crate) fn object(&self) -> Result<Object<'_>, ConvertError> {
        Ok(Object::open(self.json.clone(), &self.texts)?.written().for_caller(self.caller))
    }

    /// The whole object, for checks that apply to unparsable objects too.
    pub(crate) fn json(&self) -> &Json<'j> {
        &self.json
    }

    /// Checks that the client still waits.
    pub(in crate::webhook) fn check_awaited(&self) -> Result<(), ClientDisconnected> {
        self.caller.map_or(Ok(()), Caller::waits)
    }

    /// Returns whether the object is terminating.
    pub(in crate::webhook) fn is_terminating(&self) -> bool {
        self.json.get_path(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
    }

    /// The value of a label, of any type. Null counts as absent.
    pub(crate) fn label(&self, key: &str) -> Option<Json<'_>> {
        self.entry("labels", key)
    }

    /// The value of an annotation, of any type. Null counts as absent.
    pub(super) fn annotation(&self, key: &str) -> Option<Json<'_>> {
        self.entry("annotations", key)
    }

    fn entry(&self, map: &str, key: &str) -> Option<Json<'_>> {
        self.json.get_path(&["metadata", map, key]).filter(|value| !value.is_null())
    }
}
