//! Required fields that may be absent after a conversion. A client could read such an object, but not write it back: a
//! change of the image would fail because another field is missing.
//!
//! A field is always present if its enclosing object guarantees it. In the other version, the field and all its parents
//! below the common ancestor are required or have a default.

use super::advice::{Advice, AdvisedPlace, one_sided};
use super::least_value::least_value;
use super::location::Ground;
use crate::definition::operation::Operation;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::remedy::Remedy;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};

/// A required field that may be missing.
pub(super) struct Absence {
    /// The line of the operation. 0 if it is implied.
    pub(super) line: u64,
    /// The field.
    pub(super) path: Path,
    /// The required field that may be missing, in the version of this side.
    pub(super) field: Path,
    pub(super) side: Side,
    /// No object of the other version has a value for it.
    pub(super) always: bool,
    /// Why the field can be missing.
    pub(super) why: String,
    /// The proposed change.
    pub(super) advice: Advice,
}

/// All required fields that may be missing between two schemas with these operations.
pub(super) fn absences(
    schemas: &Sides<&Schema>,
    operations: &[Operation],
    handled: &[Path],
    ground: &Ground,
) -> Vec<Absence> {
    let mut found = Vec::new();
    for side in [Side::Older, Side::Newer] {
        let check = AbsenceCheck { schemas, operations, handled, side, ground };
        for operation in operations {
            for (index, place) in operation.places.of(side).iter().enumerate() {
                found.extend(check.required(operation, index, place));
                found.extend(check.made(operation, place));
                found.extend(check.holders(place));
            }
        }
    }
    found
}

fn lines(operations: &[&Operation]) -> Vec<u64> {
    operations.iter().map(|operation| operation.own_line()).filter(|line| *line > 0).collect()
}

/// The check of one side.
struct AbsenceCheck<'a> {
    schemas: &'a Sides<&'a Schema>,
    operations: &'a [Operation],
    handled: &'a [Path],
    side: Side,
    ground: &'a Ground,
}

