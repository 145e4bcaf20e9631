//! What a conversion did, told to people who ask.

/// One change that a conversion made, for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The operation, by its key in the definition.
    pub operation: String,
    /// The fields it read: path and value.
    pub before: Vec<(String, String)>,
    /// The fields it wrote: path and value.
    pub after: Vec<(String, String)>,
    /// The values before are kept in an annotation.
    pub kept: bool,
    /// The values after were kept in an annotation and came back.
    pub given_back: bool,
}

/// Where changes are told. Where nobody asked for them, none is made.
pub(super) struct Trace<'t>(Option<&'t mut Vec<Change>>);

impl<'t> Trace<'t> {
    /// Nobody asked.
    pub(super) fn off() -> Self {
        Self(None)
    }

    /// Changes are added to a list.
    pub(super) fn to(changes: &'t mut Vec<Change>) -> Self {
        Self(Some(changes))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Tells a change, if there is one and somebody asked.
    pub(super) fn tell(&mut self, change: impl FnOnce() -> Option<Change>) {
        if let Some(changes) = &mut self.0 {
            changes.extend(change());
        }
    }
}
