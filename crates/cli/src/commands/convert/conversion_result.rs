//! The conversion of one object.

use pointsman_core::webhook::{AnnotationBudget, Change, Facts, INCOMPLETE, OtherKind, Webhook};

use crate::commands::schema::{Violation, violation};
use crate::commands::{input::InputObject, json_tree::JsonTree, kind_names, kinds_dir::kind_of, output::warn};
use crate::terminal::escaped;

/// A converted object.
pub(super) struct ConversionResult {
    pub(super) object: JsonTree,
    /// The changes of each operation, if requested.
    pub(super) changes: Vec<Change>,
}

impl ConversionResult {
    pub(super) fn unchanged(object: &InputObject) -> Result<Self, String> {
        let json = JsonTree::from_json(&object.text);
        let object = json.map_err(|error| format!("{}: {error}", object.label()))?;
        Ok(Self { object, changes: Vec::new() })
    }
}

/// The options of a conversion.
pub(super) struct ConversionWish<'a> {
    /// A version of the kind, or another kind.
    pub(super) to: &'a str,
    /// The facts.
    pub(super) facts: &'a Facts,
    /// Whether to return the changes of each operation.
    pub(super) explain: bool,
}

/// Converts an object to a version or to another kind, as the webhook does.
pub(super) fn convert(
    webhook: &Webhook,
    object: &InputObject,
    wanted: &ConversionWish<'_>,
) -> Result<ConversionResult, String> {
    let refused = |error: &dyn std::fmt::Display| format!("{}: {error}", object.label());
    let (converted, changes) = match target(webhook, object, wanted.to)? {
        MeantBy::Kind(kind) if (kind.group, kind.kind) == (object.group(), object.kind.as_str()) => {
            return ConversionResult::unchanged(object);
        }
        MeantBy::Kind(kind) => {
            webhook.convert_kind(&object.text, kind, wanted.facts).map_err(|error| refused(&error))?
        }
        MeantBy::Version(to) => match wanted.explain {
            true => webhook.explain(&object.text, to),
            false => webhook.convert(&object.text, to).map(|converted| (converted, Vec::new())),
        }
        .map_err(|error| refused(&error))?,
    };
    let only = format!("{}: values that exist only in {}", object.label(), converted.from);
    match converted.fit {
        AnnotationBudget::Well => {}
        AnnotationBudget::Barely => warn(&format!("{only} use more than three quarters of the annotation limit")),
        // The webhook returns the object without the value, which is still stored. A file has no other copy.
        AnnotationBudget::Not => {
            return Err(format!(
                "{only} are too large for an annotation, and would be lost: keep this object at {}, or make the \
                     field smaller at that version",
                converted.from
            ));
        }
    }
    if object.is_incomplete() {
        warn(&format!(
            "{}: the annotation {INCOMPLETE} marks missing values: they exceeded the annotation limit and are \
                 not in this file",
            object.label()
        ));
    }
    let result = JsonTree::from_json(&converted.text).map_err(|error| refused(&error))?;
    for member in ["labels", "annotations"] {
        let map = result.get("metadata").and_then(|metadata| metadata.get(member));
        if let Some((key, value)) = map.and_then(not_text) {
            let what = format!("metadata.{member}[{key:?}] is {value}, and must be a string: quote the value");
            return Err(format!("{}: {}", object.label(), escaped(&what)));
        }
    }
    warn_of_schemas(webhook, object, &result);
    Ok(ConversionResult { object: result, changes })
}

/// Warns if the input or the result violates the schema of its version, because `validate` rejects such an object.
fn warn_of_schemas(webhook: &Webhook, object: &InputObject, result: &JsonTree) {
    let breach =
        |object: &InputObject| violation(kind_of(webhook, object).ok()?, object).filter(Violation::is_by_schema);
    if let Some(breach) = breach(object) {
        let label = object.label();
        warn(&format!("{label}: the input is not valid at {}: {} {}", object.version(), breach.field, breach.message));
    }
    let Ok(result) = InputObject::read(object.place.clone(), result) else { return };
    if let Some(breach) = breach(&result) {
        let label = result.label();
        warn(&format!("{label}: the result is not valid at {}: {} {}", result.version(), breach.field, breach.message));
    }
}

/// The first entry of a map of strings that is no string.
fn not_text(map: &JsonTree) -> Option<(&str, &JsonTree)> {
    let JsonTree::Object(entries) = map else { return None };
    let mut entries = entries.iter().map(|(key, value)| (key.as_str(), value));
    entries.find(|(_, value)| !matches!(value, JsonTree::String(_) | JsonTree::Null))
}

/// The meaning of the name after `--to` for an object.
enum MeantBy<'a> {
    Version(&'a str),
    Kind(OtherKind<'a>),
}

/// Resolves the name: first a version of the object's kind, then a kind that can replace it.
fn target<'a>(webhook: &'a Webhook, object: &InputObject, name: &str) -> Result<MeantBy<'a>, String> {
    let own = kind_of(webhook, object);
    let version = own.as_ref().ok().map(|kind| kind_names::version(kind, name));
    if let Some(Ok(version)) = version {
        return Ok(MeantBy::Version(version));
    }
    let lower = name.to_lowercase();
    for kind in webhook.kinds() {
        let is_named = |group: &str, version: &str| lower.ends_with(&format!(".{version}.{group}"));
        if kind.is_called(name) {
            let version = kind.versions().find(|version| is_named(kind.group(), version));
            return Ok(match (version, own.as_ref().is_ok_and(|own| std::ptr::eq(*own, kind))) {
                (Some(version), true) => MeantBy::Version(version),
                _ => MeantBy::Kind(OtherKind { group: kind.group(), kind: kind.kind(), version }),
            });
        }
        if let Some(becoming) = kind.becoming().filter(|becoming| becoming.source_names().contains(&lower)) {
            let (group, kind) = (becoming.source_group(), becoming.source_kind());
            let version = Some(becoming.from()).filter(|version| is_named(group, version));
            return Ok(MeantBy::Kind(OtherKind { group, kind, version }));
        }
    }
    match (own?, version) {
        (_, Some(Err(message))) => Err(format!("{}: --to {name}: {message}", object.label())),
        _ => Err(format!("{}: --to {name}: no version or kind has this name", object.label())),
    }
}
