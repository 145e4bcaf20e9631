//! Walks two schemas side by side, beside the operations between them.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::accept::{AcceptSpec, Accepted};
use super::advice::{advice, apart, is_scalar, retyping};
use super::counts::{Count, counts};
use super::presence::{Absence, absences};
use crate::definition::operation::{Operation, nulls, retyped_by_itself};
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::problems::Problems;
use crate::definition::schema::{Schema, properties};
use crate::definition::side::{Side, Sides};

/// A comparison under way.
struct Comparison<'a> {
    accepted: Accepted<'a>,
    problems: &'a mut Problems,
    /// Where problems are.
    line: u64,
    /// What follows from differences that are accepted.
    implied: Vec<Operation>,
    /// The operation whose places are compared: where it is in the older version, and how a type could change there.
    under: Option<(String, String)>,
}

/// The operations at one level: whose paths are explained, and where to go on inside.
#[derive(Clone, Copy, Default)]
struct Explained<'a> {
    operations: &'a [Operation],
    /// Older fields that the rollout's status handles.
    handled: &'a [Path],
    /// Whether this is the object itself: operations of its own can still be put beside those that are written.
    open: bool,
    /// Whether what is filled in here is told from what somebody wrote.
    told: bool,
}

impl Explained<'_> {
    fn at(&self, side: Side, path: &Path) -> bool {
        let mut places = self.operations.iter().flat_map(|operation| operation.places.of(side));
        places.any(|place| place.path == *path) || side == Side::Older && self.handled.contains(path)
    }

    /// Whether an operation is about something inside of an object of a side.
    fn puts_into(&self, side: Side, path: &Path) -> bool {
        let mut places = self.operations.iter().flat_map(|operation| operation.places.of(side));
        places.any(|place| place.path.strip(path).is_some())
    }

    fn inside(&self, path: &Path) -> bool {
        let places = self.operations.iter().flat_map(Operation::all_places);
        let mut paths = places.map(|place| &place.path).chain(self.handled);
        paths.any(|other| other != path && other.starts_with(path))
    }
}

/// Compares the schemas of two versions, and reports what is not explained, what cannot hold and what is accepted for
/// nothing. `handled` are older fields that the rollout's status takes care of. What comes back are operations that
/// follow from what is accepted.
pub(in crate::definition) fn compare(
    schemas: &Sides<&Schema>,
    operations: &[Operation],
    handled: &[Path],
    accepted: &[Spanned<AcceptSpec>],
    line: u64,
    problems: &mut Problems,
) -> Vec<Operation> {
    let mut comparison =
        Comparison { accepted: Accepted::new(accepted), problems, line, implied: Vec::new(), under: None };
    let explained = Explained { operations, handled, open: true, told: true };
    comparison.level("", schemas.older, schemas.newer, explained);
    let Comparison { accepted, problems, implied, .. } = comparison;
    accepted.finish(problems);
    implied
}

/// A place that both versions have, as the comparison sees it.
struct Pair<'s> {
    at: String,
    older: &'s Schema,
    newer: &'s Schema,
    /// Its path, where an operation can be put that nobody wrote.
    open: Option<Path>,
    /// Which versions require it and fill nothing in.
    demanded: Sides<bool>,
    /// Whether what is filled in for it is told from what somebody wrote.
    told: bool,
    /// Whether a null that one version does not allow is kept.
    keeps_null: bool,
}

/// What becomes of a default that one version alone has, where no operation is.
const FILLED: &str = "what the one version fills in there would come home as if somebody had written it";

