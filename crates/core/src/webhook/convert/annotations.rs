//! The annotations of an object, including kept annotations.

use std::borrow::Cow;
use std::collections::HashMap;

use super::annotation_budget::{AnnotationBudget, BUDGET, ROOMY};
use super::error::ConvertError;
use super::kept::{Kept, LONGEST, ObjectBefore};
use crate::definition::{Side, Step};
use crate::json::{Json, Members};

/// The annotations of an object.
#[derive(Clone)]
pub(crate) struct Annotations<'a> {
    shape: Shape,
    /// The form if an operation takes the last annotation.
    shape_if_empty: Shape,
    members: Members<'a>,
    /// The annotations that this conversion added. They count against the budget.
    added: Vec<&'a str>,
    /// The bytes of annotations that were too large to be written.
    unwritten: usize,
}

/// Marks an object that was returned without the values that only its original version can represent, because they were
/// too large. The value lists the missing annotations. The guard policy, printed with the CRD, and `/validate` reject
/// writes of such an object. The conversion succeeds, because a review does not distinguish readers from writers.
pub const INCOMPLETE: &str = "pointsman.dev/incomplete";

#[derive(Clone, Copy, Eq, PartialEq)]
enum Shape {
    Absent,
    Null,
    Present,
}

impl<'a> Annotations<'a> {
    pub(super) fn take(metadata: &mut Members<'a>) -> Result<Self, ConvertError> {
        let (shape, members) = match metadata.remove("annotations") {
            None => (Shape::Absent, Members::default()),
            Some(null) if null.is_null() => (Shape::Null, Members::default()),
            Some(mut value) => match value.open() {
                Ok(Some(members)) => (Shape::Present, std::mem::take(members)),
                Ok(None) => {
                    return Err(ConvertError::NotAMapOfStrings { found: value.a_type_name() });
                }
                Err(duplicate) => {
                    return Err(ConvertError::named_twice("metadata.annotations", duplicate));
                }
            },
        };
        Ok(Self { shape, shape_if_empty: Shape::Absent, members, added: Vec::new(), unwritten: 0 })
    }

    /// Writes the annotations back. Omits kept annotations that exceed the budget.
    pub(super) fn put(mut self, metadata: &mut Members<'a>) -> AnnotationBudget {
        let fit = self.counted().map_or(AnnotationBudget::Well, AnnotationBudget::of);
        if fit == AnnotationBudget::Not {
            self.leave_out();
        }
        match self.shape {
            Shape::Absent if self.members.is_empty() => {}
            Shape::Null if self.members.is_empty() => metadata.add("annotations", Json::NULL),
            _ => metadata.add("annotations", Json::Object(self.members)),
        }
        fit
    }

    /// The total size in bytes, if it exceeds the limit of the API server. Ignores annotations of the user alone.
    pub(crate) fn overflow(&self) -> Option<usize> {
        self.counted().filter(|size| AnnotationBudget::of(*size) == AnnotationBudget::Not)
    }

    /// The total size in bytes, if there are kept annotations and an estimate does not suffice.
    fn counted(&self) -> Option<usize> {
        // No string is longer than its JSON text.
        let most = |(name, value): (&str, &Json<'_>)| name.len() + value.size();
        let may_be_many = || self.unwritten + self.members.iter().map(most).sum::<usize>() > ROOMY;
        (!self.added.is_empty() && may_be_many()).then(|| self.size())
    }

    fn size(&self) -> usize {
        let written: usize = self.members.iter().map(|(name, value)| name.len() + length(value)).sum();
        written + self.unwritten
    }

    /// Removes the kept annotations, and adds the mark if there is space for it.
    fn leave_out(&mut self) {
        let before = self.text(INCOMPLETE).unwrap_or_default().into_owned();
        let mut missing: Vec<&str> = before.split(", ").filter(|name| !name.is_empty()).collect();
        for name in &self.added {
            self.members.remove(name);
            if !missing.contains(name) {
                missing.push(name);
            }
        }
        let missing = missing.join(", ");
        self.unwritten = 0;
        self.members.remove(INCOMPLETE);
        let room = BUDGET.saturating_sub(self.size());
        let fitting = [missing.as_str(), ""].into_iter().find(|text| INCOMPLETE.len() + text.len() <= room);
        if let Some(text) = fitting {
            self.members.set(INCOMPLETE, Json::string(text));
        }
    }

    /// The value of an annotation.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.members.get(name)?.as_str()
    }

