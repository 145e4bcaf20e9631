//! A write: an object that is created or updated.

use crate::json::Json;
use crate::webhook::caller::{Caller, CallerGone};
use crate::webhook::convert::{ConvertError, Object, StringArena};

/// An object that is created or updated, with what it was before.
pub(crate) struct Write<'j> {
    pub(crate) new: SentObject<'j>,
    pub(crate) old: Option<SentObject<'j>>,
    /// The field manager of whoever writes; empty where nobody knows it.
    pub(super) manager: String,
}

impl<'j> Write<'j> {
    pub(crate) fn new(new: Json<'j>, old: Option<Json<'j>>) -> Self {
        Self { new: SentObject::new(new), old: old.map(SentObject::new), manager: String::new() }
    }

    /// The same for a caller that may be gone.
    pub(crate) fn for_caller(mut self, caller: &'j Caller<'j>) -> Self {
        for object in [Some(&mut self.new), self.old.as_mut()].into_iter().flatten() {
            object.caller = Some(caller);
        }
        self
    }

    /// The same by a field manager.
    pub(crate) fn by(self, manager: impl Into<String>) -> Self {
        Self { manager: manager.into(), ..self }
    }
}

/// An object as it was sent: its members are split once, and all who look at it look at those.
pub(crate) struct SentObject<'j> {
    json: Json<'j>,
    own_size: usize,
    texts: StringArena,
    caller: Option<&'j Caller<'j>>,
}

impl<'j> SentObject<'j> {
    fn new(mut json: Json<'j>) -> Self {
        let size = json.size();
        // One that names a member twice stays as it is: whoever asks for the object is told.
        let _ = json.open();
        let notes = json.look(&["metadata", "managedFields"]).map_or(0, |notes| notes.size());
        Self { json, own_size: size.saturating_sub(notes), texts: StringArena::default(), caller: None }
    }

    /// The bytes of what somebody wrote, without white space around members: the notes of the API server about who
    /// wrote what (`managedFields`) are half of most objects.
    pub(super) fn own_size(&self) -> usize {
        self.own_size
    }

    /// The object, taken apart.
    pub(crate) fn object(&self) -> Result<Object<'_>, ConvertError> {
        Ok(Object::open(self.json.clone(), &self.texts)?.written().for_caller(self.caller))
    }

    /// All of it, for those who must know even objects that cannot be taken apart.
    pub(crate) fn json(&self) -> &Json<'j> {
        &self.json
    }

    /// Asks whether somebody still waits for what is decided of it.
    pub(in crate::webhook) fn is_awaited(&self) -> Result<(), CallerGone> {
        self.caller.map_or(Ok(()), Caller::waits)
    }

    /// Whether the object is being deleted.
    pub(in crate::webhook) fn is_going(&self) -> bool {
        self.json.look(&["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
    }

    /// The value of a label, of whatever type. Null is none.
    pub(crate) fn label(&self, key: &str) -> Option<Json<'_>> {
        self.entry("labels", key)
    }

    /// The value of an annotation, of whatever type. Null is none.
    pub(super) fn annotation(&self, key: &str) -> Option<Json<'_>> {
        self.entry("annotations", key)
    }

    fn entry(&self, map: &str, key: &str) -> Option<Json<'_>> {
        self.json.look(&["metadata", map, key]).filter(|value| !value.is_null())
    }
}
