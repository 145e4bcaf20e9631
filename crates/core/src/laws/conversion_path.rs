//! A trip from one version of a kind to another through all steps between them, and the description of a violation.

use std::collections::BTreeMap;

use super::apiserver::{Undecodable, answered, read};
use super::objects::ObjectSource;
use super::rollouts::rollouts;
use super::value::{Segment, Value, difference, differing, way};
use crate::webhook::{Change, ConvertError, Converted, Webhook};

/// The prefix of kept annotations.
const OURS: &str = "pointsman.dev/kept-";

/// A conversion from one version of a kind to another, through all steps between them.
#[derive(Clone)]
pub(super) struct Trip<'k> {
    pub(super) webhook: &'k Webhook,
    pub(super) from: ObjectSource<'k>,
    pub(super) to: ObjectSource<'k>,
    /// The trip starts at the newer version.
    pub(super) down: bool,
    /// The versions are neighbours.
    pub(super) step: bool,
    /// Called for each conversion.
    pub(super) converted: &'k dyn Fn(),
    /// Fields that the conversion of the rollout status derives. They have separate tests.
    pub(super) apart: Vec<String>,
}

/// A violation of a law by an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Breach {
    pub(super) message: String,
    /// The wrong place.
    pub(super) at: Option<Vec<Segment>>,
    /// The steps of the case, oldest first: a label, and the object.
    pub(super) story: Vec<(String, Value)>,
}

impl Breach {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub(super) fn at(mut self, way: Vec<Segment>) -> Self {
        self.at = Some(way);
        self
    }

    /// Prepends an earlier step.
    pub(super) fn after(mut self, what: &str, object: &Value) -> Self {
        self.story.insert(0, (what.to_owned(), object.clone()));
        self
    }
}

impl<'k> Trip<'k> {
    pub(super) fn new(
        webhook: &'k Webhook,
        (from, to): (&ObjectSource<'k>, &ObjectSource<'k>),
        distance: isize,
        converted: &'k dyn Fn(),
    ) -> Self {
        let rollouts = rollouts(from.kind);
        let apart = rollouts.into_iter().flat_map(|fields| [fields.request, fields.hash]);
        Self {
            webhook,
            from: from.clone(),
            to: to.clone(),
            down: distance < 0,
            step: distance.abs() == 1,
            converted,
            apart: apart.collect(),
        }
    }

    /// The trip back.
    pub(super) fn back(&self) -> Self {
        Self { from: self.to.clone(), to: self.from.clone(), down: !self.down, ..self.clone() }
    }

    pub(super) fn name(&self) -> String {
        format!("{} to {}", self.from.version, self.to.version)
    }

    /// Converts a text to a version.
    pub(super) fn convert(&self, text: &str, version: &str) -> Result<Converted, ConvertError> {
        (self.converted)();
        self.webhook.convert(text, version)
    }

    /// The object at the other version, as the webhook returns it.
    pub(super) fn there(&self, object: &Value) -> Result<Value, Breach> {
        let converted = self.convert(&object.to_text(), self.to.version);
        self.read_answer(converted)
    }

    /// Like `there`, with the changes.
    pub(super) fn explained(&self, object: &Value) -> Result<(Value, Vec<Change>), Breach> {
        (self.converted)();
        let explained = self.webhook.explain(&object.to_text(), self.to.version);
        let (converted, changes) = explained.map_or_else(|error| (Err(error), Vec::new()), |(one, all)| (Ok(one), all));
        Ok((self.read_answer(converted)?, changes))
    }

    fn read_answer(&self, converted: Result<Converted, ConvertError>) -> Result<Value, Breach> {
        let converted = converted.map_err(|error| {
            Breach::new(format!("is not converted to {}: {error}", self.to.version)).at(way(error.path()))
        })?;
        Value::read(&converted.text).map_err(|error| Breach::new(format!("the answer is not JSON: {error}")))
    }

    /// The object at the other version, as the API server returns it to a client.
    pub(super) fn seen(&self, object: &Value) -> Result<Value, Breach> {
        let there = self.there(object)?;
        answered(self.to.schema, &there).map_err(|error| Breach::new(error.to_string()).after("answered", &there))
    }

    /// The object at the other version, after storage.
    pub(super) fn stored(&self, object: &Value) -> Result<Value, Breach> {
        let seen = self.seen(object)?;
        read(self.to.schema, &seen).map_err(|error| Breach::new(error.to_string()))
    }

    /// The object as the API server returns it at the start version.
    pub(super) fn read(&self, object: &Value) -> Option<Value> {
        read(self.from.schema, object).ok()
    }

    /// An object in stable form. Read twice, because -0.0 is a float that is written as the integer -0, which is read
    /// as 0.
    pub(super) fn left(&self, object: &Value) -> Result<Value, Undecodable> {
        read(self.from.schema, &read(self.from.schema, object)?)
    }

