//! Admission rules as `x-kubernetes-validations` in the CRD, enforced by the API server itself.
//!
//! Excludes rules of single controller versions, upgrade paths and warnings: a schema is the same for all controllers,
//! and cannot warn.
//!
//! For example, `range` of `spec.replicas` with `min: 1` becomes, in the schema of `spec.replicas`:
//!
//! ```yaml
//! x-kubernetes-validations:
//! - {rule: self >= 1, message: must be greater than or equal to 1}
//! ```

use serde_json::{Value, json};

use super::document::set;
use super::guards::cel::{field_of, literal, property, there};
use crate::definition::admission::{Check, Rule};
use crate::definition::{Kind, Path, Schema, VersionIndex};
use crate::{apimachinery::DURATION, json::Json, webhook::same_field};

/// Adds the admission rules that schemas can express to the CRD of a kind.
pub(super) fn add_rules(kind: &Kind, crd: &mut Value) {
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let index = version.get("name").and_then(Value::as_str).and_then(|name| kind.version(name));
        let Some(index) = index else {
            continue;
        };
        let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") else {
            continue;
        };
        for rule in kind.admission.rules.iter().filter(|rule| rule.controllers.is_none()) {
            for (at, validation) in validations(kind, rule, index).into_iter().flatten() {
                add(schema, &at, validation);
            }
        }
    }
}

/// Immutable fields without a rule in the CRD: the schema rule would cost too much, or compare differently than
/// `/validate`.
#[must_use]
pub fn rules_left_out(kind: &Kind) -> Vec<String> {
    let rules = kind.admission.rules.iter().filter(|rule| rule.controllers.is_none());
    let immutable = rules.filter(|rule| matches!(rule.check, Check::Immutable { .. }));
    let is_nowhere = |rule: &&Rule| {
        let mut versions = kind.versions().filter_map(|name| kind.version(name));
        !versions.any(|version| validations(kind, rule, version).is_some())
    };
    immutable.filter(is_nowhere).map(|rule| rule.field.to_string()).collect()
}

/// The places of a rule in the schema of a version, and its validations.
fn validations(kind: &Kind, rule: &Rule, version: VersionIndex) -> Option<Vec<(Path, Value)>> {
    let root = &kind.version_at(version).schema;
    let field = same_field(kind, &rule.field, rule.at, version)?;
    let here = property_at(root, &field)?;
    match &rule.check {
        Check::Immutable { unset, uuid } => Some(vec![(Path::default(), immutable(&field, unset, *uuid, here)?)]),
        Check::Range { min, max } => {
            matches!(here.kind.as_deref(), Some("integer")).then_some(())?;
            Some(vec![(field, range(*min, *max)?)])
        }
        Check::Requires { needs } => {
            // The required member must be a member of the same object in this version too.
            let same = |need: &Path| {
                let there = same_field(kind, need, rule.at, version)?;
                (there.parent()? == field).then_some(there)
            };
            let needs: Option<Vec<Path>> = needs.iter().map(same).collect();
            let validations = requires(&field, &needs?, here)?;
            Some(validations.map(|validation| (field.clone(), validation)).into())
        }
        Check::Duration => {
            is_text(here).then_some(())?;
            let rule = format!("self.matches({})", literal(DURATION));
            let message = "must be a duration such as 2160h or 1h30m";
            Some(vec![(field, json!({"rule": rule, "message": message}))])
        }
        Check::Deprecated { .. } | Check::Upgrade { .. } | Check::Warn { .. } => None,
    }
}

/// The schema of a field whose parents list it as a property. Null counts as absent there.
fn property_at<'s>(root: &'s Schema, path: &Path) -> Option<&'s Schema> {
    path.names().iter().try_fold(root, |holder, name| holder.properties.get(name.as_ref()))
}

/// Returns whether CEL treats a string as a string: it parses some formats as times, durations and bytes.
fn is_text(schema: &Schema) -> bool {
    let other = ["byte", "date", "date-time", "datetime", "duration"];
    schema.kind.as_deref() == Some("string") && !schema.format.as_deref().is_some_and(|format| other.contains(&format))
}

