//! Compiles operations between two schemas: resolves paths to places, and checks that each field has at most one
//! operation.

use super::common_fields::common_fields;
use super::condition::Condition;
use super::mapping::{Mapping, Operation};
use super::pattern::{MatchedPlace, Pattern};
use crate::apimachinery::did_you_mean;
use crate::definition::problems::Problems;
use crate::definition::side::{Side, Sides};
use crate::definition::yaml::Spanned;
use crate::definition::{metadata_field::MetadataField, path::Path, place::Place, schema::Schema};
use crate::json::Json;

/// An operation as written.
pub(crate) trait Compile: Sized {
    /// Compiles the operation. Returns `None` and reports a problem to the compiler if that fails. `more` are later
    /// entries that belong to it.
    fn compile(&self, more: &[&Self], compiler: &mut Compiler<'_>) -> Option<Operation>;

    /// Returns whether another entry continues this one: both concern the items of the same list.
    fn continues(&self, other: &Self) -> bool;

    /// The pattern in the path of the operation, and the side if only one version has the fields. `None` without a
    /// pattern.
    fn pattern(&self) -> Option<(Pattern<'_>, Option<Side>)>;

    /// The operation at a place that its pattern matches.
    fn at_place(spec: &Spanned<Self>, place: &MatchedPlace) -> Spanned<Self>;

    /// The nested operations if this moves an object with changes inside.
    fn nesting(&self) -> Option<&dyn Nesting<Self>>;

    /// The nested operations if this is a condition.
    fn when(&self) -> Option<&dyn Branching<Self>>;
}

/// Operations inside of a moved object.
pub(crate) trait Nesting<O> {
    /// The operations, with paths that start at the object.
    fn operations(&self) -> &[Spanned<O>];

    /// The paths of the object, or `None` with a problem.
    fn object(&self, compiler: &mut Compiler<'_>) -> Option<Sides<Path>>;
}

/// Operations under a condition.
pub(crate) trait Branching<O> {
    /// The operations if the condition holds, and otherwise.
    fn branches(&self) -> [&[Spanned<O>]; 2];

    /// The condition of the first branch. The second branch has its opposite.
    fn condition(&self, compiler: &mut Compiler<'_>) -> Option<Condition>;
}

/// An operation as written, with the conditions around it.
struct Unfolded<'s, O> {
    spec: &'s Spanned<O>,
    /// The moved object around it.
    base: Sides<Path>,
    conditions: Vec<Condition>,
    /// The index of its list of operations. Only operations of one list can be merged.
    list: usize,
}

/// A moved object with operations inside.
struct MovedObject {
    object: Sides<Path>,
    conditions: Vec<Condition>,
    line: u64,
}

/// The flattened operations of a list.
struct UnfoldedList<'s, O> {
    operations: Vec<Unfolded<'s, O>>,
    /// The moved objects, innermost first.
    objects: Vec<MovedObject>,
    /// The number of lists so far.
    lists: usize,
}

/// Compiles the operations between two schemas, of two versions or of their list items.
pub(crate) struct Compiler<'a> {
    problems: &'a mut Problems,
    pub(crate) older: &'a Schema,
    pub(crate) newer: &'a Schema,
    /// The line of reported problems.
    line: u64,
    /// The moved object in which paths start.
    base: Sides<Path>,
    /// Whether the schemas are those of whole objects, with a head that the API server converts.
    whole: bool,
    /// Whether places may be annotations and labels.
    has_metadata: bool,
    /// The names of the facts that conditions may use. `None` if facts are not available.
    facts: Option<&'a [String]>,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(problems: &'a mut Problems, older: &'a Schema, newer: &'a Schema, line: u64) -> Self {
        Self { problems, older, newer, line, base: Sides::default(), whole: true, has_metadata: false, facts: None }
    }

