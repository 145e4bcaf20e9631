//! Operations that need more than a place on each side.

use serde_json::Value;

use super::Compiler;
use super::follows::filled_requirements;
use crate::definition::document::{self, OneSided};
use crate::definition::{Lens, Operation, Path, Place, Side, Sides};
use crate::json::Json;

impl Compiler<'_> {
    pub(super) fn one_sided(
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
            self.problems.add(line, format!("{name}: the {other} version has {} too", place.path));
        }
        place.fill = match value {
            Some(value) => {
                let value = Json::owned(value.to_string());
                if !place.schema.admits(&value) {
                    self.problems
                        .add(line, format!("{name}: {} cannot be {}", place.path, value.to_text()));
                }
                Some(value)
            }
            None => place.schema.default.as_ref().map(|value| Json::owned(value.to_string())),
        };
        let mut places = Sides::default();
        *places.of_mut(side) = vec![place];
        Some(Operation { name, places, lens: Lens::OneSided })
    }

    pub(super) fn values(&mut self, values: &document::Values, line: u64) -> Option<Operation> {
        let (from, to) =
            self.two_places("values", &values.field, &values.from, &values.to, line)?;
        let places = self.pair(&from, &to, line)?;
        let text = places
            .older
            .iter()
            .all(|place| matches!(place.schema.kind.as_deref(), Some("string") | None));
        let mut pairs: Vec<Sides<Json<'static>>> = Vec::new();
        for (older, newer) in &values.map {
            let older = if text { Value::String(older.clone()) } else { scalar(older) };
            let pair = Sides {
                older: Json::owned(older.to_string()),
                newer: Json::owned(newer.to_string()),
            };
            for (side, value) in [(Side::Older, &pair.older), (Side::Newer, &pair.newer)] {
                for place in places.of(side).iter().filter(|place| !place.schema.admits(value)) {
                    self.problems
                        .add(line, format!("values: {} cannot be {}", place.path, value.to_text()));
                }
            }
            pairs.push(pair);
        }
        Some(Operation { name: "values", places, lens: Lens::Values { pairs } })
    }

    pub(super) fn moved_into_map(
        &mut self,
        moved: &document::MoveIntoMap,
        line: u64,
    ) -> Option<Operation> {
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
            self.problems
                .add(line, format!("moveIntoMap: the newer version has {} too", field.path));
        }
        let unset = moved.unset.iter().map(|value| Json::owned(value.to_string())).collect();
        let places = Sides { older: vec![field, older], newer: vec![newer] };
        Some(Operation { name: "moveIntoMap", places, lens: Lens::IntoMap { unset } })
    }

    pub(super) fn split(&mut self, split: &document::Split, line: u64) -> Option<Operation> {
        if split.separator.is_empty() || split.into.len() < 2 {
            self.problems.add(line, "split: needs a separator and at least two fields in `into`");
            return None;
        }
        let whole = self.place(Side::Older, &split.field, line);
        let parts: Vec<_> =
            split.into.iter().map(|part| self.place(Side::Newer, part, line)).collect();
        let places =
            Sides { older: vec![whole?], newer: parts.into_iter().collect::<Option<Vec<_>>>()? };
        for place in places.older.iter().chain(places.newer.iter().take(1)) {
            if place.schema.kind.as_deref() != Some("string") {
                self.problems.add(line, format!("split: {} must be a string", place.path));
            }
        }
        for place in places.newer.iter().skip(1) {
            if matches!(place.schema.kind.as_deref(), Some("object" | "array")) {
                self.problems.add(
                    line,
                    format!("split: {} must be a string, a number or a boolean", place.path),
                );
            }
        }
        Some(Operation {
            name: "split",
            places,
            lens: Lens::Split { separator: split.separator.clone() },
        })
    }

    pub(super) fn each(&mut self, each: &document::Each, line: u64) -> Option<Operation> {
        let (from, to) = self.two_places("each", &each.within, &each.from, &each.to, line)?;
        let places = self.pair(&from, &to, line)?;
        let (older, newer) = (places.older.first()?, places.newer.first()?);
        let (Some(older_item), Some(newer_item)) = (&older.schema.each, &newer.schema.each) else {
            self.problems.add(line, format!("each: {from} is no list and no map in both versions"));
            return None;
        };
        if older.schema.kind != newer.schema.kind {
            self.problems
                .add(line, format!("each: {from} is a list in one version and a map in the other"));
        }
        let mut inner = Compiler { problems: self.problems, older: older_item, newer: newer_item };
        let mut operations = inner.operations(&each.operations, None);
        operations.extend(filled_requirements(older_item, newer_item, &operations));
        let keys = inner.keys(each, older, &operations, line)?;
        let level = Box::new(inner.level(operations, false));
        Some(Operation { name: "each", places, lens: Lens::Each { level, keys } })
    }

    /// What tells the items of a list apart, on both sides. Nothing for a map, whose keys do.
    pub(super) fn keys(
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
                Some(Operation { lens: Lens::Same, places, .. }) => {
                    places.newer.first()?.path.clone()
                }
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
}

/// A value written as the key of a YAML mapping, for a field that is no string.
fn scalar(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
