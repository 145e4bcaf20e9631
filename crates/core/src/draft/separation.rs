//! The last resort for a difference that no operation expresses: each version keeps its own value of an enclosing
//! field.

use std::collections::BTreeSet;

use super::entry::{Entry, Operation};
use super::outline::Outline;
use crate::definition::{Path, Problem, Sides};

/// The fields that each version keeps for itself.
#[derive(Debug, Default)]
pub(super) struct Separation {
    /// The step, the lists around the field, and the field.
    tried: BTreeSet<(usize, String)>,
}

impl Separation {
    /// Separates the innermost field around a problem that is not separate yet. Returns whether the outline changed.
    pub(super) fn separate(&mut self, outline: &mut Outline, problem: &Problem) -> bool {
        let Some((place, _)) = problem.message.split_once(": ") else { return false };
        let Some(index) = outline.step_at(problem.line) else { return false };
        let Some(step) = outline.steps.get_mut(index) else { return false };
        let mut around = Some(place.to_owned());
        while let Some(place) = around {
            if self.tried.insert((index, place.clone())) {
                let parts: Vec<&str> = place.split("[*]").map(|part| part.trim_start_matches('.')).collect();
                return apart(&parts, &mut step.entries);
            }
            around = enclosing(&place);
        }
        false
    }
}

/// The field or list around a place: `spec.a.b` and `spec.a[*]` are in `spec.a`.
fn enclosing(place: &str) -> Option<String> {
    if let Some(list) = place.strip_suffix("[*]") {
        return Some(list.to_owned());
    }
    let (lists, field) = match place.rsplit_once("[*].") {
        Some((lists, field)) => (Some(lists), field),
        None => (None, place),
    };
    let parent = Path::parse(field).ok()?.parent()?;
    match (lists, parent.is_empty()) {
        (Some(lists), true) => Some(lists.to_owned()),
        (Some(lists), false) => Some(format!("{lists}[*].{parent}")),
        (None, true) => None,
        (None, false) => Some(parent.to_string()),
    }
}

/// Replaces all operations inside of a field by `drop` and `add`. The last part is the field, earlier parts are the
/// lists around it.
fn apart(parts: &[&str], entries: &mut Vec<Entry>) -> bool {
    let Some((first, rest)) = parts.split_first() else { return false };
    let Ok(path) = Path::parse(first) else { return false };
    if !rest.is_empty() {
        let inside = entries.iter_mut().find_map(|entry| match &mut entry.operation {
            Operation::Each(lists, inside) if lists.older == path => Some(inside),
            _ => None,
        });
        if let Some(inside) = inside {
            return apart(rest, inside);
        }
        let mut inside = Vec::new();
        let changed = apart(rest, &mut inside);
        let lists = Sides { older: path.clone(), newer: path };
        return changed && Entry::plain(Operation::Each(lists, inside)).merge(entries);
    }
    let field = Sides { older: path.clone(), newer: path };
    for name in ["drop", "add"] {
        Entry::plain(Operation::between(name, &field)).merge(entries);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_left_outwards() {
        let outwards =
            |place: &str| std::iter::successors(enclosing(place), |place| enclosing(place)).collect::<Vec<_>>();
        assert_eq!(outwards("spec.a.b"), ["spec.a", "spec"]);
        assert_eq!(outwards("spec.a[*].b.c"), ["spec.a[*].b", "spec.a", "spec"]);
        assert_eq!(outwards("spec.a[*]"), ["spec.a", "spec"]);
    }
}
