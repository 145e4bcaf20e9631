//! The last resort for a difference that no operation expresses: each version keeps its own value of an enclosing
//! field.

use std::collections::BTreeSet;

use super::entry::{Entry, Operation};
use super::outline::{Outline, step_at};
use crate::definition::{Path, Problem, Sides};

/// The fields that each version keeps for itself.
#[derive(Debug, Default)]
pub(super) struct Separation {
    /// The step, the lists around the field, and the field.
    tried: BTreeSet<(usize, String)>,
}

impl Separation {
    /// Separates the innermost field around a problem that is not separate yet. `written` is the definition with the
    /// problem; the outline may have changed since. Returns whether the outline changed.
    pub(super) fn separate(&mut self, outline: &mut Outline, written: &str, problem: &Problem) -> bool {
        let Some((place, _)) = problem.message.split_once(": ") else { return false };
        let Some(index) = step_at(written, problem.line) else { return false };
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
    use crate::draft::step_outline::StepOutline;

    #[test]
    fn places_are_left_outwards() {
        let outwards =
            |place: &str| std::iter::successors(enclosing(place), |place| enclosing(place)).collect::<Vec<_>>();
        assert_eq!(outwards("spec.a.b"), ["spec.a", "spec"]);
        assert_eq!(outwards("spec.a[*].b.c"), ["spec.a[*].b", "spec.a", "spec"]);
        assert_eq!(outwards("spec.a[*]"), ["spec.a", "spec"]);
    }

    #[test]
    fn problem_is_in_step_of_loaded_text() {
        let versions = |older: &str, newer: &str| Sides { older: older.to_owned(), newer: newer.to_owned() };
        let drop = |path: &str| {
            let path = Path::parse(path).unwrap();
            Entry::plain(Operation::between("drop", &Sides { older: path.clone(), newer: path }))
        };
        let step =
            |older, newer, entries| StepOutline { versions: versions(older, newer), entries, accept: Vec::new() };
        let first = vec![drop("spec.a"), drop("spec.b"), drop("spec.c")];
        let steps = vec![step("v1", "v2", first), step("v2", "v3", vec![drop("spec.d")])];
        let mut outline = Outline { title: "draft".to_owned(), crd: "crd.yaml".to_owned(), steps, existing: None };
        let written = outline.write().text;
        let at = |text: &str| written.lines().position(|line| line.contains(text)).unwrap() as u64 + 1;
        // The last operation of the first step is below the begin of the second step in the changed text.
        let line = at("drop: spec.c");
        outline.steps[0].entries.clear();
        assert!(step_at(&outline.write().text, line) == Some(1) && step_at(&written, line) == Some(0));
        let problem = Problem { file: "draft".to_owned(), line, message: "spec.c: differs".to_owned(), remedy: None };
        assert!(Separation::default().separate(&mut outline, &written, &problem));
        assert_eq!(outline.steps[0].entries.len(), 2);
        assert_eq!(outline.steps[1].entries.len(), 1);
    }
}
