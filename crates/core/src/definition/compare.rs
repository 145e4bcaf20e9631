//! What differs between the schemas of two versions and is explained by no operation.
//!
//! A difference nobody thought of is how a conversion loses data: a field inside a list item that the other version
//! prunes, an enum that is narrower, a bound that an old object breaks. So each must have an operation, or be accepted by
//! name with a reason.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::problems::{Problems, line};
use super::schema::{Schema, properties};
use super::side::{Side, Sides};
use super::{operation::Operation, path::Path};

/// A difference between the two schemas that needs no operation, and why.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Accept")]
pub(super) struct AcceptSpec {
    /// The field, as the message that reported it names it.
    path: String,
    /// What differs: `type`, `enum`, `required`, `nullable`, `minimum` … as the message names it.
    difference: String,
    /// Why that is fine. For the next reader.
    reason: String,
}

/// A comparison under way.
struct Comparison<'a> {
    accepted: &'a [Spanned<AcceptSpec>],
    used: BTreeSet<usize>,
    problems: &'a mut Problems,
    line: u64,
}

/// The operations at one level: whose paths are explained, and where to go on inside.
#[derive(Clone, Copy, Default)]
struct Explained<'a> {
    operations: &'a [Operation],
    /// Older fields that the rollout's status handles.
    handled: &'a [Path],
}

impl Explained<'_> {
    fn at(&self, side: Side, path: &Path) -> bool {
        let mut places = self.operations.iter().flat_map(|operation| operation.places.of(side));
        places.any(|place| place.path == *path) || side == Side::Older && self.handled.contains(path)
    }

    fn inside(&self, path: &Path) -> bool {
        let places = self.operations.iter().flat_map(Operation::all_places);
        let mut paths = places.map(|place| &place.path).chain(self.handled);
        paths.any(|other| other != path && other.starts_with(path))
    }
}

/// Compares the schemas of two versions, and reports what is not explained and what is accepted for nothing. `handled`
/// are older fields that the rollout's status takes care of.
pub(super) fn compare(
    schemas: &Sides<&Schema>,
    operations: &[Operation],
    handled: &[Path],
    accepted: &[Spanned<AcceptSpec>],
    at_line: u64,
    problems: &mut Problems,
) {
    let mut comparison = Comparison { accepted, used: BTreeSet::new(), problems, line: at_line };
    let explained = Explained { operations, handled };
    comparison.level("", schemas.older, schemas.newer, explained);
    let used = comparison.used;
    for (index, accept) in accepted.iter().enumerate() {
        let AcceptSpec { path, difference, reason } = &accept.value;
        if !used.contains(&index) {
            let what = format!("accept: {path} does not differ in {difference:?}: nothing to accept");
            problems.add(line(accept), what);
        } else if reason.trim().is_empty() {
            problems.add(line(accept), format!("accept: {path}: say why, in `reason`"));
        }
    }
}