    /// The JSON of an annotation.
    pub(super) fn value(&self, name: &str) -> Option<Json<'a>> {
        self.members.get(name).cloned()
    }

    /// Sets or removes an annotation that an operation converted. A new value counts against the budget.
    pub(super) fn set_converted(&mut self, name: &'a str, value: Option<Json<'a>>) {
        match value {
            None if self.members.remove(name).is_some() && self.members.is_empty() => {
                self.shape = self.shape_if_empty;
            }
            Some(value) if self.members.get(name).is_none_or(|before| !before.same(&value)) => {
                self.shape = Shape::Present;
                self.added.retain(|added| *added != name);
                self.added.push(name);
                self.members.set(name, value);
            }
            None | Some(_) => {}
        }
    }

    /// Sets an annotation.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.members.set(name, Json::string(value));
    }

    /// Writes a kept annotation again after entries were removed.
    pub(super) fn rewrite(&mut self, name: &'a str, kept: Kept<'_>) {
        if !kept.is_empty() {
            return self.set(name, &kept.to_text());
        }
        self.remove(name);
        self.shape_as_before(&kept);
    }

    /// Restores the original form of the annotations, if none is left.
    fn shape_as_before(&mut self, kept: &Kept<'_>) {
        self.shape_if_empty = match kept.annotations {
            Some(ObjectBefore::Null) => Shape::Null,
            Some(ObjectBefore::Empty) => Shape::Present,
            Some(ObjectBefore::Absent) | None => Shape::Absent,
        };
        if self.members.is_empty() {
            self.shape = self.shape_if_empty;
        }
    }

    /// Renames annotations. Removes those without a new name, and the map if it is empty.
    pub(crate) fn rename(&mut self, named: &mut dyn FnMut(&str) -> Option<String>) {
        let before = std::mem::take(&mut self.members);
        let had_some = !before.is_empty();
        let mut renamed: Vec<(Cow<'a, str>, Json<'a>)> = Vec::with_capacity(before.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for (name, value) in before.into_pairs() {
            let Some(name) = named(&name) else { continue };
            match places.get(&name).and_then(|at| renamed.get_mut(*at)) {
                Some((_, place)) => *place = value,
                None => {
                    places.insert(name.clone(), renamed.len());
                    renamed.push((Cow::Owned(name), value));
                }
            }
        }
        self.members = renamed.into_iter().collect();
        if had_some && self.members.is_empty() {
            self.shape = Shape::Absent;
        }
    }

    /// Removes an annotation.
    pub(crate) fn remove(&mut self, name: &str) {
        self.added.retain(|added| *added != name);
        self.members.remove(name);
    }

    /// Restores the original form of the annotations, and writes the values to keep, if any. `kept` is the previous
    /// content. With `adds_annotations`, operations may add annotations, which are written after the last step.
    pub(super) fn write_kept(
        &mut self,
        step: &'a Step,
        to: Side,
        kept: &Kept<'_>,
        mut to_keep: Kept<'_>,
        adds_annotations: bool,
    ) {
        if !(kept.is_empty() && kept.annotations.is_none()) {
            self.shape_as_before(kept);
        }
        let name = step.kept.of(to.other()).as_str();
        // On an object of this version, a kept annotation of this version is meaningless. In a valid form it would be
        // applied by the conversion back, so it is removed.
        let theirs = self.text(name);
        if theirs.is_some_and(|text| !to_keep.is_empty() || Kept::parse(&text).is_some()) {
            self.members.remove(name);
        }
        // The first annotation replaces an empty map or a null, which must return.
        let is_replaced = adds_annotations && self.members.is_empty() && self.shape != Shape::Absent;
        if to_keep.is_empty() && !is_replaced {
            return;
        }
        to_keep.annotations = match (self.members.is_empty(), self.shape) {
            (true, Shape::Null) => Some(ObjectBefore::Null),
            (true, Shape::Present) => Some(ObjectBefore::Empty),
            _ => None,
        };
        self.shape = Shape::Present;
        self.added.retain(|added| *added != name);
        self.added.push(name);
        let size = to_keep.size();
        let value = if size > LONGEST {
            self.unwritten += size;
            Json::borrowed("\"\"")
        } else {
            Json::string(&to_keep.to_text_of(size))
        };
        match self.members.get_mut(name) {
            Some(place) => *place = value,
            None => self.members.add(name, value),
        }
    }
}

/// The size of a value in the budget. The API server allows only strings in annotations.
fn length(value: &Json<'_>) -> usize {
    value.as_str().map_or(0, |text| text.len())
}
