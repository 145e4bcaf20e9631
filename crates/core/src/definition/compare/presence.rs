//! Fields that a version requires and that need not be there after a conversion. An object without one can be read and
//! not be written: whoever changes its image is told that some other field is missing.
//!
//! A field is there if the object that holds it brings it along: in the other version it, and all on the way to it from
//! what the two have in common, is required or filled in.

use crate::definition::operation::Operation;
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::schema::Schema;
use crate::definition::side::{Side, Sides};

/// A field that is missing where it is required.
pub(super) struct Absence {
    /// The line of the operation, 0 if nobody wrote it.
    pub(super) line: u64,
    /// The field.
    pub(super) path: Path,
    /// Why it can be missing, and what to do.
    pub(super) message: String,
}

/// All that can be missing between two schemas, with these operations.
pub(super) fn absences(schemas: &Sides<&Schema>, operations: &[Operation], handled: &[Path]) -> Vec<Absence> {
    let mut found = Vec::new();
    for side in [Side::Older, Side::Newer] {
        let check = AbsenceCheck { schemas, operations, handled, side };
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

/// What is looked for at one side.
struct AbsenceCheck<'a> {
    schemas: &'a Sides<&'a Schema>,
    operations: &'a [Operation],
    handled: &'a [Path],
    side: Side,
}

impl AbsenceCheck<'_> {
    fn version(&self, side: Side) -> &'static str {
        match side {
            Side::Newer => "newer",
            Side::Older => "older",
        }
    }

    /// Whether the other version has a field wherever it has what is at another path.
    fn brings(&self, path: &Path, beside: &Path) -> bool {
        self.schemas.of(self.side.other()).brings(path, path.common(beside))
    }

    /// Why an operation need not make a value at one of its places where something at another path is converted.
    fn lacks(&self, operation: &Operation, index: usize, beside: &Path) -> Option<String> {
        let filled = operation.places.of(self.side).get(index).is_some_and(|place| place.fill.is_some());
        (!filled).then(|| self.makes_none(operation, index, beside))?
    }

    /// The same, whatever is filled in.
    fn makes_none(&self, operation: &Operation, index: usize, beside: &Path) -> Option<String> {
        let other = self.side.other();
        let Some(source) = operation.places.of(other).first() else {
            return Some(format!("the {} version has nothing to say about it", self.version(other)));
        };
        if let Some(why) = operation.may_lack(self.side, index) {
            return Some(why);
        }
        let nullable = operation.places.of(self.side).get(index).is_none_or(|place| place.schema.nullable);
        if source.schema.nullable && !nullable {
            return Some(format!(
                "{} of the {} version may be null, which is nothing there",
                source.path,
                self.version(other)
            ));
        }
        let sure = self.brings(&source.path, beside);
        (!sure).then(|| format!("{} of the {} version need not be there", source.path, self.version(other)))
    }

    /// A place that its own holder requires.
    fn required(&self, operation: &Operation, index: usize, place: &Place) -> Option<Absence> {
        let handled = self.side == Side::Older && self.handled.contains(&place.path);
        if !place.required || place.fill.is_some() || handled {
            return None;
        }
        let why = self.lacks(operation, index, &place.path.parent()?)?;
        let version = self.version(self.side);
        let value = match operation.name {
            "add" | "drop" => {
                format!("say what to put there, `{}: {{field: {}, value: …}}`,", operation.name, place.path)
            }
            _ => "require it in neither version or in both,".to_owned(),
        };
        let message = format!(
            "the {version} version requires it, and {why}: {value} or give it a `default` in the {version} schema"
        );
        Some(Absence { line: operation.line, path: place.path.clone(), message })
    }

    /// An object on the way to a place that only this version has, and that it requires.
    fn holders(&self, place: &Place) -> Option<Absence> {
        let (root, other) = (self.schemas.of(self.side), self.schemas.of(self.side.other()));
        let mut path = place.path.parent()?;
        while let Some(holder) = path.parent() {
            let own = root.requires(&path) && root.at(&path).is_some_and(|schema| schema.default.is_none());
            let is_both = other.at(&path).is_some_and(|schema| schema.is("object")) && !self.is_taken(&path);
            // The other one may have it as well, and require it.
            if own
                && !(is_both && self.brings(&path, &holder))
                && let Some(why) = self.misses(&path, &holder)
            {
                let version = self.version(self.side);
                let message = format!(
                    "the {version} version requires it, and {why}: give it a `default` in the {version} schema"
                );
                return Some(Absence { line: 0, path, message });
            }
            path = holder;
        }
        None
    }

    /// An object that an operation makes, and that requires something else.
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
                    let message = format!(
                        "what is put there makes {holder}, where the {version} version requires {name}, and {why}: \
                         give {field} a `default` in the {version} schema"
                    );
                    return Some(Absence { line: operation.line, path: place.path.clone(), message });
                }
            }
            holder = holder.parent()?;
        }
        None
    }

    /// Whether what the other version has at a place is an operation's as a whole: it is not the same object.
    fn is_taken(&self, path: &Path) -> bool {
        let mut taken = self.operations.iter().flat_map(|operation| operation.places.of(self.side.other()));
        taken.any(|place| path.starts_with(&place.path))
    }

    /// Whether both versions have the object, and the other one has it wherever it has the source.
    fn is_there(&self, holder: &Path, source: &Path) -> bool {
        let other = self.side.other();
        !self.is_taken(holder)
            && self.schemas.of(other).at(holder).is_some_and(|schema| schema.is("object") && !schema.nullable)
            && self.brings(holder, source)
    }

    /// Why a field can be missing where what is at the source is converted.
    fn misses(&self, field: &Path, source: &Path) -> Option<String> {
        let mut why = None;
        for operation in self.operations {
            for (index, place) in operation.places.of(self.side).iter().enumerate() {
                if place.path.starts_with(field) {
                    // What is filled in is filled into an object that is there: it makes none.
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
        why.or_else(|| unnamed().then(|| format!("the {other} version need not have it")))
    }
}
