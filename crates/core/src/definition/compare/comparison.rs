//! Compares two schemas recursively, with the operations between them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::absences::{AcceptedAbsences, REQUIRED};
use super::accept::{AcceptSpec, Accepted, accept};
use super::advice::{Advice, AdvisedPlace, ComparedOperation, fits_as_whole, lost_key, one_sided};
use super::counts::{Count, counts};
use super::location::Ground;
use super::presence::{Absence, absences};
use crate::definition::operation::{Operation, nulls, retyped_by_itself};
use crate::definition::path::Path;
use crate::definition::place::Place;
use crate::definition::problems::Problems;
use crate::definition::remedy::{Remedy, StepEdit};
use crate::definition::schema::{Schema, properties};
use crate::definition::side::{Side, Sides};
use crate::definition::yaml::Spanned;

/// The schemas of the two versions.
#[derive(Clone, Copy)]
pub(in crate::definition) struct ComparedSchemas<'a> {
    pub(in crate::definition) schemas: Sides<&'a Schema>,
    /// The names of the versions.
    pub(in crate::definition) names: Sides<&'a str>,
    /// The required fields that objects may lack. `None` if each converted object is written.
    pub(in crate::definition) absences: Option<Sides<&'a AcceptedAbsences>>,
}

/// The state of a comparison.
struct Comparison<'a> {
    accepted: Accepted<'a>,
    /// Whether objects may lack a required field.
    may_lack: bool,
    problems: &'a mut Problems,
    /// The line of reported problems.
    line: u64,
    /// The operations implied by accepted differences.
    implied: Vec<Operation>,
    /// The operation whose places are compared.
    under: Option<ComparedOperation>,
    /// Whether a message already reported that the operation cannot apply to its whole places.
    is_refused: bool,
}

/// The operations at one level: their paths are explained, and mark where the comparison continues below.
#[derive(Clone, Copy, Default)]
struct Explained<'a> {
    operations: &'a [Operation],
    /// Older fields that the rollout status handles.
    handled: &'a [Path],
    /// Whether this is the object itself, where operations can be added to those of the file.
    open: bool,
    /// Whether filled-in defaults are distinguished from values that a client wrote.
    distinguished: bool,
}

impl Explained<'_> {
    fn at(&self, side: Side, path: &Path) -> bool {
        let mut places = self.operations.iter().flat_map(|operation| operation.places.of(side));
        places.any(|place| place.path == *path) || side == Side::Older && self.handled.contains(path)
    }

    /// Returns whether an operation concerns a field inside an object of a side.
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

/// Compares the schemas of two versions. Reports unexplained differences, differences that break a conversion, and
/// unused `accept` entries. `handled` are older fields that the rollout status handles. Returns the operations implied
/// by accepted differences.
pub(in crate::definition) fn compare(
    compared: &ComparedSchemas<'_>,
    operations: &[Operation],
    handled: &[Path],
    accepted: &[Spanned<AcceptSpec>],
    line: u64,
    problems: &mut Problems,
) -> Vec<Operation> {
    let ComparedSchemas { schemas, names, absences } = compared;
    let mut accepted = Accepted::new(accepted);
    for absence in absences.iter().flat_map(|Sides { older, newer }| older.iter().chain(*newer)) {
        accepted.takes(absence, REQUIRED);
    }
    let may_lack = absences.is_some();
    let implied = Vec::new();
    let mut comparison = Comparison { accepted, may_lack, problems, line, implied, under: None, is_refused: false };
    let explained = Explained { operations, handled, open: true, distinguished: true };
    comparison.level(&Ground::default(), schemas.older, schemas.newer, explained);
    let Comparison { accepted, problems, implied, .. } = comparison;
    accepted.finish(names, problems);
    implied
}

