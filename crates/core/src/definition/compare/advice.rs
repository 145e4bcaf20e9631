//! The operations that messages propose for a difference between two schemas.

use super::least_value::least_value;
use super::location::{Ground, each, in_yaml};
use crate::definition::operation::Operation;
use crate::definition::path::Path;
use crate::definition::remedy::Remedy;
use crate::definition::schema::{Schema, properties};
use crate::definition::side::{Side, Sides};

/// A proposal: the text of the message, and the change as data.
#[derive(Clone, Debug)]
pub(super) struct Advice {
    pub(super) text: String,
    pub(super) remedy: Remedy,
}

impl Advice {
    /// Proposes new operations.
    pub(super) fn write(operations: Vec<String>, effect: &str) -> Self {
        Self { text: format!("write {}{effect}", quoted(&operations)), remedy: Remedy::operations(operations) }
    }

    /// Proposes operations in place of the operation in a line.
    pub(super) fn instead(line: u64, operations: Vec<String>, effect: &str) -> Self {
        let text = format!("write {} in place of line {line}{effect}", quoted(&operations));
        Self { text, remedy: Remedy::instead(line, operations) }
    }

    /// Proposes a change of the CRD, because no operation can express the difference.
    pub(super) fn crd(why: &str, change: &str) -> Self {
        Self { text: format!("no operation can express the difference, because {why}: {change}"), remedy: Remedy::Crd }
    }
}

/// Formats operations for a sentence.
fn quoted(operations: &[String]) -> String {
    operations.iter().map(|operation| format!("`{operation}`")).collect::<Vec<_>>().join(" and ")
}

/// The effect of separate values, for messages.
const APART: &str = ", so that each version keeps its own field, hidden from readers of the other version";

/// A place of both versions that a proposal concerns. The paths start at the object or item of the ground.
#[derive(Clone, Debug)]
pub(super) struct AdvisedPlace {
    pub(super) ground: Ground,
    pub(super) paths: Sides<Path>,
    pub(super) schemas: Sides<Schema>,
    pub(super) requires: Sides<bool>,
}

impl AdvisedPlace {
    /// Proposes `drop` and `add`: separate values for both versions.
    pub(super) fn apart(&self, line: Option<u64>) -> Advice {
        if self.ground.paths(&self.paths.older).older.is_empty() && !self.ground.is_reachable(&self.paths.older) {
            return Advice::crd("it is the object itself", "let both versions have the same there");
        }
        if !self.ground.is_reachable(&self.paths.older) {
            return Advice::crd("the API server itself converts this field", "let both versions have the same there");
        }
        let sides = [("drop", Side::Older), ("add", Side::Newer)];
        let written = sides.map(|(name, side)| {
            one_sided(&self.ground, name, self.paths.of(side), self.schemas.of(side), *self.requires.of(side))
        });
        let [older, newer] = written;
        match (older, newer, line) {
            (Ok(older), Ok(newer), None) => Advice::write(vec![older, newer], APART),
            (Ok(older), Ok(newer), Some(line)) => Advice::instead(line, vec![older, newer], APART),
            (Err(why), ..) => Advice::crd(&why, "add a `default` to the older schema"),
            (_, Err(why), _) => Advice::crd(&why, "add a `default` to the newer schema"),
        }
    }

    /// Proposes to drop the value for the newer version, in place of the operation in a line.
    fn dropped(&self, line: u64) -> Advice {
        let Sides { older, .. } = &self.paths;
        match one_sided(&self.ground, "drop", older, &self.schemas.older, self.requires.older) {
            Ok(drop) => {
                Advice::instead(line, vec![drop], ", so that readers of the newer version do not see the field")
            }
            Err(why) => Advice::crd(&why, "add a `default` to the older schema"),
        }
    }

    /// Proposes `fill`: a value if one version requires it.
    pub(super) fn fill(&self) -> Result<String, String> {
        let side = if self.requires.newer { Side::Newer } else { Side::Older };
        one_sided(&self.ground, "fill", self.paths.of(side), self.schemas.of(side), true)
    }

    /// An operation of this name on the path of both versions.
    pub(super) fn operation(&self, name: &str) -> String {
        let Sides { older, newer } = &self.paths;
        let [older, newer] = [older, newer].map(|path| in_yaml(&path.to_string()));
        self.ground.write(&match older == newer {
            true => format!("{name}: {older}"),
            false => format!("{name}: {{from: {older}, to: {newer}}}"),
        })
    }