impl AbsenceCheck<'_> {
    fn version(&self, side: Side) -> &'static str {
        match side {
            Side::Newer => "newer",
            Side::Older => "older",
        }
    }

    /// Returns whether the other version has a field whenever it has the value at another path.
    fn brings(&self, path: &Path, sibling: &Path) -> bool {
        self.schemas.of(self.side.other()).brings(path, path.common(sibling))
    }

    /// Returns why an operation may create no value at one of its places, given a value at another path.
    fn lacks(&self, operation: &Operation, index: usize, sibling: &Path) -> Option<String> {
        let filled = operation.places.of(self.side).get(index).is_some_and(|place| place.fill.is_some());
        (!filled).then(|| self.makes_none(operation, index, sibling))?
    }

    /// Like `lacks`, ignoring defaults.
    fn makes_none(&self, operation: &Operation, index: usize, sibling: &Path) -> Option<String> {
        let other = self.side.other();
        let Some(source) = operation.places.of(other).first() else {
            return Some(format!("the {} version has no value", self.version(other)));
        };
        if let Some(why) = operation.may_lack(self.side, index) {
            return Some(why);
        }
        let nullable = operation.places.of(self.side).get(index).is_none_or(|place| place.schema.nullable);
        if source.schema.nullable && !nullable {
            return Some(format!(
                "{} of the {} version may be null, which counts as absent",
                source.path,
                self.version(other)
            ));
        }
        let sure = self.brings(&source.path, sibling);
        (!sure).then(|| format!("{} of the {} version is optional", source.path, self.version(other)))
    }

    /// A place that its own parent requires.
    fn required(&self, operation: &Operation, index: usize, place: &Place) -> Option<Absence> {
        let handled = self.side == Side::Older && self.handled.contains(&place.path);
        // The comparison of the schemas covers operations that loading adds.
        if operation.line == 0 || !place.required || place.fill.is_some() || handled {
            return None;
        }
        let why = self.lacks(operation, index, &place.path.parent()?)?;
        let version = self.version(self.side);
        let why = format!("the {version} version requires the field, and {why}");
        let advice = self.value_for(operation, place);
        let (path, field) = (place.path.clone(), place.path.clone());
        let always = operation.places.of(self.side.other()).is_empty();
        Some(Absence { line: operation.line, path, field, side: self.side, always, why, advice })
    }

    /// Proposes the operation with a value for a required place.
    fn value_for(&self, operation: &Operation, place: &Place) -> Advice {
        let default = self.default_of(&place.path);
        let Sides { older, newer } = &operation.places;
        let advice = match (operation.name, older.as_slice(), newer.as_slice()) {
            (name @ ("add" | "drop"), ..) => match one_sided(self.ground, name, &place.path, &place.schema, true) {
                Ok(written) => Advice::instead(operation.own_line(), vec![written], ""),
                Err(why) => return Advice::crd(&why, &default),
            },
            ("compute", ..) => {
                let key = if self.side == Side::Newer { "fillTo" } else { "fillFrom" };
                let text = format!("add a value for the field with `{key}` to the `compute`, or {default}");
                return Advice { text, remedy: Remedy::Operation };
            }
            ("each", ..) => return Advice::crd("`each` fills in no list and no map", &default),
            (_, [older], [newer]) => {
                self.apart(older, newer).apart(Some(operation.own_line()).filter(|line| *line > 0))
            }
            (name, ..) => {
                let why = format!("`{name}` with several fields fills in no field");
                return Advice::crd(&why, &default);
            }
        };
        match operation.name {
            "add" | "drop" => Advice { text: format!("{}, or {default}", advice.text), ..advice },
            _ => Advice { text: format!("{default}, or {}", advice.text), ..advice },
        }
    }

    fn apart(&self, older: &Place, newer: &Place) -> AdvisedPlace {
        AdvisedPlace {
            ground: self.ground.clone(),
            paths: Sides { older: older.path.clone(), newer: newer.path.clone() },
            schemas: Sides { older: older.schema.clone(), newer: newer.schema.clone() },
            requires: Sides { older: older.required, newer: newer.required },
        }
    }

    /// Proposes a default for a path, with all required members.
    fn default_of(&self, path: &Path) -> String {
        let version = self.version(self.side);
        let value = self.schemas.of(self.side).at(path).map(least_value);
        let path = self.ground.name(path);
        match value {
            Some(Ok(value)) => format!("give {path} a `default` in the {version} schema, such as {value}"),
            _ => format!("give {path} a `default` in the {version} schema, with all required fields"),
        }
    }

    /// A required parent of a place that only this version has.
    fn holders(&self, place: &Place) -> Option<Absence> {
        let (root, other) = (self.schemas.of(self.side), self.schemas.of(self.side.other()));
        let mut path = place.path.parent()?;
        while let Some(holder) = path.parent() {
            let own = root.requires(&path) && root.at(&path).is_some_and(|schema| schema.default.is_none());
            let is_both = other.at(&path).is_some_and(|schema| schema.is("object")) && !self.is_taken(&path);
            // The other version may have and require it as well.
            if own
                && !(is_both && self.brings(&path, &holder))
                && let Some(why) = self.misses(&path, &holder)
            {
                let version = self.version(self.side);
                let why = format!("the {version} version requires the field, and {why}");
                let advice = self.whole(&path);
                return Some(Absence {
                    line: 0,
                    field: path.clone(),
                    path,
                    side: self.side,
                    always: false,
                    why,
                    advice,
                });
            }
            path = holder;
        }
        None
    }

    /// Proposes a change for a required object whose fields have operations: one operation for the whole object, if the
    /// other version has no part of it.
    fn whole(&self, path: &Path) -> Advice {
        let default = self.default_of(path);
        let crd = || {
            let why = "operations inside of an object fill in no object";
            Advice::crd(why, &default)
        };
        let inside = |operation: &&Operation| operation.all_places().any(|place| place.path.starts_with(path));
        let inside: Vec<&Operation> = self.operations.iter().filter(inside).collect();
        let is_own = |operation: &&Operation| operation.places.of(self.side.other()).is_empty();
        let other = self.schemas.of(self.side.other()).at(path);
        let name = if self.side == Side::Newer { "add" } else { "drop" };
        let schema = self.schemas.of(self.side).at(path);
        if let (None, true, Some(schema)) = (other, inside.iter().all(is_own), schema)
            && let Ok(written) = one_sided(self.ground, name, path, schema, true)
        {
            let text = format!("write `{written}` in place of the operations inside, or {default}");
            return Advice { text, remedy: Remedy::replacement(lines(&inside), vec![written]) };
        }
        crd()
    }

    /// Proposes a change for a required field of an object that an operation creates.
    fn sibling(&self, field: &Path) -> Advice {
        let default = self.default_of(field);
        let root = self.schemas;
        let inside = |operation: &&Operation| operation.touches(self.side, field);
        let inside: Vec<&Operation> = self.operations.iter().filter(inside).collect();
        let advice = match (inside.as_slice(), root.older.at(field), root.newer.at(field)) {
            ([], Some(older), Some(newer)) => {
                let place = |schema: &Schema| Place { required: true, ..Place::new(field.clone(), schema.clone()) };
                self.apart(&place(older), &place(newer)).apart(None)
            }
            ([operation], ..) => match operation.places.of(self.side).as_slice() {
                [place] if place.path == *field => return self.value_for(operation, place),
                _ => return self.whole(field),
            },
            _ => return self.whole(field),
        };
        Advice { text: format!("{}, or {default}", advice.text), ..advice }
    }

    /// An object that an operation creates, and that requires another field.
    fn made(&self, operation: &Operation, place: &Place) -> Option<Absence> {
        let source = &operation.places.of(self.side.other()).first()?.path;
        let root = self.schemas.of(self.side);
        let mut holder = place.path.parent()?;
        while !holder.is_empty() {
            if self.is_there(&holder, source) {
                break;
            }
            let schema = root.at(&holder)?;
            for name in &schema.required {
                let field = holder.join(name);
                let filled = schema.properties.get(name).is_some_and(|schema| schema.default.is_some());
                if filled || place.path.starts_with(&field) {
                    continue;
                }
                if let Some(why) = self.misses(&field, source) {
                    let version = self.version(self.side);
                    let why = format!(
                        "a value there creates {holder}, in which the {version} version requires {name}, and {why}"
                    );
                    let advice = self.sibling(&field);
                    let (line, path, side) = (operation.line, place.path.clone(), self.side);
                    return Some(Absence { line, path, field, side, always: false, why, advice });
                }
            }
            holder = holder.parent()?;
        }
        None
    }

    /// Returns whether an operation converts the place of the other version as a whole, so that it is a different
    /// object.
    fn is_taken(&self, path: &Path) -> bool {
        let mut taken = self.operations.iter().flat_map(|operation| operation.places.of(self.side.other()));
        taken.any(|place| path.starts_with(&place.path))
    }

    /// Returns whether both versions have the object, and the other version has it whenever it has the source.
    fn is_there(&self, holder: &Path, source: &Path) -> bool {
        let other = self.side.other();
        !self.is_taken(holder)
            && self.schemas.of(other).at(holder).is_some_and(|schema| schema.is("object") && !schema.nullable)
            && self.brings(holder, source)
    }

    /// Returns why a field can be missing when the source is converted.
    fn misses(&self, field: &Path, source: &Path) -> Option<String> {
        let mut why = None;
        for operation in self.operations {
            for (index, place) in operation.places.of(self.side).iter().enumerate() {
                if place.path.starts_with(field) {
                    // A default is filled into an existing object only.
                    let reason = match place.path == *field {
                        true => self.lacks(operation, index, source)?,
                        false => self.makes_none(operation, index, source)?,
                    };
                    why.get_or_insert(reason);
                }
            }
        }
        let other = self.version(self.side.other());
        let unnamed = || !self.brings(field, source);
        why.or_else(|| unnamed().then(|| format!("the field is optional in the {other} version")))
    }
}