/// A place that both versions have.
struct Pair<'s> {
    ground: &'s Ground,
    path: &'s Path,
    /// The name of the place in messages.
    at: String,
    older: &'s Schema,
    newer: &'s Schema,
    /// The path of the place, if an operation can be added for it.
    open: Option<Path>,
    /// The versions that require it.
    requires: Sides<bool>,
    /// The versions that require it and have no default.
    demanded: Sides<bool>,
    /// Whether its filled-in default is distinguished from a value that a client wrote.
    distinguished: bool,
    /// Whether a null that one version does not allow is kept.
    keeps_null: bool,
    /// Whether an operation converts its items one by one. Such a list is not kept as a whole.
    has_items: bool,
}

/// The effect of an operation on a compared value. The default is no effect.
#[derive(Clone, Copy, Default)]
struct ByOperation {
    /// Distinguishes filled-in defaults from values that a client wrote.
    distinguished: bool,
    /// Keeps a null that one version does not allow.
    keeps_null: bool,
    /// Converts the items of a list or map one by one.
    has_items: bool,
    /// The versions that require its place.
    requires: Sides<bool>,
}

impl Pair<'_> {
    fn advised(&self) -> AdvisedPlace {
        AdvisedPlace {
            ground: self.ground.clone(),
            paths: self.ground.paths(self.path),
            schemas: Sides { older: self.older.clone(), newer: self.newer.clone() },
            requires: self.requires,
        }
    }

    /// Proposes the operation `fill` for the place.
    fn fill(&self, has_operations: bool) -> Advice {
        let version = if self.requires.newer { "newer" } else { "older" };
        let default = format!("add a `default` to the {version} schema");
        if has_operations || !fits_as_whole(self.older, self.newer) {
            return Advice::crd("`fill` covers the whole field, and its inner fields need other operations", &default);
        }
        match self.advised().fill() {
            Ok(fill) => {
                let effect = ", so that readers see this value for unset fields";
                let Advice { text, remedy } = Advice::write(vec![fill], effect);
                Advice { text: format!("{text}, or {default}"), remedy }
            }
            Err(why) => Advice::crd(&why, &default),
        }
    }
}

/// A difference that cannot be accepted.
struct RefusedDifference {
    difference: &'static str,
    version_values: [String; 2],
    why: &'static str,
    /// The proposal if this is the only refused difference. `None` proposes separate values for both versions.
    advice: Option<Advice>,
}

/// Why a default of one version alone needs an operation.
const FILLED: &str = "a default of one version would return as a user's value";

/// The effect of an accepted absence.
const LACKING: &str = "if stored objects have the field (an object without it stays readable, and `plan` names it)";

const NULL: &str = "a null would be readable but not writable in that version";