    /// Proposes one operation for each field, in place of one operation for all of them.
    fn one_by_one(&self, line: u64) -> Advice {
        let Sides { older, newer } = &self.schemas;
        let operations = match (&older.each, &newer.each) {
            (Some(_), Some(_)) if older.kind == newer.kind && lost_key(older, newer).is_none() => {
                vec![self.ground.write(&each(&self.paths, ""))]
            }
            (None, None) if older.is("object") && newer.is("object") => match self.fields() {
                Ok(operations) => operations,
                Err(why) => return Advice::crd(&why, "add a `default`"),
            },
            _ => return self.apart(Some(line)),
        };
        if self.paths.older == self.paths.newer {
            let change = "add a `default` to the schema with the requirement";
            return Advice::crd("only complete objects are filled in", change);
        }
        let list: String = operations.iter().map(|operation| format!("\n  - {operation}")).collect();
        let at = self.ground.name(&self.paths.older);
        let text = format!(
            "name the fields of {at} individually, instead of all together; in place of line {line} write{list}"
        );
        Advice { text, remedy: Remedy::instead(line, operations) }
    }

    fn fields(&self) -> Result<Vec<String>, String> {
        let Sides { older, newer } = &self.schemas;
        let mut operations = Vec::new();
        for (name, one, two) in properties(older, newer) {
            let paths = Sides { older: self.paths.older.join(name), newer: self.paths.newer.join(name) };
            let [from, to] = [&paths.older, &paths.newer].map(|path| in_yaml(&path.to_string()));
            let requires = Sides { older: older.required.contains(name), newer: newer.required.contains(name) };
            operations.push(match (one, two) {
                (Some(one), None) => one_sided(&self.ground, "drop", &paths.older, one, requires.older)?,
                (None, Some(two)) => one_sided(&self.ground, "add", &paths.newer, two, requires.newer)?,
                _ => self.ground.write(&format!("move: {{from: {from}, to: {to}}}")),
            });
        }
        Ok(operations)
    }
}

/// An operation on a field of one version, with a value if that version requires the field and has no default. Returns
/// the reason if there is none.
pub(super) fn one_sided(
    ground: &Ground,
    name: &str,
    path: &Path,
    schema: &Schema,
    is_required: bool,
) -> Result<String, String> {
    let field = in_yaml(&path.to_string());
    if is_required && schema.default.is_none() {
        let value = least_value(schema)?;
        return Ok(ground.write(&format!("{name}: {{field: {field}, value: {value}}}")));
    }
    Ok(ground.write(&format!("{name}: {field}")))
}

/// An operation whose two places are compared.
#[derive(Clone, Debug)]
pub(super) struct ComparedOperation {
    /// The place in the older version, as messages name it.
    pub(super) at: String,
    name: &'static str,
    line: u64,
    is_same: bool,
    place: Option<AdvisedPlace>,
}

impl ComparedOperation {
    pub(super) fn new(ground: &Ground, at: &str, operation: &Operation, line: u64) -> Self {
        let Operation { name, places, .. } = operation;
        let place = places.older.first().zip(places.newer.first()).map(|(older, newer)| AdvisedPlace {
            ground: ground.clone(),
            paths: Sides { older: older.path.clone(), newer: newer.path.clone() },
            schemas: Sides { older: older.schema.clone(), newer: newer.schema.clone() },
            requires: Sides { older: older.required, newer: newer.required },
        });
        Self { at: at.to_owned(), name, line, is_same: operation.is_same(), place }
    }

    /// Proposes a change if the operation cannot apply to its whole place.
    pub(super) fn in_place(&self) -> Advice {
        let Some(place) = &self.place else {
            let why = format!("`{}` supports only one place", self.name);
            return Advice::crd(&why, "let both versions have the same there");
        };
        match self.name {
            // The map stays unchanged.
            "moveIntoMap" => place.dropped(self.line),
            _ if self.is_same => place.one_by_one(self.line),
            _ => place.apart(Some(self.line)),
        }
    }

