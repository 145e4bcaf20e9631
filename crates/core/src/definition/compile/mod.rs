//! From the operations as they are written to operations that run.

mod follows;
mod lenses;

use serde_saphyr::Spanned;

use self::follows::{complete, filled_requirements, objects};
use super::compare::Compare;
use super::document::{self};
use super::load::{Problems, hint, line};
use super::{
    Lens, Operation, Path, Place, Requested, RolloutStatus, Schema, Side, Sides, Step, Version,
};
use crate::json::Json;

/// Compiles what happens between two schemas.
pub(super) struct Compiler<'a> {
    pub(super) problems: &'a mut Problems,
    pub(super) older: &'a Schema,
    pub(super) newer: &'a Schema,
}

/// The prefix of the annotations that hold kept fields.
const KEPT: &str = "pointsman.dev/kept-";

impl Compiler<'_> {
    pub(super) fn step(
        mut self,
        step: &Spanned<document::Step>,
        older: &Version,
        newer: &Version,
        status: Option<(&document::RolloutStatus, u64)>,
    ) -> Step {
        let status = status.and_then(|(status, line)| self.status(status, line));
        let mut operations = self.operations(&step.value.operations, status.as_ref());
        let mut compare = Compare::new(&step.value.accept, self.problems);
        let requests = status
            .iter()
            .flat_map(|s| [s.requests.requested.path.clone(), s.requests.completed.path.clone()]);
        compare.run(self.older, self.newer, &operations, &requests.collect::<Vec<_>>(), line(step));
        operations.extend(filled_requirements(self.older, self.newer, &operations));
        let level = self.level(operations, true);
        Step {
            versions: Sides { older: older.name.clone(), newer: newer.name.clone() },
            kept: Sides {
                older: format!("{KEPT}{}", older.name),
                newer: format!("{KEPT}{}", newer.name),
            },
            complete: complete(self.older, self.newer, &level.operations),
            objects: objects(self.older, self.newer),
            level,
            status,
        }
    }

    fn operations(
        &mut self,
        written: &[Spanned<document::Operation>],
        status: Option<&RolloutStatus>,
    ) -> Vec<Operation> {
        let mut compiled: Vec<(Operation, u64)> = Vec::new();
        for operation in written {
            let at = line(operation);
            let Some(operation) = self.operation(&operation.value, at) else {
                continue;
            };
            // What the status block handles may be listed as dropped for the reader: it says so itself.
            let handled = |path: &Path| {
                status.is_some_and(|s| {
                    *path == s.requests.requested.path || *path == s.requests.completed.path
                })
            };
            if matches!(operation.lens, Lens::OneSided)
                && operation.places.older.iter().any(|place| handled(&place.path))
            {
                continue;
            }
            for side in [Side::Older, Side::Newer] {
                for place in operation.places.of(side) {
                    let earlier = compiled
                        .iter()
                        .flat_map(|(other, at)| other.places.of(side).iter().map(move |p| (p, at)));
                    for (other, first) in earlier {
                        if place.path.starts_with(&other.path)
                            || other.path.starts_with(&place.path)
                        {
                            let message = format!(
                                "two operations on one field: {} here and {} in line {first}",
                                place.path, other.path
                            );
                            self.problems.add(at, message);
                        }
                    }
                    if handled(&place.path) && side == Side::Older {
                        self.problems.add(
                            at,
                            format!(
                                "two operations on one field: {} is handled by rollout.status",
                                place.path
                            ),
                        );
                    }
                }
            }
            compiled.push((operation, at));
        }
        compiled.into_iter().map(|(operation, _)| operation).collect()
    }

    fn operation(&mut self, operation: &document::Operation, line: u64) -> Option<Operation> {
        use document::Operation as Written;
        match operation {
            Written::Add(one) => self.one_sided("add", one, Side::Newer, line),
            Written::Drop(one) => self.one_sided("drop", one, Side::Older, line),
            Written::Blank(blank) => {
                let mut places = self.pair(&blank.field, &blank.field, line)?;
                fill_with_default(&mut places.older);
                Some(Operation {
                    name: "blank",
                    places,
                    lens: Lens::Blank { spellings: blank.spellings.clone() },
                })
            }
            Written::Move(pair) => self.mapped("move", &pair.from, &pair.to, Lens::Same, line),
            Written::Rename(pair) => self.mapped("rename", &pair.from, &pair.to, Lens::Same, line),
            Written::Type(place) => self.at_place("type", place, Lens::Type, line),
            Written::Wrap(place) => self.at_place("wrap", place, Lens::Wrap, line),
            Written::Values(values) => self.values(values, line),
            Written::MoveIntoMap(moved) => self.moved_into_map(moved, line),
            Written::Split(split) => self.split(split, line),
            Written::Each(each) => self.each(each, line),
        }
    }

    fn at_place(
        &mut self,
        name: &'static str,
        place: &document::Place,
        lens: Lens,
        line: u64,
    ) -> Option<Operation> {
        match place {
            document::Place::Path(path) => self.mapped(name, path, path, lens, line),
            document::Place::Pair(pair) => self.mapped(name, &pair.from, &pair.to, lens, line),
        }
    }

    fn mapped(
        &mut self,
        name: &'static str,
        from: &str,
        to: &str,
        lens: Lens,
        line: u64,
    ) -> Option<Operation> {
        let mut places = self.pair(from, to, line)?;
        let requires = |schema: &Schema, places: &[Place]| {
            places.iter().any(|place| schema.requires(&place.path))
        };
        if requires(self.older, &places.older) && !requires(self.newer, &places.newer) {
            fill_with_default(&mut places.older);
        }
        Some(Operation { name, places, lens })
    }

    fn pair(&mut self, from: &str, to: &str, line: u64) -> Option<Sides<Vec<Place>>> {
        let older = self.place(Side::Older, from, line);
        let newer = self.place(Side::Newer, to, line);
        Some(Sides { older: vec![older?], newer: vec![newer?] })
    }

    fn two_places(
        &mut self,
        name: &str,
        same: &Option<String>,
        from: &Option<String>,
        to: &Option<String>,
        line: u64,
    ) -> Option<(String, String)> {
        match (same, from, to) {
            (Some(same), None, None) => Some((same.clone(), same.clone())),
            (None, Some(from), Some(to)) => Some((from.clone(), to.clone())),
            _ => {
                let one = if name == "each" { "in" } else { "field" };
                self.problems
                    .add(line, format!("{name}: needs either `{one}`, or `from` and `to`"));
                None
            }
        }
    }

    /// A path that must be in the schema of a side.
    fn place(&mut self, side: Side, text: &str, line: u64) -> Option<Place> {
        let (schema, version) = match side {
            Side::Newer => (self.newer, "newer"),
            Side::Older => (self.older, "older"),
        };
        let path = match Path::parse(text) {
            Ok(path) => path,
            Err(error) => {
                self.problems.add(line, error);
                return None;
            }
        };
        if path
            .names()
            .first()
            .is_some_and(|name| matches!(&**name, "apiVersion" | "kind" | "metadata"))
        {
            self.problems.add(
                line,
                format!(
                    "{path}: the API server itself takes care of metadata, apiVersion and kind"
                ),
            );
            return None;
        }
        let mut here = schema;
        for name in path.names() {
            let map = || {
                let is_map = here.kind.as_deref() == Some("object");
                here.each.as_deref().filter(|_| is_map)
            };
            let next = here.properties.get(name.as_ref()).or_else(map);
            let Some(next) = next else {
                self.problems.add(
                    line,
                    format!(
                        "{path}: the {version} version has no {name:?} there{}",
                        hint(here, name)
                    ),
                );
                return None;
            };
            here = next;
        }
        let required = schema.requires(&path);
        Some(Place {
            id: path.to_string(),
            path,
            schema: here.clone(),
            fill: None,
            required,
            remainder: false,
        })
    }

    fn status(&mut self, status: &document::RolloutStatus, line: u64) -> Option<RolloutStatus> {
        let mut both = |text: &str| {
            let older = self.place(Side::Older, text, line);
            let newer = self.place(Side::Newer, text, line);
            older.and(newer)
        };
        let requested = both(&status.hashes.requested);
        let completed = both(&status.hashes.completed);
        let reasons = both(&status.reasons.within);
        let request = self.place(Side::Older, &status.requests.requested, line);
        let done = self.place(Side::Older, &status.requests.completed, line);
        let (reasons, request, done) = (reasons?, request?, done?);
        for place in [&request, &done] {
            if self.newer.at(&place.path).is_some() {
                self.problems.add(
                    line,
                    format!("rollout.status.requests: the newer version has {} too", place.path),
                );
            }
        }
        Some(RolloutStatus {
            hashes: Requested { requested: requested?, completed: completed? },
            requests: Requested { requested: request, completed: done },
            reasons: reasons.path,
            promoting: status.reasons.promoting.clone(),
            staged: status.reasons.staged.clone(),
        })
    }
}

fn fill_with_default(places: &mut [Place]) {
    for place in places {
        place.fill = place.schema.default.as_ref().map(|value| Json::owned(value.to_string()));
    }
}