impl Comparison<'_> {
    fn level(&mut self, ground: &Ground, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        let item = Path::default();
        let nothing = Schema::default();
        let there = |side: Side, schema| if explained.at(side, &item) { None } else { Some(schema) };
        match (there(Side::Older, older), there(Side::Newer, newer)) {
            (None, None) => {}
            (Some(older), Some(newer)) => {
                let is_apart = self.pair_value(ground, Sides { older, newer }, ByOperation::default());
                if !is_apart {
                    self.inside(ground, &item, older, newer, explained);
                }
            }
            (older, newer) => {
                let (older, newer) = (older.unwrap_or(&nothing), newer.unwrap_or(&nothing));
                self.walk(ground, &item, older, newer, explained);
            }
        }
        for operation in explained.operations {
            let outside = self.line;
            self.line = if operation.line > 0 { operation.line } else { outside };
            self.operation(ground, operation);
            self.line = outside;
        }
        let schemas = Sides { older, newer };
        for Count { line, path, bound, operation, version_values: [older, newer] } in
            counts(&schemas, explained.operations)
        {
            let at = ground.name(&path);
            if self.accepted.takes(&at, bound).is_none() {
                let line = if line > 0 { line } else { self.line };
                let accept = accept(&at, bound);
                let message = format!(
                    "{at}: `{operation}` changes the size of the field, but the schema has the bound {bound} \
                         (older: {older}; newer: {newer}): remove the bound, or `accept: {accept}`"
                );
                self.problems.advise(line, message, Remedy::accept(accept));
            }
        }
        for absence in absences(&schemas, explained.operations, explained.handled, ground) {
            self.absence(ground, absence);
        }
    }

    /// Reports a required field that may be missing.
    fn absence(&mut self, ground: &Ground, absence: Absence) {
        let Absence { line, path, field, side, always, why, advice } = absence;
        let line = if line > 0 { line } else { self.line };
        let start = format!("{}: {why}: ", ground.name(&path));
        let accept = accept(&ground.place_in(side, &field), REQUIRED);
        match (self.may_lack, always) {
            (false, _) => self.problems.advise(line, format!("{start}{}", advice.text), advice.remedy),
            (true, true) => {
                let message = format!("{start}{}, or `accept: {accept}` {LACKING}", advice.text);
                self.problems.advise(line, message, advice.remedy);
            }
            (true, false) => {
                let message = format!("{start}`accept: {accept}` {LACKING}, or {}", advice.text);
                self.problems.advise(line, message, Remedy::accept(accept));
            }
        }
    }

    /// Compares the parts of an operation's places that the operation does not convert.
    fn operation(&mut self, ground: &Ground, operation: &Operation) {
        let Some((at, rest)) = operation.unexplained(|path| ground.name(path)) else {
            return;
        };
        let compared = ComparedOperation::new(ground, &at, operation, self.line);
        if let Some(problem) = rest.problem {
            let Advice { text, remedy } = compared.in_place();
            self.problems.advise(self.line, format!("{problem}; or {text}"), remedy);
        }
        let Some((older, newer)) = operation.places.older.first().zip(operation.places.newer.first()) else { return };
        let places = Sides { older: &older.path, newer: &newer.path };
        let moved = ground.moved(&places, rest.is_newer_item);
        let required = Sides { older: older.required, newer: newer.required };
        if let Some(Sides { older, newer }) = rest.schemas {
            // An edit cannot remove an operation that loading adds.
            self.under = Some(compared).filter(|_| operation.own_line() > 0);
            self.is_refused = false;
            let requires = match operation.line {
                // For an operation that loading adds, no other check covers required fields.
                0 => required,
                _ => Sides::default(),
            };
            let by = ByOperation {
                distinguished: true,
                keeps_null: rest.keeps_null,
                has_items: operation.items().is_some(),
                requires,
            };
            self.pair(&moved, Sides { older: &older, newer: &newer }, by);
            self.under = None;
        }
        let items = older.schema.each.as_ref().zip(newer.schema.each.as_ref());
        if let Some((inside, (older, newer))) = operation.items().zip(items) {
            let explained =
                Explained { operations: &inside.level.operations, handled: &[], open: false, distinguished: true };
            self.level(&moved.item(&Path::default()), older, newer, explained);
        }
    }

    /// Compares the fields of a place that one or both versions have.
    fn walk(&mut self, ground: &Ground, path: &Path, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        let nothing = Schema::default();
        // Only objects have fields, even if the schema lists properties.
        let is_holder = |schema: &Schema| schema.is("object") || schema.kind.is_none();
        for (field, one, two) in properties(older, newer) {
            let inner = path.join(field);
            let one = one.filter(|_| is_holder(older) && !explained.at(Side::Older, &inner));
            let two = two.filter(|_| is_holder(newer) && !explained.at(Side::Newer, &inner));
            let requires = Sides { older, newer }.map(|schema| schema.required.contains(field));
            match (one, two) {
                (None, None) => {}
                (Some(one), Some(two)) => {
                    self.field(ground, &inner, &Sides { older: one, newer: two }, requires, explained)
                }
                (one, two) if explained.inside(&inner) => {
                    let (one, two) = (one.unwrap_or(&nothing), two.unwrap_or(&nothing));
                    self.walk(ground, &inner, one, two, explained);
                }
                (Some(one), None) => self.only(ground, &inner, Side::Older, one, requires.older),
                (None, Some(two)) => self.only(ground, &inner, Side::Newer, two, requires.newer),
            }
        }
    }

    /// Compares a field of both versions.
    fn field(
        &mut self,
        ground: &Ground,
        path: &Path,
        schemas: &Sides<&Schema>,
        requires: Sides<bool>,
        explained: Explained<'_>,
    ) {
        let Sides { older, newer } = *schemas;
        let demanded = Sides {
            older: requires.older && older.default.is_none(),
            newer: requires.newer && newer.default.is_none(),
        };
        let has_operations = explained.inside(path);
        let open = (explained.open && !has_operations).then(|| path.clone());
        let at = ground.name(path);
        let keeps_null = open.is_some();
        let pair = Pair {
            ground,
            path,
            at,
            older,
            newer,
            open,
            requires,
            demanded,
            distinguished: explained.distinguished,
            keeps_null,
            has_items: false,
        };
        let side = if requires.newer { Side::Newer } else { Side::Older };
        let refusal = if explained.puts_into(side, path) && older.is("object") && newer.is("object") {
            // The checks of the operations report whether the object is present if it is required.
            self.accepted.takes(&pair.at, REQUIRED);
            None
        } else {
            self.requirement(&pair, has_operations)
        };
        if !self.value(&pair, refusal) {
            self.inside(ground, path, older, newer, explained);
        }
    }

    /// Compares a field of one version.
    fn only(&mut self, ground: &Ground, path: &Path, side: Side, schema: &Schema, is_required: bool) {
        if self.under.is_some() && std::mem::replace(&mut self.is_refused, true) {
            return;
        }
        let (version, other, name, moved) = match side {
            Side::Older => ("older", "newer", "drop", "it"),
            Side::Newer => ("newer", "older", "add", "to it"),
        };
        let at = ground.name_in(side, path);
        let only = format!("{at}: only the {version} version has the field");
        let advice = match &self.under {
            Some(under) => under.in_place(),
            None => match one_sided(ground, name, ground.paths(path).of(side), schema, is_required) {
                Ok(operation) => {
                    let hidden = format!("so that readers of the {other} version do not see the field");
                    let text = format!("add `{operation}`, {hidden}, or `rename`/`move` {moved}");
                    Advice { text, remedy: Remedy::operations(vec![operation]) }
                }
                Err(why) => self.only_by_some(ground, path, side, &why),
            },
        };
        let message = format!("{only}, and no operation explains the difference: {}", advice.text);
        self.problems.advise(self.line, message, advice.remedy);
    }

    /// Proposes an operation on a required field of one version for which the definition cannot have a value.
    fn only_by_some(&self, ground: &Ground, path: &Path, side: Side, why: &str) -> Advice {
        let (version, name, moved) = match side {
            Side::Older => ("older", "drop", "it"),
            Side::Newer => ("newer", "add", "to it"),
        };
        let default = format!("add a `default` to the {version} schema, or `rename`/`move` {moved}");
        match one_sided(ground, name, ground.paths(path).of(side), &Schema::default(), false) {
            Ok(operation) if self.may_lack => {
                let accept = accept(&ground.place_in(side, path), REQUIRED);
                let text = format!("add `{operation}` and `accept: {accept}` {LACKING}, because {why}, or {default}");
                let edit = StepEdit { operations: vec![operation], accept: vec![accept], ..StepEdit::default() };
                Advice { text, remedy: Remedy::Edit(edit) }
            }
            _ => Advice::crd(why, &default),
        }
    }

    /// Compares a value at two places, including its contents.
    fn pair(&mut self, ground: &Ground, schemas: Sides<&Schema>, by: ByOperation) {
        let item = Path::default();
        if !self.pair_value(ground, schemas, by) {
            self.inside(ground, &item, schemas.older, schemas.newer, Explained::default());
        }
    }

    /// Compares the value itself. Returns whether each version keeps the whole value.
    fn pair_value(&mut self, ground: &Ground, schemas: Sides<&Schema>, by: ByOperation) -> bool {
        let (path, Sides { older, newer }) = (&Path::default(), schemas);
        let ByOperation { distinguished, keeps_null, has_items, requires } = by;
        let demanded = Sides {
            older: requires.older && older.default.is_none(),
            newer: requires.newer && newer.default.is_none(),
        };
        let (at, open) = (ground.name(path), None);
        let pair =
            Pair { ground, path, at, older, newer, open, requires, demanded, distinguished, keeps_null, has_items };
        self.value(&pair, None)
    }

    /// Compares the contents of two places: fields, list items, map values.
    fn inside(&mut self, ground: &Ground, path: &Path, older: &Schema, newer: &Schema, explained: Explained<'_>) {
        match (&older.each, &newer.each) {
            (Some(one), Some(two)) if older.kind == newer.kind => {
                self.pair(&ground.item(path), Sides { older: one, newer: two }, ByOperation::default());
            }
            (None, None) => self.walk(ground, path, older, newer, explained),
            _ => {}
        }
    }

    /// Compares whether the versions require a field.
    fn requirement(&mut self, pair: &Pair<'_>, has_operations: bool) -> Option<RefusedDifference> {
        let Pair { at, requires, demanded, .. } = pair;
        if requires.older == requires.newer {
            return None;
        }
        let version_values = [requires.older.to_string(), requires.newer.to_string()];
        if !demanded.older && !demanded.newer {
            self.differs(at, REQUIRED, &version_values);
            return None;
        }
        let advice = pair.fill(has_operations);
        if !self.may_lack {
            let why = "an object without the field would be readable but not writable in that version";
            return Some(RefusedDifference { difference: REQUIRED, version_values, why, advice: Some(advice) });
        }
        let side = if requires.newer { Side::Newer } else { Side::Older };
        let accept = accept(&pair.ground.place_in(side, pair.path), REQUIRED);
        let ([older, newer], text) = (&version_values, &advice.text);
        let message = format!(
            "{at}: {REQUIRED} differs without an operation (older: {older}; newer: {newer}): `accept: {accept}` {LACKING}, \
                 or {text}"
        );
        self.problems.advise(self.line, message, Remedy::accept(accept));
        None
    }

    /// Compares the constraints of the value itself. Returns whether each version must keep the whole value.
    fn value(&mut self, pair: &Pair<'_>, refusal: Option<RefusedDifference>) -> bool {
        let Pair { at, older, newer, .. } = pair;
        // A refused difference leaves no place for another operation.
        let open = pair.open.as_ref().filter(|_| refusal.is_none());
        let mut refusals: Vec<RefusedDifference> = refusal.into_iter().collect();
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let joined = |texts: Vec<String>| if texts.is_empty() { "none".to_owned() } else { texts.join("; ") };
        refusals.extend(self.kind(pair, open));
        refusals.extend(self.nullable(pair, open));
        for refusal in pruned(pair) {
            let lacks = if older.each.is_some() { newer } else { older };
            match refusal.difference == "items" && lacks.preserve {
                true => _ = self.differs(at, "items", &refusal.version_values),
                false => refusals.push(refusal),
            }
        }
        if self.under.is_some() {
            refusals.extend(default_of(pair));
        }
        let is_apart = self.refuse(pair, refusals);
        self.agree(at, "format", text(&older.format), text(&newer.format));
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
        if pair.distinguished {
            let [older, newer] = defaults(pair);
            self.agree(at, "default", older, newer);
        } else if self.under.is_none()
            && let Some(refusal) = default_of(pair)
        {
            self.refuse(pair, vec![refusal]);
        }
        let merges = |schema: &Schema| schema.list_type.clone().unwrap_or_else(|| "atomic".to_owned());
        self.agree(at, "x-kubernetes-list-type", merges(older), merges(newer));
        let keys = |schema: &Schema| joined(schema.list_keys.clone());
        self.agree(at, "x-kubernetes-list-map-keys", keys(older), keys(newer));
        let rules = |schema: &Schema, other: &Schema| joined(schema.rules.difference(&other.rules).cloned().collect());
        self.agree(at, "x-kubernetes-validations", rules(older, newer), rules(newer, older));
        is_apart
    }

    /// A difference in type can be accepted if every value of one side is valid on the other. Values that the narrower
    /// side cannot represent are kept.
    fn kind(&mut self, pair: &Pair<'_>, open: Option<&Path>) -> Option<RefusedDifference> {
        let Pair { at, older, newer, demanded, .. } = pair;
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let version_values = [text(&older.kind), text(&newer.kind)];
        if older.kind == newer.kind {
            return None;
        }
        let wider = |one: &Schema, two: &Schema| match (one.kind.as_deref(), two.kind.as_deref()) {
            (None, Some(_)) | (Some("number"), Some("integer")) => true,
            (Some("int-or-string"), Some(kind)) => matches!(kind, "integer" | "string"),
            _ => false,
        };
        let narrow =
            if wider(older, newer) { Some(demanded.newer) } else { wider(newer, older).then_some(demanded.older) };
        if let (Some(false), Some(path)) = (narrow, open) {
            if self.differs(at, "type", &version_values) {
                self.implied.push(retyped_by_itself(places(path, pair)));
            }
            return None;
        }
        let wrapped = |each: &Schema| each.kind == older.kind && newer.is("array");
        let (why, advice) = match narrow {
            Some(true) => ("the narrower version requires the field, but cannot represent every value", None),
            _ if older.is_scalar() && newer.is_scalar() => {
                ("", Some(Advice::write(vec![pair.advised().operation("type")], "")))
            }
            _ if newer.each.as_deref().is_some_and(wrapped) => {
                let Advice { text, remedy } = Advice::write(vec![pair.advised().operation("wrap")], "");
                ("", Some(Advice { text: format!("{text}; or {}", pair.advised().apart(None).text), remedy }))
            }
            _ => ("the two versions share no value", None),
        };
        Some(RefusedDifference { difference: "type", version_values, why, advice })
    }

    /// A difference in nullability can be accepted if null can be kept.
    fn nullable(&mut self, pair: &Pair<'_>, open: Option<&Path>) -> Option<RefusedDifference> {
        let Pair { at, older, newer, demanded, .. } = pair;
        let version_values = [older.nullable.to_string(), newer.nullable.to_string()];
        if older.nullable == newer.nullable {
            return None;
        }
        let (lacks, demanded) = if older.nullable { (newer, demanded.newer) } else { (older, demanded.older) };
        let is_copied = older.is_scalar() || older.kind.is_none() || fits_inside(older, newer);
        let kept = pair.keeps_null && !demanded && is_copied;
        let is_distinguished = pair.distinguished && !pair.has_items && lacks.default.is_some();
        if !kept && !is_distinguished {
            return Some(RefusedDifference { difference: "nullable", version_values, why: NULL, advice: None });
        }
        if self.differs(at, "nullable", &version_values)
            && older.kind == newer.kind
            && let Some(path) = open
        {
            self.implied.push(nulls(places(path, pair)));
        }
        None
    }

    /// Reports the refused differences of one place, with one proposal for all. Returns whether it proposes separate
    /// values for both versions.
    fn refuse(&mut self, pair: &Pair<'_>, refusals: Vec<RefusedDifference>) -> bool {
        if refusals.is_empty() {
            return false;
        }
        let mut is_apart = false;
        let advice = match (&self.under, refusals.as_slice()) {
            (Some(under), [RefusedDifference { difference: "type", .. }]) if under.at == pair.at => under.retyping(),
            (Some(under), _) => under.in_place(),
            (None, [RefusedDifference { advice: Some(advice), .. }]) => advice.clone(),
            (None, _) => {
                is_apart = true;
                pair.advised().apart(None)
            }
        };
        let is_known = self.under.is_some() && std::mem::replace(&mut self.is_refused, true);
        for RefusedDifference { difference, version_values: [older, newer], why, .. } in refusals {
            let at = &pair.at;
            let line = self.accepted.takes(at, difference).unwrap_or(self.line);
            if is_known {
                continue;
            }
            let why = if why.is_empty() { String::new() } else { format!("{why}: ") };
            let same = if difference == "nullable" { ", or make both schemas equal" } else { "" };
            let message = format!(
                "{at}: {difference} differs without an operation (older: {older}; newer: {newer}), and cannot \
                     be accepted: {why}{}{same}",
                advice.text
            );
            self.problems.advise(line, message, advice.remedy.clone());
        }
        is_apart || self.under.is_some()
    }

    /// Reports a difference unless it is accepted.
    fn agree(&mut self, at: &str, difference: &str, older: String, newer: String) {
        if older != newer {
            self.differs(at, difference, &[older, newer]);
        }
    }

    /// Reports a difference that can be accepted. Returns whether it is accepted.
    fn differs(&mut self, at: &str, difference: &str, [older, newer]: &[String; 2]) -> bool {
        if self.accepted.takes(at, difference).is_some() {
            return true;
        }
        let accept = accept(at, difference);
        let message = format!(
            "{at}: {difference} differs without an operation (older: {older}; newer: {newer}): add an \
                 operation, or `accept: {accept}`"
        );
        self.problems.advise(self.line, message, Remedy::accept(accept));
        false
    }
}