    /// A compiler for the contents of a list or map. Facts are not available there, because on conversion back only the
    /// form of the whole object represents a fact.
    pub(super) fn inside<'i>(&'i mut self, older: &'i Schema, newer: &'i Schema) -> Compiler<'i> {
        Compiler { whole: false, ..Compiler::new(self.problems, older, newer, self.line) }
    }

    /// Allows annotations and labels as places.
    pub(crate) fn with_metadata(self) -> Self {
        Self { has_metadata: true, ..self }
    }

    /// Makes these facts available to conditions.
    pub(crate) fn knowing(self, facts: &'a [String]) -> Self {
        Self { facts: Some(facts), ..self }
    }

    /// Checks that a fact of a condition is declared.
    pub(super) fn knows_fact(&mut self, name: &str) -> Option<()> {
        let known = self.facts;
        match known {
            None if !self.whole => self.problem(format!(
                "when: {name:?} is a fact of the whole object; a condition inside `each` can only use fields of \
                     the item"
            )),
            None => self.problem(format!(
                "when: {name:?} is a fact, and conversion requests contain only the object. Facts need a kind \
                     that `replaces` another one"
            )),
            Some(known) if known.iter().any(|fact| fact == name) => return Some(()),
            Some(known) => {
                let meant = did_you_mean(name, known.iter().map(String::as_str));
                self.problem(format!("when: no fact {name:?} under `facts`{meant}"));
            }
        }
        None
    }

    /// The schema of a side, and the word for its version in messages.
    fn schema(&self, side: Side) -> (&'a Schema, &'static str) {
        match side {
            Side::Newer => (self.newer, "newer"),
            Side::Older => (self.older, "older"),
        }
    }

    pub(crate) fn problem(&mut self, message: impl Into<String>) {
        self.problems.add(self.line, message);
    }

    /// Compiles operations. `handled` are older fields that the rollout status handles.
    pub(crate) fn operations<O: Compile>(&mut self, specs: &[&Spanned<O>], handled: &[Path]) -> Vec<Operation> {
        let outside = self.line;
        let mut compiled: Vec<Operation> = Vec::new();
        let mut unfolded = UnfoldedList { operations: Vec::new(), objects: Vec::new(), lists: 0 };
        let matched: Vec<Option<Vec<Spanned<O>>>> = specs.iter().map(|spec| self.matched(spec)).collect();
        let specs = specs.iter().zip(&matched).flat_map(|(spec, matched)| match matched {
            Some(matched) => matched.iter().collect(),
            None => vec![*spec],
        });
        self.unfold(specs, &[], &mut unfolded);
        let UnfoldedList { operations: all, objects, .. } = unfolded;
        for (index, Unfolded { spec, base, conditions, list }) in all.iter().enumerate() {
            self.line = spec.line;
            self.base = base.clone();
            let belongs = |one: &Unfolded<'_, O>, two: &O| one.list == *list && one.spec.value.continues(two);
            let (earlier, later) = all.split_at(index);
            if earlier.iter().any(|earlier| belongs(earlier, &spec.value)) {
                continue;
            }
            let more = later.iter().skip(1).filter(|other| belongs(other, &spec.value));
            let more: Vec<&O> = more.map(|other| &other.spec.value).collect();
            let Some(mut operation) = spec.value.compile(&more, self) else {
                continue;
            };
            if let Some(condition) = conditions.first() {
                self.may_be_idle(&operation, condition);
            }
            operation.conditions = conditions.clone();
            // A dropped field may be listed for the reader although the rollout status handles it.
            let dropped = operation.places.newer.is_empty();
            if dropped && operation.places.older.iter().any(|place| handled.contains(&place.path)) {
                continue;
            }
            operation.line = self.line;
            self.is_first(&operation, &compiled, handled);
            compiled.push(operation);
        }
        self.base = Sides::default();
        for MovedObject { object, conditions, line } in objects {
            let fields = common_fields(&Sides { older: self.older, newer: self.newer }, &object, &compiled);
            for mut operation in fields {
                operation.line = line;
                operation.conditions.clone_from(&conditions);
                compiled.push(operation);
            }
        }
        for operation in &compiled {
            self.line = operation.line;
            self.is_alone(operation, &compiled);
        }
        self.line = outside;
        compiled
    }

    /// The operations at the places that match the pattern of an operation. `None` if the operation has no pattern.
    fn matched<O: Compile>(&mut self, spec: &Spanned<O>) -> Option<Vec<Spanned<O>>> {
        let (pattern, only) = spec.value.pattern()?;
        let places = pattern.places(&Sides { older: self.older, newer: self.newer }, only);
        if places.is_empty() {
            self.line = spec.line;
            let text = pattern.text;
            self.problem(match only {
                Some(side) => {
                    format!("{text}: no field of only the {} version matches the pattern", self.schema(side).1)
                }
                None => format!("{text}: no field of both versions matches the pattern"),
            });
        }
        Some(places.iter().map(|place| O::at_place(spec, place)).collect())
    }

    /// Reports an operation that loses data if its condition does not hold.
    fn may_be_idle(&mut self, operation: &Operation, condition: &Condition) {
        let (name, Sides { older, newer }) = (operation.name, &operation.places);
        if operation.drops() && newer.is_empty() {
            self.problem(format!(
                "when: `{name}` is under a condition ({condition}), but the newer version always lacks this \
                     field: move the operation out of the `when`"
            ));
        } else if operation.items().is_some() {
            self.problem(format!(
                "when: `{name}` is under a condition ({condition}), and without the condition the whole list \
                     would be lost: put the `when` inside of the `each`"
            ));
        } else if let Some(place) = older.iter().find(|place| newer.iter().any(|other| other.path == place.path)) {
            self.problem(format!(
                "when: `{name}` is under a condition ({condition}), and {} stays in place: without the \
                     condition, its value would be lost. Move the operation out of the `when`",
                place.path
            ));
        }
    }

    /// Flattens conditions and moved objects into a list of operations.
    fn unfold<'s, O: Compile + 's>(
        &mut self,
        specs: impl Iterator<Item = &'s Spanned<O>>,
        conditions: &[Condition],
        into: &mut UnfoldedList<'s, O>,
    ) {
        let list = into.lists;
        for spec in specs {
            self.line = spec.line;
            if let Some(nesting) = spec.value.nesting() {
                self.unfold_object(nesting, conditions, into);
                continue;
            }
            let Some(when) = spec.value.when() else {
                let (base, conditions) = (self.base.clone(), conditions.to_vec());
                into.operations.push(Unfolded { spec, base, conditions, list });
                continue;
            };
            let Some(condition) = when.condition(self) else { continue };
            let opposite = condition.not();
            for (inside, condition) in when.branches().into_iter().zip([condition, opposite]) {
                into.lists += 1;
                let all = [conditions, &[condition]].concat();
                if !inside.is_empty() && Condition::exclude_each_other(&all) {
                    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                    self.problem(format!("when: no object can satisfy all conditions: {}", all.join(", and ")));
                }
                self.unfold(inside.iter(), &all, into);
            }
        }
    }

    fn unfold_object<'s, O: Compile + 's>(
        &mut self,
        nesting: &'s dyn Nesting<O>,
        conditions: &[Condition],
        into: &mut UnfoldedList<'s, O>,
    ) {
        let line = self.line;
        let Some(object) = nesting.object(self) else { return };
        if !conditions.is_empty() {
            self.has_no_default(&object);
        }
        let outside = std::mem::replace(&mut self.base, object.clone());
        into.lists += 1;
        self.unfold(nesting.operations().iter(), conditions, into);
        self.base = outside;
        into.objects.push(MovedObject { object, conditions: conditions.to_vec(), line });
    }

    /// Checks that an object that moves field by field under a condition has no default of its own. Such a default
    /// fills all fields at once. If the condition does not hold, a field that a client removed would return with it.
    fn has_no_default(&mut self, object: &Sides<Path>) {
        for (side, root) in [(Side::Older, self.older), (Side::Newer, self.newer)] {
            let path = object.of(side);
            let places = std::iter::successors(Some(path.clone()), Path::parent);
            let filled = places.filter_map(|place| Some((root.at(&place)?.default.as_ref()?, place)));
            let mut filled = filled.filter(|(default, place)| {
                let inside = path.names().iter().skip(place.len());
                inside.clone().try_fold(*default, |value, name| value.get(name.as_ref())).is_some()
            });
            if let Some((_, place)) = filled.next() {
                self.problem(format!(
                    "move: under `when`, {path} cannot take `operations`, because the default of {place} fills the object: set \
                     a default on each field in the CRD, or convert with `compute`"
                ));
            }
        }
    }

    /// Checks that the other version lacks the field of `add` or `drop`, unless another operation converts it.
    fn is_alone(&mut self, operation: &Operation, all: &[Operation]) {
        let Operation { name, places, .. } = operation;
        let (side, place) = match (places.older.first(), places.newer.first()) {
            (Some(place), _) if operation.drops() => (Side::Newer, place),
            (None, Some(place)) => (Side::Older, place),
            _ => return,
        };
        let (schema, version) = self.schema(side);
        let path = &place.path;
        let mut others = all.iter().flat_map(|other| other.places.of(side));
        let another = others.any(|other| other.path.starts_with(path) || path.starts_with(&other.path));
        if !another && schema.at(path).is_some() {
            self.problem(format!("{name}: the {version} version has {path} too"));
        }
    }

    /// Checks that no two operations concern one field.
    fn is_first(&mut self, operation: &Operation, earlier: &[Operation], handled: &[Path]) {
        for side in [Side::Older, Side::Newer] {
            let own = operation.places.of(side);
            for (index, Place { path, .. }) in own.iter().enumerate() {
                let mut before = own.iter().take(index);
                if before.any(|other| path.starts_with(&other.path) || other.path.starts_with(path)) {
                    self.problem(format!("{}: {path} occurs twice", operation.name));
                }
                let earlier = earlier.iter().map(|other| (other.places.of(side), other.line));
                let earlier = earlier.flat_map(|(places, line)| places.iter().map(move |place| (place, line)));
                for (other, first) in earlier {
                    if path.starts_with(&other.path) || other.path.starts_with(path) {
                        let other = &other.path;
                        self.problem(format!("two operations on one field: {path} here and {other} in line {first}"));
                    }
                }
                if side == Side::Older && handled.contains(path) {
                    self.problem(format!("two operations on one field: {path} is handled by rolloutStatus"));
                }
            }
        }
    }

    /// A place whose path must exist in the schema of a side.
    pub(crate) fn place(&mut self, side: Side, text: &str) -> Option<Place> {
        let path = self.path(text)?;
        self.at(side, &path)
    }

    /// Parses a path.
    pub(super) fn path(&mut self, text: &str) -> Option<Path> {
        match Path::parse(text) {
            Ok(path) => Some(path),
            Err(error) => {
                self.problem(error);
                None
            }
        }
    }

    /// A field that must exist in the schema of a side.
    pub(super) fn at(&mut self, side: Side, path: &Path) -> Option<Place> {
        let (root, version) = self.schema(side);
        if path.is_empty() && !self.base.of(side).is_empty() {
            self.problem("the path `.` is not valid inside of a moved object: name its fields");
            return None;
        }
        let path = &path.below(self.base.of(side));
        let first = path.names().first().map(AsRef::as_ref);
        if self.whole && self.has_metadata && first == Some("metadata") {
            return self.metadata_field(path);
        }
        if self.whole && matches!(first, Some("apiVersion" | "kind" | "metadata")) {
            self.problem(format!("{path}: the API server itself handles metadata, apiVersion and kind"));
            return None;
        }
        if self.whole && first.is_none() {
            self.problem("the path `.`, the item itself, is valid only inside of `each`");
            return None;
        }
        match root.find(path) {
            Ok(schema) => {
                let (required, schema) = (root.requires(path), schema.clone());
                Some(Place { required, ..Place::new(path.clone(), schema) })
            }
            Err(missing) if missing.is_allowed() => {
                let (holder, _) = path.split_at(missing.depth());
                let (other, _) = self.schema(side.other());
                if !other.at(&holder).is_some_and(|other| other.preserve) {
                    self.problem(format!(
                        "{path}: {holder} preserves unknown fields only in the {version} version: use `compute` on {holder} \
                         as a whole"
                    ));
                    return None;
                }
                Some(Place::new(path.clone(), Schema::anything()))
            }
            Err(missing) => {
                let (name, hint) = (missing.name, missing.hint(path));
                self.problem(format!("{path}: the {version} version has no {name:?} there{hint}"));
                None
            }
        }
    }

    /// An annotation or a label.
    fn metadata_field(&mut self, path: &Path) -> Option<Place> {
        match MetadataField::at(path) {
            Ok(field) => {
                let schema = Schema { kind: Some("string".to_owned()), ..Schema::default() };
                Some(Place { metadata: Some(field.map), ..Place::new(path.clone(), schema) })
            }
            Err(error) => {
                self.problem(error);
                None
            }
        }
    }

    pub(super) fn places(&mut self, from: &str, to: &str) -> Option<Sides<Place>> {
        let older = self.place(Side::Older, from);
        let newer = self.place(Side::Newer, to);
        Some(Sides { older: older?, newer: newer? })
    }

    /// The places of an operation that takes either one path for both versions, in `key`, or `from` and `to`.
    pub(super) fn one_or_two(
        &mut self,
        operation: &str,
        (key, path): (&str, &Option<String>),
        from: &Option<String>,
        to: &Option<String>,
    ) -> Option<Sides<Place>> {
        match (path, from, to) {
            (Some(path), None, None) => self.places(path, path),
            (None, Some(from), Some(to)) => self.places(from, to),
            _ => {
                self.problem(format!("{operation}: needs either `{key}`, or `from` and `to`"));
                None
            }
        }
    }

    /// Checks that the API server accepts a value of the definition.
    pub(super) fn takes(&mut self, operation: &str, place: &Place, value: &Json<'_>) {
        let Place { path, schema, .. } = place;
        if !schema.takes(value) {
            self.problem(format!("{operation}: {path} cannot be {}", value.to_text()));
        }
        // The API server checks defaults when the CRD is applied.
        let is_default = schema.default_value().is_some_and(|default| default.same(value));
        if let Some(unchecked) = schema.unchecked_for(value).filter(|_| !is_default) {
            self.problem(format!(
                "{operation}: {path} has {unchecked}, and pointsman cannot check {} against this rule: use the \
                     `default` of the field, which the API server validates",
                value.to_text()
            ));
        }
    }

    /// An operation with one place on each side.
    pub(super) fn between(
        &mut self,
        name: &'static str,
        from: &str,
        to: &str,
        mapping: impl Mapping + 'static,
    ) -> Option<Operation> {
        Some(Operation::between(name, self.places(from, to)?, mapping))
    }
}
