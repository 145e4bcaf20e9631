//! An object's annotations, and ours among them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::error::ConvertError;
use super::annotation_budget::{BUDGET, AnnotationBudget, ROOMY};
use super::kept::{Kept, LONGEST, ObjectBefore};
use crate::definition::{Side, Step};
use crate::json::{Json, Members};

/// The annotations of an object.
#[derive(Clone)]
pub(crate) struct Annotations<'a> {
    shape: Shape,
    members: Members<'a>,
    /// Those that we added, so that they count against the budget.
    added: Vec<&'a str>,
    /// The bytes of those that were too large to be written at all.
    unwritten: usize,
}

/// The mark of an object that was answered without what the version it came from alone can say, because that was too
/// large. Its value are the annotations that are missing. Who writes such an object is refused by the policy that is
/// printed with the CRD, and by `/validate`: a review does not tell a writer from a reader, who has done nothing wrong.
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
        Ok(Self { shape, members, added: Vec::new(), unwritten: 0 })
    }

    /// Puts them back, within their budget: what does not fit is left out.
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

    /// The bytes they would take together with what must be kept, where that is more than the API server takes. What a
    /// user's own take alone is not ours to judge.
    pub(crate) fn overflow(&self) -> Option<usize> {
        self.counted().filter(|size| AnnotationBudget::of(*size) == AnnotationBudget::Not)
    }

    /// The bytes of them all, where some are ours and a look at the texts does not tell that there is room enough.
    fn counted(&self) -> Option<usize> {
        // No string is longer than its text.
        let most = |(name, value): (&str, &Json<'_>)| name.len() + value.size();
        let may_be_many = || self.unwritten + self.members.iter().map(most).sum::<usize>() > ROOMY;
        (!self.added.is_empty() && may_be_many()).then(|| self.size())
    }

    fn size(&self) -> usize {
        let written: usize = self.members.iter().map(|(name, value)| name.len() + length(value)).sum();
        written + self.unwritten
    }

    /// Takes ours out, and says so as far as there is room for it.
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

    /// Sets an annotation.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.members.set(name, Json::string(value));
    }

    /// Writes one of ours anew, of which something was dropped.
    pub(super) fn rewrite(&mut self, name: &'a str, kept: Kept<'_>) {
        if !kept.is_empty() {
            return self.set(name, &kept.to_text());
        }
        self.remove(name);
        self.shape_as_before(&kept);
    }

    /// Gives the annotations the shape they had before one of ours came, if none is left.
    fn shape_as_before(&mut self, kept: &Kept<'_>) {
        if self.members.is_empty() {
            self.shape = match kept.annotations {
                Some(ObjectBefore::Null) => Shape::Null,
                Some(ObjectBefore::Empty) => Shape::Present,
                Some(ObjectBefore::Absent) | None => Shape::Absent,
            };
        }
    }

    /// Gives annotations other names; those for which there is none are removed. Where none are left, there are none.
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

    /// Gives the annotations the shape they had before ours came, and writes what must be kept now, if anything must.
    /// `kept` is what ours held.
    pub(super) fn settle(&mut self, step: &'a Step, to: Side, kept: &Kept<'_>, mut to_keep: Kept<'_>) {
        if !(kept.is_empty() && kept.annotations.is_none()) {
            self.shape_as_before(kept);
        }
        let name = step.kept.of(to.other()).as_str();
        // On an object of that very version an annotation of that name is nobody's to keep. In our form it would be
        // taken for ours on the way home.
        let theirs = self.text(name);
        if theirs.is_some_and(|text| !to_keep.is_empty() || Kept::parse(&text).is_some()) {
            self.members.remove(name);
        }
        if to_keep.is_empty() {
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

/// What a value counts towards the budget. The API server lets nothing but strings into annotations.
fn length(value: &Json<'_>) -> usize {
    value.as_str().map_or(0, |text| text.len())
}