impl Comparison<'_> {
    fn level(&mut self, prefix: &str, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        let item = Path::default();
        if !(explained.at(Side::Older, &item) || explained.at(Side::Newer, &item)) {
            self.walk(prefix, &item, older, newer, explained);
        }
        for operation in explained.operations {
            self.operation(prefix, operation);
        }
    }

    /// What an operation leaves to be compared.
    fn operation(&mut self, prefix: &str, operation: &Operation) {
        let Some((at, rest)) = operation.unexplained(|path| path.after(prefix)) else {
            return;
        };
        if let Some(problem) = rest.problem {
            self.problems.add(self.line, problem);
        }
        if let Some(Sides { older, newer }) = rest.schemas {
            self.pair(&at, &older, &newer);
        }
        let lists = operation.places.older.first().zip(operation.places.newer.first());
        let items = lists.and_then(|(one, two)| one.schema.each.as_ref().zip(two.schema.each.as_ref()));
        if let Some((inside, (older, newer))) = operation.items().zip(items) {
            let explained = Explained { operations: &inside.level.operations, handled: &[] };
            self.level(&format!("{at}[*]"), older, newer, explained);
        }
    }

    /// Goes through the fields that both, or one of them, have at a place.
    fn walk(&mut self, prefix: &str, path: &Path, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        let nothing = Schema::default();
        for (field, one, two) in properties(older, newer) {
            let inner = path.join(field);
            let one = one.filter(|_| !explained.at(Side::Older, &inner));
            let two = two.filter(|_| !explained.at(Side::Newer, &inner));
            let at = inner.after(prefix);
            match (one, two) {
                (None, None) => {}
                (Some(one), Some(two)) => {
                    let requires = |schema: &Schema| schema.required.contains(field);
                    self.agree(&at, "required", requires(older), requires(newer));
                    self.value(&at, one, two);
                    self.walk(prefix, &inner, one, two, explained);
                    self.contents(&at, one, two);
                }
                (one, two) if explained.inside(&inner) => {
                    let (one, two) = (one.unwrap_or(&nothing), two.unwrap_or(&nothing));
                    self.walk(prefix, &inner, one, two, explained);
                }
                (Some(_), None) => self.only(&at, "older", "drop", "it"),
                (None, Some(_)) => self.only(&at, "newer", "add", "to it"),
            }
        }
    }

    fn only(&mut self, at: &str, version: &str, operation: &str, moved: &str) {
        let advice = advice(operation, at);
        let message = format!(
            "{at}: only the {version} version has it, and no operation says so: add `{advice}`, or `rename`/`move` {moved}"
        );
        self.problems.add(self.line, message);
    }

    fn pair(&mut self, at: &str, older: &Schema, newer: &Schema) {
        self.value(at, older, newer);
        self.walk(at, &Path::default(), older, newer, Explained::default());
        self.contents(at, older, newer);
    }

    fn contents(&mut self, at: &str, older: &Schema, newer: &Schema) {
        match (&older.each, &newer.each) {
            (Some(one), Some(two)) => self.pair(&format!("{at}[*]"), one, two),
            (one, two) => {
                let say = |has: bool| if has { "a schema" } else { "none" };
                self.agree(at, "items", say(one.is_some()), say(two.is_some()));
            }
        }
    }

    /// Compares what is said of a value itself.
    fn value(&mut self, at: &str, older: &Schema, newer: &Schema) {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        self.agree(at, "type", text(&older.kind), text(&newer.kind));
        self.agree(at, "format", text(&older.format), text(&newer.format));
        self.agree(at, "nullable", older.nullable, newer.nullable);
        self.agree(at, "preserve-unknown-fields", older.preserve, newer.preserve);
        let options = |schema: &Schema| {
            let Some(options) = &schema.options else { return "anything".to_owned() };
            let texts: BTreeSet<_> = options.iter().map(ToString::to_string).collect();
            texts.into_iter().collect::<Vec<_>>().join(" ")
        };
        self.agree(at, "enum", options(older), options(newer));
        let keys: BTreeSet<&String> = older.bounds.keys().chain(newer.bounds.keys()).collect();
        for key in keys {
            let bound = |schema: &Schema| schema.bounds.get(key).map_or_else(|| "none".to_owned(), Value::to_string);
            self.agree(at, key, bound(older), bound(newer));
        }
    }

    /// Both versions must say the same of a place, unless it is accepted that they do not.
    fn agree<T: PartialEq + ToString>(&mut self, at: &str, difference: &str, older: T, newer: T) {
        if older == newer {
            return;
        }
        let accepted =
            self.accepted.iter().position(|accept| accept.value.path == at && accept.value.difference == difference);
        match accepted {
            Some(index) => {
                self.used.insert(index);
            }
            None => self.problems.add(
                self.line,
                format!(
                    "{at}: {difference} differs and no operation explains it (older: {}; newer: {}): \
                     add one, or `accept: {{path: {at}, difference: {difference}, reason: …}}`",
                    older.to_string(),
                    newer.to_string()
                ),
            ),
        }
    }
}

/// The operation that would explain a field, as it is written: inside lists and maps it stands under `each`.
fn advice(operation: &str, at: &str) -> String {
    match at.split_once("[*]") {
        Some((list, inside)) => {
            let inside = inside.strip_prefix('.').unwrap_or(inside);
            let inside = if inside.is_empty() { "." } else { inside };
            format!("each: {{in: {list}, operations: [{{{}}}]}}", advice(operation, inside))
        }
        None => format!("{operation}: {at}"),
    }
}