    /// A complete object in stable form.
    pub(super) fn settled(&self, object: &Value) -> Option<Value> {
        let object = self.left(object).ok()?;
        self.from.is_complete(&object).then_some(object)
    }

    /// A complete object in stable form at both ends. `None` if it is not stable at one of them, which other laws
    /// check.
    pub(super) fn at_both_ends(&self, object: &Value) -> Option<(Value, Value)> {
        let object = self.settled(object)?;
        let there = self.stored(&object).ok()?;
        Some((object, there))
    }

    /// Checks that objects are equal apart from kept annotations and derived fields.
    pub(super) fn same(&self, what: &str, expected: &Value, found: &Value) -> Result<(), Breach> {
        self.exactly(what, &without_ours(expected), &without_ours(found))
    }

    /// The part of an object that must be equal after a round trip: without kept annotations and derived fields.
    pub(super) fn comparable(&self, object: &Value) -> Value {
        self.without_apart(&without_ours(&with_metadata(object)))
    }

    /// An object without derived fields and their kept values.
    fn without_apart(&self, object: &Value) -> Value {
        if self.apart.is_empty() {
            return object.clone();
        }
        let mut object = object.clone();
        self.apart.iter().for_each(|field| drop(object.take(field)));
        // Their kept values are removed as well.
        let mut object = without_ours(&object);
        if object.get("status").is_some_and(Value::is_empty) {
            object.take("status");
        }
        object
    }

    /// Checks that objects are equal, including kept annotations, apart from derived fields.
    pub(super) fn exactly(&self, what: &str, expected: &Value, found: &Value) -> Result<(), Breach> {
        identical(what, &self.without_apart(expected), &self.without_apart(found))
    }
}

/// Checks that objects are equal.
pub(super) fn identical(what: &str, expected: &Value, found: &Value) -> Result<(), Breach> {
    match (difference(expected, found), differing(expected, found)) {
        (Some(difference), Some(at)) => Err(Breach::new(format!("{what}: {difference}")).at(at).after(what, found)),
        _ => Ok(()),
    }
}

/// An object without kept annotations, and without an empty annotations map.
#[must_use]
pub fn without_ours(object: &Value) -> Value {
    let mut object = object.clone();
    let Some(Value::Object(annotations)) = object.at_mut(&way("metadata.annotations")) else {
        return object;
    };
    annotations.retain(|name, _| !name.starts_with(OURS));
    if annotations.is_empty() {
        object.take("metadata.annotations");
    }
    object
}

/// An object without kept values. Records of operations that ran although their condition does not hold stay, because
/// they contain no value.
pub(super) fn without_values(object: &Value) -> Value {
    let mut bare = without_ours(object);
    for (name, text) in ours(object) {
        let fields = Value::read(text).ok().and_then(|kept| notes(kept.get("fields")?));
        let Some(fields) = fields else { continue };
        let mut kept = Value::object();
        kept.set("fields", fields);
        let mut annotations = match bare.field("metadata.annotations") {
            Some(Value::Object(annotations)) => annotations.clone(),
            _ => Default::default(),
        };
        annotations.insert(name.to_owned(), Value::Text(kept.to_text()));
        bare.set("metadata.annotations", Value::Object(annotations));
    }
    bare
}

/// The records in entries, without values. `None` if there are none. Items stay, so that their positions and keys are
/// the same.
fn notes(fields: &Value) -> Option<Value> {
    let Value::Object(fields) = fields else { return None };
    let note = |entry: &Value| match entry.field("each.items") {
        Some(Value::List(items)) => {
            let mut is_noted = false;
            let items = items.iter().map(|item| {
                let Value::List(item) = item else { return item.clone() };
                let mut item = item.clone();
                if let Some(fields) = item.last_mut() {
                    let notes = notes(fields);
                    is_noted |= notes.is_some();
                    *fields = notes.unwrap_or_else(Value::object);
                }
                Value::List(item)
            });
            let items = Value::List(items.collect());
            let mut noted = entry.clone();
            noted.take("each.omitted");
            noted.set("each.items", items);
            is_noted.then_some(noted)
        }
        _ => entry.get("ran").map(|_| entry.clone()),
    };
    let noted: BTreeMap<String, Value> =
        fields.iter().filter_map(|(name, entry)| Some((name.clone(), note(entry)?))).collect();
    (!noted.is_empty()).then_some(Value::Object(noted))
}

/// The kept annotations of an object: name and text.
#[must_use]
pub fn ours(object: &Value) -> Vec<(&str, &str)> {
    let Some(Value::Object(annotations)) = object.field("metadata.annotations") else {
        return Vec::new();
    };
    let ours = annotations.iter().filter(|(name, _)| name.starts_with(OURS));
    ours.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect()
}

/// The object with metadata, which every response contains.
pub(super) fn with_metadata(object: &Value) -> Value {
    let mut object = object.clone();
    if object.get("metadata").is_none_or(|metadata| *metadata == Value::Null) {
        object.set("metadata", Value::object());
    }
    object
}