    /// Proposes a change if the operation cannot convert the type of its value.
    pub(super) fn retyping(&self) -> Advice {
        let Some(place) = &self.place else { return self.in_place() };
        let Sides { older, newer } = &place.schemas;
        if self.is_same && older.is_scalar() && newer.is_scalar() && place.requires.older == place.requires.newer {
            let operation = place.operation("type");
            let text = format!("write `{operation}` for `{}`", self.name);
            return Advice { text, remedy: Remedy::instead(self.line, vec![operation]) };
        }
        let Advice { text, remedy } = self.in_place();
        Advice { text: format!("`{}` changes no types: {text}", self.name), remedy }
    }
}

/// Returns whether `fill` can apply to two places as a whole: no nested field needs its own operation.
pub(super) fn fits_as_whole(older: &Schema, newer: &Schema) -> bool {
    let alike = older.kind == newer.kind && older.nullable == newer.nullable && older.preserve == newer.preserve;
    let inside = match (&older.each, &newer.each) {
        (Some(one), Some(two)) => one.default == two.default && fits_as_whole(one, two),
        (None, None) => true,
        _ => false,
    };
    alike
        && inside
        && older.required == newer.required
        && properties(older, newer).all(|(_, one, two)| match (one, two) {
            (Some(one), Some(two)) => one.default == two.default && fits_as_whole(one, two),
            _ => false,
        })
}

/// A key of list items that has another type in the other version, or is absent there. An operation under `each` must
/// not convert it.
pub(super) fn lost_key(older: &Schema, newer: &Schema) -> Option<Path> {
    let (one, two) = older.each.as_ref().zip(newer.each.as_ref())?;
    if !older.is("array") || !newer.is("array") {
        return None;
    }
    let item = Path::default();
    let is_set = [older, newer].iter().any(|list| list.list_type.as_deref() == Some("set"));
    let names = |list: &Schema, item: &Schema| match list.list_keys.is_empty() {
        true if item.required.contains("name") => vec!["name".to_owned()],
        _ => list.list_keys.clone(),
    };
    let keys: Vec<Path> = match is_set {
        true => vec![item],
        false => [names(older, one), names(newer, two)].concat().iter().map(|name| item.join(name)).collect(),
    };
    let is_lost = |key: &Path| match (one.at(key), two.at(key)) {
        (Some(one), Some(two)) if is_set => !fits_as_whole(one, two),
        (Some(one), Some(two)) => one.kind != two.kind || one.nullable != two.nullable,
        _ => !older.list_keys.is_empty() || one.required.contains("name") && two.required.contains("name"),
    };
    keys.into_iter().find(is_lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advised_operations_are_yaml() {
        let path = |text: &str| Path::parse(text).unwrap();
        let drop = |lists: &[&str], field: &str| {
            let ground = lists.iter().fold(Ground::default(), |ground, list| ground.item(&path(list)));
            one_sided(&ground, "drop", &path(field), &Schema::default(), false).unwrap()
        };
        assert_eq!(drop(&[], "spec.a"), "drop: spec.a");
        assert_eq!(drop(&["spec.a"], "."), "each: {in: spec.a, operations: [{drop: .}]}");
        assert_eq!(
            drop(&["spec.a", "."], "b"),
            "each: {in: spec.a, operations: [{each: {in: ., operations: [{drop: b}]}}]}"
        );
        assert_eq!(
            drop(&["spec[\"p.q\"]"], "[\"r.s\"]"),
            "each: {in: 'spec[\"p.q\"]', operations: [{drop: '[\"r.s\"]'}]}"
        );
        assert_eq!(drop(&["spec.a"], "y"), "each: {in: spec.a, operations: [{drop: 'y'}]}");
        assert_eq!(drop(&[], "spec[\"[*]\"]"), "drop: 'spec[\"[*]\"]'");
        assert_eq!(drop(&[], "spec[\"it's\"]"), "drop: 'spec[\"it''s\"]'");
    }

    #[test]
    fn moved_ground_names_both_paths() {
        let path = |text: &str| Path::parse(text).unwrap();
        let ground = Ground::default().moved(&Sides { older: &path("spec.gate"), newer: &path("spec.door") }, false);
        assert_eq!(ground.name(&path("b")), "spec.gate.b");
        assert_eq!(ground.paths(&path("b")).newer, path("spec.door.b"));
        let items = ground.item(&path("l"));
        assert_eq!(items.name(&path("c")), "spec.gate.l[*].c");
        let each = "each: {from: spec.gate.l, to: spec.door.l, operations: [{drop: c}]}";
        assert_eq!(items.write("drop: c"), each);
    }
}