/// The rule applies to the whole object, because otherwise the removal of a parent would not be detected. Only for
/// scalars: CEL compares other values differently, at unbounded cost.
fn immutable(field: &Path, unset: &[Json<'_>], uuid: bool, here: &Schema) -> Option<Value> {
    let is_scalar = is_text(here) || matches!(here.kind.as_deref(), Some("boolean" | "integer"));
    let (old, new) = (field_of("oldSelf", field)?, field_of("self", field)?);
    let spell = |text: String| if uuid { format!("{text}.lowerAscii().replace('-', '')") } else { text };
    let unset = unset.iter().filter(|value| !value.is_null()).map(|value| {
        let text = value.to_text();
        if uuid { text.to_lowercase().replace('-', "") } else { text }
    });
    let unset: Vec<String> = unset.collect();
    let free = match unset.as_slice() {
        [] => String::new(),
        unset => format!(" || {} in [{}]", spell(old.clone()), unset.join(", ")),
    };
    let same = format!("{} == {}", spell(new), spell(old));
    let rule = format!("!({}){free} || {} && {same}", there("oldSelf", field)?, there("self", field)?);
    let mut validation = json!({"rule": rule, "message": format!("{field} is immutable")});
    let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if field.names().iter().all(|name| is_plain(name)) {
        set(&mut validation, "fieldPath", format!(".{field}").into());
    }
    is_scalar.then_some(validation)
}

fn range(min: Option<i64>, max: Option<i64>) -> Option<Value> {
    let message = match (min, max) {
        (Some(min), Some(max)) => format!("must be within {min} and {max}"),
        (Some(min), None) => format!("must be greater than or equal to {min}"),
        (None, Some(max)) => format!("must be less than or equal to {max}"),
        (None, None) => return None,
    };
    let low = min.map(|min| format!("self >= {min}"));
    let high = max.map(|max| format!("self <= {max}"));
    let rule: Vec<String> = low.into_iter().chain(high).collect();
    Some(json!({"rule": rule.join(" && "), "message": message}))
}

/// Checks each required member separately, so that missing members can be added one at a time. The API server's own
/// ratcheting accepts only unchanged values, and no value if a rule fails with an error.
///
/// Two rules are needed, for absent and for present old values. In one rule, the old value would be optional, and the
/// API server would pass untyped JSON: null would count as a value, and escaped names would not be found.
fn requires(field: &Path, needs: &[Path], here: &Schema) -> Option<[Value; 2]> {
    let names: Option<Vec<&str>> = needs.iter().map(|need| Some(&**need.names().last()?)).collect();
    let names = names?;
    let now: Option<Vec<String>> = names.iter().map(|name| is_set(name, here, "self")).collect();
    let before: Option<Vec<String>> = names.iter().map(|name| is_set(name, here, "oldSelf")).collect();
    let (now, before) = (now?, before?);
    let made = format!("oldSelf.hasValue() || {}", now.join(" && "));
    let kept = now.iter().zip(before).map(|(now, before)| format!("({now} || !({before}))"));
    let kept = kept.collect::<Vec<_>>().join(" && ");
    let message = format!("{} must be set where {field} is", names.join(" and "));
    Some([
        json!({"rule": made, "message": message, "optionalOldSelf": true}),
        json!({"rule": kept, "message": message}),
    ])
}

/// An expression for whether an object has a property that is not empty.
fn is_set(name: &str, holder: &Schema, object: &str) -> Option<String> {
    let (schema, name) = (holder.properties.get(name)?, property(name)?);
    let has = format!("has({object}.{name})");
    match schema.kind.as_deref() {
        Some("boolean" | "integer" | "number") => Some(has),
        Some("array") => Some(format!("{has} && size({object}.{name}) > 0")),
        Some("string") if is_text(schema) => Some(format!("{has} && size({object}.{name}) > 0")),
        Some("object") if schema.preserve => None,
        Some("object") if schema.properties.is_empty() => {
            let each = schema.each.as_ref().filter(|each| !each.nullable)?;
            each.kind.is_some().then(|| format!("{has} && size({object}.{name}) > 0"))
        }
        Some("object") => {
            let inner =
                schema.properties.keys().map(|inner| Some(format!("has({object}.{name}.{})", property(inner)?)));
            Some(format!("{has} && ({})", inner.collect::<Option<Vec<_>>>()?.join(" || ")))
        }
        _ => None,
    }
}

/// Adds a validation to the schema at a path.
fn add(schema: &mut Value, path: &Path, validation: Value) {
    let mut here = schema;
    for name in path.names() {
        let Some(next) = here.get_mut("properties").and_then(|properties| properties.get_mut(name.as_ref())) else {
            return;
        };
        here = next;
    }
    let Some(here) = here.as_object_mut() else {
        return;
    };
    let list = here.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut().filter(|list| !list.contains(&validation)) {
        list.push(validation);
    }
}
