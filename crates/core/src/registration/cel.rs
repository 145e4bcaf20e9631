//! Rules that a schema can say, as `x-kubernetes-validations` in the CRD: the API server then holds them by itself.
//!
//! Rules of single controller versions, upgrade paths and warnings are not among them: a schema is the same for all
//! controllers, and cannot warn.

use serde_json::{Value, json};

use super::guard::cel_string;
use crate::apimachinery::DURATION;
use crate::definition::admission::{Check, Rule};
use crate::definition::{Kind, Path, Schema};
use crate::webhook::same_field;

/// The CRD of a kind, with the admission rules that its schemas can say.
#[must_use]
pub fn crd(kind: &Kind) -> Value {
    let mut crd = kind.crd().clone();
    let Some(versions) = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut) else {
        return crd;
    };
    for version in versions {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(index) = kind.version(name) else {
            continue;
        };
        let Some(known) = kind.versions.get(index) else {
            continue;
        };
        let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") else {
            continue;
        };
        for rule in kind.admission.rules.iter().filter(|rule| rule.controllers.is_none()) {
            let field = same_field(kind, &rule.field, rule.at, index)
                .filter(|field| known.schema.at(field).is_some());
            let Some(field) = field else {
                continue;
            };
            if let Some((at, validation)) = validation(rule, &field, &known.schema) {
                add(schema, &at, validation);
            }
        }
    }
    crd
}

/// Where a rule stands in the schema, and how it reads.
fn validation(rule: &Rule, field: &Path, schema: &Schema) -> Option<(Path, Value)> {
    let here = schema.at(field)?;
    match &rule.check {
        Check::Immutable { unset } => {
            let name = member(field.names().last()?)?;
            let uuid = here.format.as_deref() == Some("uuid");
            let spell = |text: String| {
                if uuid { format!("{text}.lowerAscii().replace('-', '')") } else { text }
            };
            let (old, new) = (spell(format!("oldSelf.{name}")), spell(format!("self.{name}")));
            let unset: Vec<String> = unset
                .iter()
                .map(|value| {
                    let text = value.to_text();
                    if uuid { text.to_lowercase().replace('-', "") } else { text }
                })
                .collect();
            let free = if unset.is_empty() {
                String::new()
            } else {
                format!(" || {old} in [{}]", unset.join(", "))
            };
            let rule =
                format!("!has(oldSelf.{name}){free} || (has(self.{name}) && {new} == {old})");
            let path = format!(".{}", field.names().last()?);
            let simple = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
            let mut validation = json!({"rule": rule, "message": format!("{field} is immutable")});
            if let (true, Some(object)) = (simple, validation.as_object_mut()) {
                object.insert("fieldPath".to_owned(), Value::String(path));
            }
            Some((field.parent()?, validation))
        }
        Check::Range { min, max } => {
            let low = min.map(|min| format!("self >= {min}"));
            let high = max.map(|max| format!("self <= {max}"));
            let words = match (min, max) {
                (Some(min), Some(max)) => format!("must be within {min} and {max}"),
                (Some(min), None) => format!("must be greater than or equal to {min}"),
                (_, max) => format!("must be less than or equal to {}", max.unwrap_or_default()),
            };
            let rule: Vec<String> = low.into_iter().chain(high).collect();
            Some((field.clone(), json!({"rule": rule.join(" && "), "message": words})))
        }
        Check::Requires { needs } => {
            let has = |need: &Path, object: &str| {
                let name = member(need.names().last()?)?;
                let schema = here.properties.get(need.names().last()?.as_ref())?;
                Some(match schema.kind.as_deref() {
                    Some("array" | "string") => {
                        format!("has({object}.{name}) && size({object}.{name}) > 0")
                    }
                    _ => match schema.required.first() {
                        // A null has no members: asking for one tells it from an object.
                        Some(inner) => {
                            let inner = member(inner)?;
                            format!("has({object}.{name}) && has({object}.{name}.{inner})")
                        }
                        None => format!("has({object}.{name})"),
                    },
                })
            };
            // Each need by itself: one that was missed before may be the next to be repaired. The API server's own
            // ratcheting forgives only what is wholly as it was.
            let rule = |need: &Path| {
                let (now, before) = (has(need, "self")?, has(need, "oldSelf.value()")?);
                Some(format!("({now} || oldSelf.hasValue() && !({before}))"))
            };
            let rules: Option<Vec<String>> = needs.iter().map(rule).collect();
            let names: Vec<String> = needs
                .iter()
                .filter_map(|need| need.names().last().map(ToString::to_string))
                .collect();
            let message = format!("{} must be set where {field} is", names.join(" and "));
            Some((
                field.clone(),
                json!({"rule": rules?.join(" && "), "message": message, "optionalOldSelf": true}),
            ))
        }
        Check::Duration => {
            let rule = format!("self.matches({})", cel_string(DURATION));
            Some((
                field.clone(),
                json!({"rule": rule, "message": "must be a duration such as 2160h or 1h30m"}),
            ))
        }
        Check::Deprecated { .. } | Check::Upgrade { .. } | Check::Warn { .. } => None,
    }
}

/// A property's name as CEL has it, if CEL can name it: `-`, `.`, `/` and keywords are escaped
/// (`apiserver pkg/cel/escaping.go`).
fn member(name: &str) -> Option<String> {
    let sayable =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    if name.is_empty()
        || name.starts_with(|c: char| c.is_ascii_digit())
        || !name.bytes().all(sayable)
    {
        return None;
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    const RESERVED: [&str; 21] = [
        "while",
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
    ];
    Some(match RESERVED.contains(&escaped.as_str()) {
        true => format!("__{escaped}__"),
        false => escaped,
    })
}

/// Adds a validation to the schema at a path.
fn add(schema: &mut Value, path: &Path, validation: Value) {
    let mut here = schema;
    for name in path.names() {
        let Some(next) =
            here.get_mut("properties").and_then(|properties| properties.get_mut(name.as_ref()))
        else {
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
