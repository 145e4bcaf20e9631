//! From the operations as they are written to operations that run.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::compare::Compare;
use super::document::{self, OneSided};
use super::load::{Problems, hint, line};
use super::{
    Lens, Level, Operation, Path, Place, Requested, RolloutStatus, Schema, Side, Sides, Step,
    Version,
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
        let requests = status.iter().flat_map(|s| {
            [
                s.requests.requested.path.clone(),
                s.requests.completed.path.clone(),
            ]
        });
        compare.run(
            self.older,
            self.newer,
            &operations,
            &requests.collect::<Vec<_>>(),
            line(step),
        );
        operations.extend(filled_requirements(self.older, self.newer, &operations));
        let level = self.level(operations, true);
        Step {
            versions: Sides {
                older: older.name.clone(),
                newer: newer.name.clone(),
            },
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
                && operation
                    .places
                    .older
                    .iter()
                    .any(|place| handled(&place.path))
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
        compiled
            .into_iter()
            .map(|(operation, _)| operation)
            .collect()
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
                    lens: Lens::Blank {
                        spellings: blank.spellings.clone(),
                    },
                })
            }
            Written::Move(pair) => self.mapped("move", &pair.from, &pair.to, Lens::Same, line),
            Written::Rename(pair) => self.mapped("rename", &pair.from, &pair.to, Lens::Same, line),
            Written::Type(place) => self.at_place("type", place, Lens::Type, line),
            Written::Wrap(place) => self.at_place("wrap", place, Lens::Wrap, line),
            Written::Values(values) => self.values(values, line),
            Written::MoveIntoMap(moved) => self.into_map(moved, line),
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
        Some(Sides {
            older: vec![older?],
            newer: vec![newer?],
        })
    }

    fn one_sided(
        &mut self,
        name: &'static str,
        one: &OneSided,
        side: Side,
        line: u64,
    ) -> Option<Operation> {
        let (path, value) = match one {
            OneSided::Path(path) => (path, None),
            OneSided::Filled(filled) => (&filled.field, Some(&filled.value)),
        };
        let mut place = self.place(side, path, line)?;
        let (other, has) = match side {
            Side::Newer => ("older", self.older.at(&place.path)),
            Side::Older => ("newer", self.newer.at(&place.path)),
        };
        if has.is_some() {
            self.problems.add(
                line,
                format!("{name}: the {other} version has {} too", place.path),
            );
        }
        place.fill = match value {
            Some(value) => {
                let value = Json::owned(value.to_string());
                if !place.schema.admits(&value) {
                    self.problems.add(
                        line,
                        format!("{name}: {} cannot be {}", place.path, value.to_text()),
                    );
                }
                Some(value)
            }
            None => place
                .schema
                .default
                .as_ref()
                .map(|value| Json::owned(value.to_string())),
        };
        let mut places = Sides::default();
        *places.of_mut(side) = vec![place];
        Some(Operation {
            name,
            places,
            lens: Lens::OneSided,
        })
    }

    fn values(&mut self, values: &document::Values, line: u64) -> Option<Operation> {
        let (from, to) = self.from_to("values", &values.field, &values.from, &values.to, line)?;
        let places = self.pair(&from, &to, line)?;
        let text = places
            .older
            .iter()
            .all(|place| matches!(place.schema.kind.as_deref(), Some("string") | None));
        let mut pairs: Vec<Sides<Json<'static>>> = Vec::new();
        for (older, newer) in &values.map {
            let older = if text {
                Value::String(older.clone())
            } else {
                scalar(older)
            };
            let pair = Sides {
                older: Json::owned(older.to_string()),
                newer: Json::owned(newer.to_string()),
            };
            for (side, value) in [(Side::Older, &pair.older), (Side::Newer, &pair.newer)] {
                for place in places
                    .of(side)
                    .iter()
                    .filter(|place| !place.schema.admits(value))
                {
                    self.problems.add(
                        line,
                        format!("values: {} cannot be {}", place.path, value.to_text()),
                    );
                }
            }
            pairs.push(pair);
        }
        Some(Operation {
            name: "values",
            places,
            lens: Lens::Values { pairs },
        })
    }

    fn into_map(&mut self, moved: &document::MoveIntoMap, line: u64) -> Option<Operation> {
        let field = self.place(Side::Older, &moved.field, line);
        let entry = Path::parse(&moved.map).map(|map| map.join(&moved.key).to_string());
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                self.problems.add(line, error);
                return None;
            }
        };
        let older = self.place(Side::Older, &entry, line);
        let newer = self.place(Side::Newer, &entry, line);
        let (field, older, newer) = (field?, older?, newer?);
        if self.newer.at(&field.path).is_some() {
            self.problems.add(
                line,
                format!("moveIntoMap: the newer version has {} too", field.path),
            );
        }
        let unset = moved
            .unset
            .iter()
            .map(|value| Json::owned(value.to_string()))
            .collect();
        let places = Sides {
            older: vec![field, older],
            newer: vec![newer],
        };
        Some(Operation {
            name: "moveIntoMap",
            places,
            lens: Lens::IntoMap { unset },
        })
    }

    fn split(&mut self, split: &document::Split, line: u64) -> Option<Operation> {
        if split.separator.is_empty() || split.into.len() < 2 {
            self.problems.add(
                line,
                "split: needs a separator and at least two fields in `into`",
            );
            return None;
        }
        let whole = self.place(Side::Older, &split.field, line);
        let parts: Vec<_> = split
            .into
            .iter()
            .map(|part| self.place(Side::Newer, part, line))
            .collect();
        let places = Sides {
            older: vec![whole?],
            newer: parts.into_iter().collect::<Option<Vec<_>>>()?,
        };
        for place in places.older.iter().chain(places.newer.iter().take(1)) {
            if place.schema.kind.as_deref() != Some("string") {
                self.problems
                    .add(line, format!("split: {} must be a string", place.path));
            }
        }
        for place in places.newer.iter().skip(1) {
            if matches!(place.schema.kind.as_deref(), Some("object" | "array")) {
                self.problems.add(
                    line,
                    format!(
                        "split: {} must be a string, a number or a boolean",
                        place.path
                    ),
                );
            }
        }
        Some(Operation {
            name: "split",
            places,
            lens: Lens::Split {
                separator: split.separator.clone(),
            },
        })
    }

    fn each(&mut self, each: &document::Each, line: u64) -> Option<Operation> {
        let (from, to) = self.from_to("each", &each.within, &each.from, &each.to, line)?;
        let places = self.pair(&from, &to, line)?;
        let (older, newer) = (places.older.first()?, places.newer.first()?);
        let (Some(older_item), Some(newer_item)) = (&older.schema.each, &newer.schema.each) else {
            self.problems.add(
                line,
                format!("each: {from} is no list and no map in both versions"),
            );
            return None;
        };
        if older.schema.kind != newer.schema.kind {
            self.problems.add(
                line,
                format!("each: {from} is a list in one version and a map in the other"),
            );
        }
        let mut inner = Compiler {
            problems: self.problems,
            older: older_item,
            newer: newer_item,
        };
        let mut operations = inner.operations(&each.operations, None);
        operations.extend(filled_requirements(older_item, newer_item, &operations));
        let keys = inner.keys(each, older, &operations, line)?;
        let level = Box::new(inner.level(operations, false));
        Some(Operation {
            name: "each",
            places,
            lens: Lens::Each { level, keys },
        })
    }

    /// What tells the items of a list apart, on both sides. Nothing for a map, whose keys do.
    fn keys(
        &mut self,
        each: &document::Each,
        list: &Place,
        operations: &[Operation],
        line: u64,
    ) -> Option<Sides<Vec<Path>>> {
        if list.schema.kind.as_deref() != Some("array") {
            return Some(Sides::default());
        }
        let names = match &each.key {
            Some(key) => vec![key.clone()],
            None if !list.schema.list_keys.is_empty() => list.schema.list_keys.clone(),
            None if self.older.required.contains("name")
                && self.newer.required.contains("name") =>
            {
                vec!["name".to_owned()]
            }
            None => Vec::new(),
        };
        let mut keys = Sides::<Vec<Path>>::default();
        for name in names {
            let older = self.place(Side::Older, &name, line)?.path;
            let touching =
                operations.iter().find(|operation| {
                    operation.places.older.iter().any(|place| {
                        older.starts_with(&place.path) || place.path.starts_with(&older)
                    })
                });
            let newer = match touching {
                None => older.clone(),
                Some(Operation {
                    lens: Lens::Same,
                    places,
                    ..
                }) => places.newer.first()?.path.clone(),
                Some(operation) => {
                    let message = format!(
                        "each: {name} tells the items apart, so {} cannot change it",
                        operation.name
                    );
                    self.problems.add(line, message);
                    return None;
                }
            };
            keys.older.push(older);
            keys.newer.push(newer);
        }
        Some(keys)
    }

    fn from_to(
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
                self.problems.add(
                    line,
                    format!("{name}: needs either `{one}`, or `from` and `to`"),
                );
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
            let next = here.properties.get(name.as_ref()).or(here
                .each
                .as_deref()
                .filter(|_| here.kind.as_deref() == Some("object")));
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
                    format!(
                        "rollout.status.requests: the newer version has {} too",
                        place.path
                    ),
                );
            }
        }
        Some(RolloutStatus {
            hashes: Requested {
                requested: requested?,
                completed: completed?,
            },
            requests: Requested {
                requested: request,
                completed: done,
            },
            reasons: reasons.path,
            promoting: status.reasons.promoting.clone(),
            staged: status.reasons.staged.clone(),
        })
    }

    /// Adds what follows from the operations: what is left of objects that only one version has, and which objects stay.
    fn level(&self, mut operations: Vec<Operation>, root: bool) -> Level {
        let mut level = Level::default();
        let mut remainders = Vec::new();
        for side in [Side::Older, Side::Newer] {
            let (own, other) = match side {
                Side::Newer => (self.newer, self.older),
                Side::Older => (self.older, self.newer),
            };
            let mut objects = BTreeSet::new();
            for place in operations
                .iter()
                .flat_map(|operation| operation.places.of(side))
            {
                let mut path = place.path.clone();
                while let Some(parent) = path.parent().filter(|parent| !parent.is_empty()) {
                    objects.insert(parent.clone());
                    path = parent;
                }
            }
            let mut foreign: Vec<Path> = Vec::new();
            for path in objects {
                if other.at(&path).is_none() {
                    // Outermost first: what is left of it holds what is left inside.
                    if !foreign.iter().any(|outer| path.starts_with(outer)) {
                        foreign.push(path);
                    }
                } else if other.requires(&path) || (root && path.len() == 1) {
                    level.stays.of_mut(side.other()).push(path);
                }
            }
            for path in foreign {
                let schema = own.at(&path).cloned().unwrap_or_default();
                // Only what no operation names is left, so requirements of the whole do not apply to it.
                let schema = Schema {
                    required: BTreeSet::new(),
                    ..schema
                };
                let mut places = Sides::default();
                *places.of_mut(side) = vec![Place {
                    id: path.to_string(),
                    path,
                    schema,
                    fill: None,
                    required: false,
                    remainder: true,
                }];
                remainders.push(Operation {
                    name: "move",
                    places,
                    lens: Lens::OneSided,
                });
            }
        }
        operations.extend(remainders);
        level.operations = operations;
        level
    }
}