/// Returns whether two lists, maps or objects have the same contents.
fn fits_inside(older: &Schema, newer: &Schema) -> bool {
    let of = |schema: &Schema| Schema { nullable: false, ..schema.clone() };
    fits_as_whole(&of(older), &of(newer))
}

/// Differences in which fields a version preserves and the other version prunes.
fn pruned(pair: &Pair<'_>) -> Vec<RefusedDifference> {
    let Pair { older, newer, .. } = pair;
    let mut found = Vec::new();
    if older.preserve != newer.preserve {
        let version_values = [older.preserve.to_string(), newer.preserve.to_string()];
        let why = "the other version prunes unknown fields";
        found.push(RefusedDifference { difference: "preserve-unknown-fields", version_values, why, advice: None });
    }
    let describe = |schema: &Schema| match (&schema.each, schema.properties.is_empty()) {
        (Some(_), _) if schema.is("array") => "a list",
        (Some(_), _) => "a map",
        (None, true) => "none",
        (None, false) => "an object",
    };
    if older.each.is_some() != newer.each.is_some() && older.kind == newer.kind {
        let version_values = [describe(older), describe(newer)].map(str::to_owned);
        let why = "one version prunes values of the other";
        found.push(RefusedDifference { difference: "items", version_values, why, advice: None });
    }
    if let Some(key) = lost_key(older, newer) {
        let describe = |schema: &Schema| {
            let found = schema.each.as_ref().and_then(|each| each.at(&key));
            found.map_or("none", |schema| schema.kind.as_deref().unwrap_or("anything")).to_owned()
        };
        let version_values = [describe(older), describe(newer)];
        let why = "the field identifies the items, so no operation can change its value";
        found.push(RefusedDifference { difference: "items", version_values, why, advice: None });
    }
    found
}

fn defaults(pair: &Pair<'_>) -> [String; 2] {
    [pair.older, pair.newer].map(|schema| schema.default.as_ref().map_or_else(|| "none".to_owned(), Value::to_string))
}

/// A default of one version alone that is not distinguished from a value that a client wrote.
fn default_of(pair: &Pair<'_>) -> Option<RefusedDifference> {
    let version_values = defaults(pair);
    let [older, newer] = &version_values;
    if pair.distinguished || older == newer {
        return None;
    }
    let advice = pair.ground.innermost().map(|each| {
        let Advice { text, remedy } = Advice::write(vec![each], "");
        let text = format!("make both schemas equal, or name the enclosing list with `each`: {text}");
        Advice { text, remedy }
    });
    Some(RefusedDifference { difference: "default", version_values, why: FILLED, advice })
}

/// The two places of an implied operation between two schemas that otherwise agree.
fn places(path: &Path, pair: &Pair<'_>) -> Sides<Place> {
    let place = |schema: &Schema, required| Place { required, ..Place::new(path.clone(), schema.clone()) };
    Sides { older: place(pair.older, pair.demanded.older), newer: place(pair.newer, pair.demanded.newer) }
}
