//! Differences between the schemas that the author accepts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use super::location::in_yaml;
use crate::definition::problems::Problems;
use crate::definition::remedy::Remedy;
use crate::definition::schema::BOUNDS;
use crate::definition::side::Sides;
use crate::definition::yaml::Spanned;

/// A difference between the two schemas that needs no operation, and the reason.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Accept")]
pub(in crate::definition) struct AcceptSpec {
    /// The field, as in the reported problem. With the suffix `.**`, the field and its contents.
    path: String,
    /// The difference: `enum`, `default`, `minimum` …, as in the reported problem. `bounds` covers all bounds.
    /// One name, or a list.
    difference: DifferenceSpec,
    /// The reason, for the next reader.
    reason: String,
}

/// One difference or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes the name of a difference, or a list of names", rename = "Difference")]
enum DifferenceSpec {
    /// One difference.
    One(String),
    /// All of these.
    Several(Vec<String>),
}

impl AcceptSpec {
    /// The names of the accepted differences.
    pub(in crate::definition) fn names(&self) -> &[String] {
        match &self.difference {
            DifferenceSpec::One(name) => std::slice::from_ref(name),
            DifferenceSpec::Several(names) => names,
        }
    }

    /// Returns whether the entry names this field alone.
    pub(in crate::definition) fn is_exactly(&self, at: &str) -> bool {
        self.path == at
    }

    /// Returns whether the entry covers a field.
    pub(in crate::definition) fn is_at(&self, at: &str) -> bool {
        let Some(all) = self.path.strip_suffix("**") else { return self.path == at };
        let top = all.strip_suffix('.').unwrap_or(all);
        let inside = at.strip_prefix(top);
        inside.is_some_and(|rest| top.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

/// An entry of `accept`, as written in a definition.
pub(super) fn accept(at: &str, difference: &str) -> String {
    format!("{{path: {}, difference: {difference}, reason: …}}", in_yaml(at))
}

/// The accepted differences, and those that were found.
pub(super) struct Accepted<'a> {
    specs: &'a [Spanned<AcceptSpec>],
    /// By entry, and by difference within the entry.
    found: BTreeSet<(usize, usize)>,
}

impl<'a> Accepted<'a> {
    pub(super) fn new(specs: &'a [Spanned<AcceptSpec>]) -> Self {
        Self { specs, found: BTreeSet::new() }
    }

    /// Marks a difference as found. Returns the line of the entry that accepts it, if any.
    pub(super) fn takes(&mut self, at: &str, difference: &str) -> Option<u64> {
        let is_it = |name: &str| name == difference || name == "bounds" && BOUNDS.contains(&difference);
        let mut line_of = None;
        for (index, spec) in self.specs.iter().enumerate().filter(|(_, spec)| spec.value.is_at(at)) {
            for (which, _) in spec.value.names().iter().enumerate().filter(|(_, name)| is_it(name)) {
                self.found.insert((index, which));
                line_of.get_or_insert(spec.line);
            }
        }
        line_of
    }

    /// Reports entries that match no difference, or have no reason.
    pub(super) fn finish(self, versions: &Sides<&str>, problems: &mut Problems) {
        let Sides { older, newer } = versions;
        for (index, accept) in self.specs.iter().enumerate() {
            let AcceptSpec { path, reason, .. } = &accept.value;
            let names = accept.value.names();
            let lost: Vec<&String> = names
                .iter()
                .enumerate()
                .filter(|(which, _)| !self.found.contains(&(index, *which)))
                .map(|(_, n)| n)
                .collect();
            for difference in &lost {
                let what = format!(
                    "accept: {path} does not differ in {difference:?} between {older} and {newer}: remove the entry"
                );
                match names.len() {
                    1 => problems.advise(accept.line, what, Remedy::removal(accept.line)),
                    _ => problems.add(accept.line, what),
                }
            }
            if names.is_empty() {
                problems.add(accept.line, format!("accept: {path}: name the difference in `difference`"));
            } else if lost.is_empty() && reason.trim().is_empty() {
                problems.add(accept.line, format!("accept: {path}: give a reason in `reason`"));
            }
        }
    }
}