fn fill_with_default(places: &mut [Place]) {
    for place in places {
        place.fill = place
            .schema
            .default
            .as_ref()
            .map(|value| Json::owned(value.to_string()));
    }
}

/// A value written as the key of a YAML mapping, for a field that is no string.
fn scalar(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Fields that both versions have, that only the older one requires, and that it has a default for: readers of the older
/// version rely on the API server to have filled it, which it does when it reads that version from storage.
fn filled_requirements(older: &Schema, newer: &Schema, operations: &[Operation]) -> Vec<Operation> {
    let mut found = Vec::new();
    requirements(older, newer, &Path::default(), &mut found);
    found.retain(|path| {
        let named = operations
            .iter()
            .flat_map(|operation| &operation.places.older);
        !named
            .into_iter()
            .any(|place| place.path.starts_with(path) || path.starts_with(&place.path))
    });
    let place = |schema: &Schema, path: &Path, fill: bool| {
        let schema = schema.at(path).cloned().unwrap_or_default();
        let fill = schema
            .default
            .as_ref()
            .filter(|_| fill)
            .map(|value| Json::owned(value.to_string()));
        vec![Place {
            id: path.to_string(),
            path: path.clone(),
            schema,
            required: fill.is_some(),
            fill,
            remainder: false,
        }]
    };
    let operation = |path: Path| Operation {
        name: "required",
        places: Sides {
            older: place(older, &path, true),
            newer: place(newer, &path, false),
        },
        lens: Lens::Same,
    };
    found.into_iter().map(operation).collect()
}

fn requirements(older: &Schema, newer: &Schema, path: &Path, found: &mut Vec<Path>) {
    for (name, inner) in &older.properties {
        let Some(other) = newer.properties.get(name) else {
            continue;
        };
        let path = path.join(name);
        if inner.default.is_some()
            && older.required.contains(name)
            && !newer.required.contains(name)
            && other.default.is_none()
        {
            found.push(path);
        } else {
            requirements(inner, other, &path, found);
        }
    }
}

/// The fields by which both versions tell a complete object: `spec`, and what both require in it. They survive the
/// conversion as they are, so an object is complete in both versions or in none.
fn complete(older: &Schema, newer: &Schema, operations: &[Operation]) -> Vec<Sides<Path>> {
    let spec = Path::default().join("spec");
    let (Some(older_spec), true) = (older.at(&spec), newer.at(&spec).is_some()) else {
        return Vec::new();
    };
    let mut fields = vec![Sides {
        older: spec.clone(),
        newer: spec.clone(),
    }];
    for name in &older_spec.required {
        let path = spec.join(name);
        let mut touching = operations.iter().filter(|operation| {
            operation
                .places
                .older
                .iter()
                .any(|place| place.path.starts_with(&path) || path.starts_with(&place.path))
        });
        let image = match touching.next() {
            None => Some(path.clone()),
            Some(Operation {
                lens: Lens::Same | Lens::Split { .. },
                places,
                ..
            }) if places.older.first().is_some_and(|place| place.path == path) => {
                places.newer.first().map(|place| place.path.clone())
            }
            Some(_) => None,
        };
        if let Some(image) = image.filter(|image| newer.requires(image)) {
            fields.push(Sides {
                older: path,
                newer: image,
            });
        }
    }
    fields
}

/// Top-level fields that are objects in both versions.
fn objects(older: &Schema, newer: &Schema) -> Vec<String> {
    let is_object = |schema: &Schema, name: &str| {
        schema
            .properties
            .get(name)
            .is_none_or(|property| property.kind.as_deref() == Some("object"))
    };
    let names: BTreeSet<&String> = older
        .properties
        .keys()
        .chain(newer.properties.keys())
        .collect();
    names
        .into_iter()
        .filter(|name| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
        .filter(|name| is_object(older, name) && is_object(newer, name))
        .cloned()
        .collect()
}
