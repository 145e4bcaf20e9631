//! Rules that a schema can say, as `x-kubernetes-validations` in the CRD: the API server then holds them by itself.
//!
//! Rules of single controller versions, upgrade paths and warnings are not among them: a schema is the same for all
//! controllers, and cannot warn.
//!
//! Such as `range` of `spec.replicas` with `min: 1`, which becomes, in the schema of `spec.replicas`:
//!
//! ```yaml
//! x-kubernetes-validations:
//! - {rule: self >= 1, message: must be greater than or equal to 1}
//! ```

use serde_json::{Value, json};

use super::cel::{literal, property};
use super::document::set;
use crate::definition::admission::{Check, Rule};
use crate::definition::{Kind, Path, Schema};
use crate::{apimachinery::DURATION, json::Json, webhook::same_field};

/// Adds to a kind's CRD the admission rules that its schemas can say.
pub(super) fn add_rules(kind: &Kind, crd: &mut Value) {
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let index = version.get("name").and_then(Value::as_str).and_then(|name| kind.version(name));
        let Some(index) = index else {
            continue;
        };
        let known = kind.version_at(index);
        let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") else {
            continue;
        };
        for rule in kind.admission.rules.iter().filter(|rule| rule.controllers.is_none()) {
            let validation = same_field(kind, &rule.field, rule.at, index)
                .and_then(|field| validation(rule, &field, known.schema.at(&field)?));
            if let Some((at, validation)) = validation {
                add(schema, &at, validation);
            }
        }
    }
}

/// Where a rule stands in the schema, and how it reads. `here` is the schema of its field.
fn validation(rule: &Rule, field: &Path, here: &Schema) -> Option<(Path, Value)> {
    match &rule.check {
        Check::Immutable { unset } => Some((field.parent()?, immutable(field, unset, here)?)),
        Check::Range { min, max } => Some((field.clone(), range(*min, *max)?)),
        Check::Requires { needs } => Some((field.clone(), requires(field, needs, here)?)),
        Check::Duration => {
            let rule = format!("self.matches({})", literal(DURATION));
            let message = "must be a duration such as 2160h or 1h30m";
            Some((field.clone(), json!({"rule": rule, "message": message})))
        }
        Check::Deprecated { .. } | Check::Upgrade { .. } | Check::Warn { .. } => None,
    }
}

/// Said of the object that holds the field, or a removal would not be seen.
fn immutable(field: &Path, unset: &[Json<'_>], here: &Schema) -> Option<Value> {
    let last = field.names().last()?;
    let name = property(last)?;
    let is_uuid = here.format.as_deref() == Some("uuid");
    let spell = |text: String| {
        if is_uuid { format!("{text}.lowerAscii().replace('-', '')") } else { text }
    };
    let (old, new) = (spell(format!("oldSelf.{name}")), spell(format!("self.{name}")));
    let unset = unset.iter().map(|value| {
        let text = value.to_text();
        if is_uuid { text.to_lowercase().replace('-', "") } else { text }
    });
    let unset: Vec<String> = unset.collect();
    let free = match unset.as_slice() {
        [] => String::new(),
        unset => format!(" || {old} in [{}]", unset.join(", ")),
    };
    let rule = format!("!has(oldSelf.{name}){free} || (has(self.{name}) && {new} == {old})");
    let mut validation = json!({"rule": rule, "message": format!("{field} is immutable")});
    if last.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.') {
        set(&mut validation, "fieldPath", format!(".{last}").into());
    }
    Some(validation)
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

/// Each need by itself: one that was missed before may be the next to be repaired. The API server's own ratcheting
/// forgives only what is wholly as it was.
fn requires(field: &Path, needs: &[Path], here: &Schema) -> Option<Value> {
    let names: Option<Vec<&str>> = needs.iter().map(|need| Some(&**need.names().last()?)).collect();
    let names = names?;
    let rule = |name: &&str| {
        let (now, before) = (has(name, here, "self")?, has(name, here, "oldSelf.value()")?);
        Some(format!("({now} || oldSelf.hasValue() && !({before}))"))
    };
    let rules: Option<Vec<String>> = names.iter().map(rule).collect();
    let message = format!("{} must be set where {field} is", names.join(" and "));
    Some(json!({"rule": rules?.join(" && "), "message": message, "optionalOldSelf": true}))
}

/// Whether an object has a property that is not empty.
fn has(name: &str, holder: &Schema, object: &str) -> Option<String> {
    let (schema, name) = (holder.properties.get(name)?, property(name)?);
    Some(match (schema.kind.as_deref(), schema.required.first()) {
        (Some("array" | "string"), _) => {
            format!("has({object}.{name}) && size({object}.{name}) > 0")
        }
        // A null has no members: asking for one tells it from an object.
        (_, Some(inner)) => {
            format!("has({object}.{name}) && has({object}.{name}.{})", property(inner)?)
        }
        (_, None) => format!("has({object}.{name})"),
    })
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