impl Comparison<'_> {
    fn level(&mut self, prefix: &str, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        let item = Path::default();
        let nothing = Schema::default();
        let there = |side: Side, schema| if explained.at(side, &item) { None } else { Some(schema) };
        match (there(Side::Older, older), there(Side::Newer, newer)) {
            (None, None) => {}
            (Some(older), Some(newer)) => {
                let at = item.after(prefix);
                self.value(&Pair {
                    at,
                    older,
                    newer,
                    open: None,
                    demanded: Sides::default(),
                    told: false,
                    keeps_null: false,
                });
                self.inside(prefix, &item, older, newer, explained);
            }
            (older, newer) => {
                let (older, newer) = (older.unwrap_or(&nothing), newer.unwrap_or(&nothing));
                self.walk(prefix, &item, older, newer, explained);
            }
        }
        for operation in explained.operations {
            let outside = self.line;
            self.line = if operation.line > 0 { operation.line } else { outside };
            self.operation(prefix, operation);
            self.line = outside;
        }
        for Count { line, path, bound, operation, says: [older, newer] } in
            counts(&Sides { older, newer }, explained.operations)
        {
            let at = path.after(prefix);
            if self.accepted.takes(&at, bound).is_none() {
                let line = if line > 0 { line } else { self.line };
                let message = format!(
                    "{at}: `{operation}` changes how much is in it, and {bound} bounds that (older: {older}; newer: \
                     {newer}): lift the bound, or `accept: {{path: {at}, difference: {bound}, reason: …}}`"
                );
                self.problems.add(line, message);
            }
        }
        for Absence { line, path, message } in
            absences(&Sides { older, newer }, explained.operations, explained.handled)
        {
            let line = if line > 0 { line } else { self.line };
            self.problems.add(line, format!("{}: {message}", path.after(prefix)));
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
            self.under = Some((at.clone(), retyping(operation)));
            self.pair(&at, Sides { older: &older, newer: &newer }, true, rest.keeps_null);
            self.under = None;
        }
        let lists = operation.places.older.first().zip(operation.places.newer.first());
        let items = lists.and_then(|(one, two)| one.schema.each.as_ref().zip(two.schema.each.as_ref()));
        if let Some((inside, (older, newer))) = operation.items().zip(items) {
            let explained = Explained { operations: &inside.level.operations, handled: &[], open: false, told: true };
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
                    let requires = Sides { older, newer }.map(|schema| schema.required.contains(field));
                    let without = Sides { older: one, newer: two }.map(|schema| schema.default.is_none());
                    let demanded =
                        Sides { older: requires.older && without.older, newer: requires.newer && without.newer };
                    let who = if requires.newer { Side::Newer } else { Side::Older };
                    if explained.puts_into(who, &inner) && one.is("object") && two.is("object") {
                        // Whether what is put into it is there wherever it is required, is asked of the operations.
                        self.accepted.takes(&at, "required");
                    } else {
                        self.requirement(&at, &requires, &demanded);
                    }
                    let open = (explained.open && !explained.inside(&inner)).then(|| inner.clone());
                    let keeps_null = open.is_some();
                    self.value(&Pair { at, older: one, newer: two, open, demanded, told: explained.told, keeps_null });
                    self.inside(prefix, &inner, one, two, explained);
                }
                (one, two) if explained.inside(&inner) => {
                    let (one, two) = (one.unwrap_or(&nothing), two.unwrap_or(&nothing));
                    self.walk(prefix, &inner, one, two, explained);
                }
                (Some(_), None) => self.only(&at, "older", "drop: PATH", "it"),
                (None, Some(_)) => self.only(&at, "newer", "add: PATH", "to it"),
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

    /// A value that is the same at two places, with all that is in it. `told` says of the value itself whether an
    /// operation is about it.
    fn pair(&mut self, at: &str, Sides { older, newer }: Sides<&Schema>, told: bool, keeps_null: bool) {
        let demanded = Sides::default();
        self.value(&Pair { at: at.to_owned(), older, newer, open: None, demanded, told, keeps_null });
        self.inside(at, &Path::default(), older, newer, Explained::default());
    }

    /// What is inside of two places: fields, list items, values of a map.
    fn inside(&mut self, prefix: &str, path: &Path, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        let at = path.after(prefix);
        let list_or_map = |schema: &Schema| if schema.is("array") { "a list" } else { "a map" };
        match (&older.each, &newer.each) {
            (Some(one), Some(two)) => {
                if older.kind == newer.kind {
                    self.pair(&format!("{at}[*]"), Sides { older: one, newer: two }, false, false);
                }
            }
            (None, None) => self.walk(prefix, path, older, newer, explained),
            (one, two) => {
                let say = |has: &Option<Box<Schema>>, schema: &Schema| match (has, schema.properties.is_empty()) {
                    (Some(_), _) => list_or_map(schema).to_owned(),
                    (None, true) => "none".to_owned(),
                    (None, false) => "an object".to_owned(),
                };
                let (has, lacks) = if one.is_some() { (older, newer) } else { (newer, older) };
                if has.kind != lacks.kind {
                    return;
                }
                let loses = !lacks.preserve;
                let why = || format!("what the one holds the other prunes: {}", apart(&at));
                self.differs(&at, "items", [say(one, older), say(two, newer)], loses.then(why));
            }
        }
    }

    /// A field that one version requires.
    fn requirement(&mut self, at: &str, requires: &Sides<bool>, demanded: &Sides<bool>) {
        if requires.older == requires.newer {
            return;
        }
        let says = [requires.older.to_string(), requires.newer.to_string()];
        let version = if requires.newer { "newer" } else { "older" };
        let why = || {
            format!(
                "an object without it could be read there and not be written: write `{}`, give it a `default` in the \
                 {version} schema, or require it in both",
                advice("fill: {field: PATH, value: …}", at)
            )
        };
        self.differs(at, "required", says, (demanded.older || demanded.newer).then(why));
    }

    /// Compares what is said of a value itself.
    fn value(&mut self, pair: &Pair<'_>) {
        let Pair { at, older, newer, .. } = pair;
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let joined = |texts: Vec<String>| if texts.is_empty() { "none".to_owned() } else { texts.join("; ") };
        self.kind(pair);
        self.agree(at, "format", text(&older.format), text(&newer.format));
        self.nullable(pair);
        let prunes = || format!("the other version prunes what is unknown: {}", apart(at));
        let [one, two] = [older.preserve, newer.preserve].map(|preserve| preserve.to_string());
        self.differs(at, "preserve-unknown-fields", [one, two], Some(prunes()));
        let options = |schema: &Schema| {
            let Some(options) = &schema.options else { return "anything".to_owned() };
            let texts: BTreeSet<_> = options.iter().map(ToString::to_string).collect();
            if texts.is_empty() { "none".to_owned() } else { texts.into_iter().collect::<Vec<_>>().join(" ") }
        };
        self.agree(at, "enum", options(older), options(newer));
        let keys: BTreeSet<&String> = older.bounds.keys().chain(newer.bounds.keys()).collect();
        for key in keys {
            let bound = |schema: &Schema| schema.bounds.get(key).map_or_else(|| "none".to_owned(), Value::to_string);
            self.agree(at, key, bound(older), bound(newer));
        }
        let default = |schema: &Schema| schema.default.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
        let why = || match &self.under {
            Some((top, _)) => format!("{FILLED}: name the fields of {top} one by one, instead of all at once"),
            None => format!("{FILLED}: say the same in both schemas, or name what is around it with `each`"),
        };
        let refused = (!pair.told).then(why);
        self.differs(at, "default", [default(older), default(newer)], refused);
        let merges = |schema: &Schema| schema.list_type.clone().unwrap_or_else(|| "atomic".to_owned());
        self.agree(at, "x-kubernetes-list-type", merges(older), merges(newer));
        let keys = |schema: &Schema| joined(schema.list_keys.clone());
        self.agree(at, "x-kubernetes-list-map-keys", keys(older), keys(newer));
        let rules = |schema: &Schema, other: &Schema| joined(schema.rules.difference(&other.rules).cloned().collect());
        self.agree(at, "x-kubernetes-validations", rules(older, newer), rules(newer, older));
    }

    /// A difference in type can be accepted where every value of one side is one of the other. What the narrower side
    /// cannot say is kept.
    fn kind(&mut self, pair: &Pair<'_>) {
        let Pair { at, older, newer, open, demanded, .. } = pair;
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let says = [text(&older.kind), text(&newer.kind)];
        let wider = |one: &Schema, two: &Schema| match (one.kind.as_deref(), two.kind.as_deref()) {
            (None, Some(_)) | (Some("number"), Some("integer")) => true,
            (Some("int-or-string"), Some(kind)) => matches!(kind, "integer" | "string"),
            _ => false,
        };
        let narrow =
            if wider(older, newer) { Some(demanded.newer) } else { wider(newer, older).then_some(demanded.older) };
        let why = match (narrow, open, &self.under) {
            (Some(false), Some(_), _) => None,
            (Some(true), ..) => Some(
                "the narrower version requires it, and cannot say every value: give it a `default` there".to_owned(),
            ),
            (_, _, Some((top, how))) if at == top => Some(how.clone()),
            (_, _, Some((top, _))) => Some(format!("name the fields of {top} one by one, instead of all at once")),
            _ if is_scalar(older) && is_scalar(newer) => Some(format!("write `{}`", advice("type: PATH", at))),
            _ if newer.is("array") && !older.is("object") && older.kind.is_some() => {
                Some(format!("write `{}`; or {}", advice("wrap: PATH", at), apart(at)))
            }
            _ => Some(format!("no value of the one is one of the other: {}", apart(at))),
        };
        if self.differs(at, "type", says, why)
            && let Some(path) = open
        {
            self.implied.push(retyped_by_itself(places(path, pair)));
        }
    }

    /// A version that is not nullable can be accepted where null can be kept.
    fn nullable(&mut self, pair: &Pair<'_>) {
        let Pair { at, older, newer, open, demanded, told, keeps_null } = pair;
        let says = [older.nullable.to_string(), newer.nullable.to_string()];
        let (lacks, demanded) = if older.nullable { (newer, demanded.newer) } else { (older, demanded.older) };
        let why = match lacks.kind {
            None => None,
            Some(_) if *told && lacks.default.is_some() => None,
            Some(_) if *keeps_null && !demanded => None,
            _ => Some("a null could be read there and not be written: say the same in both schemas".to_owned()),
        };
        let kind = older.kind == newer.kind;
        if self.differs(at, "nullable", says, why)
            && kind
            && let Some(path) = open
        {
            self.implied.push(nulls(places(path, pair)));
        }
    }

    /// Both versions must say the same of a place, unless it is accepted that they do not.
    fn agree(&mut self, at: &str, difference: &str, older: String, newer: String) {
        self.differs(at, difference, [older, newer], None);
    }

    /// The same, for what cannot be accepted if there is a reason. Whether it differs and is accepted.
    fn differs(&mut self, at: &str, difference: &str, [older, newer]: [String; 2], refused: Option<String>) -> bool {
        if older == newer {
            return false;
        }
        let accepted = self.accepted.takes(at, difference);
        let differs =
            format!("{at}: {difference} differs and no operation explains it (older: {older}; newer: {newer})");
        let (line, message) = match (refused, accepted) {
            (None, Some(_)) => return true,
            (None, None) => {
                let accept = format!("`accept: {{path: {at}, difference: {difference}, reason: …}}`");
                (self.line, format!("{differs}: add one, or {accept}"))
            }
            (Some(reason), line) => {
                (line.unwrap_or(self.line), format!("{differs}, and it cannot be accepted: {reason}"))
            }
        };
        self.problems.add(line, message);
        false
    }
}

/// The two places of an operation that nobody wrote, between two schemas that agree in all but what it is about.
fn places(path: &Path, pair: &Pair<'_>) -> Sides<Place> {
    let place = |schema: &Schema, required| Place { required, ..Place::new(path.clone(), schema.clone()) };
    Sides { older: place(pair.older, pair.demanded.older), newer: place(pair.newer, pair.demanded.newer) }
}
