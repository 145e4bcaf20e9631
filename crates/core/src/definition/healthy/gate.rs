//! Gates: a small language of what has to hold of an object.

use std::cmp::Ordering;

use serde_json::Value;

use crate::apimachinery::excerpt;
use crate::definition::path::Path;
use crate::upgrade;

/// Something that holds of an object or not.
#[derive(Clone, Debug)]
pub(super) enum Gate {
    All(Vec<Self>),
    Any(Vec<Self>),
    None(Vec<Self>),
    /// A field that must have one of these values.
    Among {
        field: Path,
        values: Vec<Value>,
    },
    /// A field that must be no less than a number, or no older than a version.
    AtLeast {
        field: Path,
        least: Value,
    },
    /// A field that must be there, or must not.
    Present {
        field: Path,
        present: bool,
    },
    /// A field that must be no less than `metadata.generation`.
    Observed {
        field: Path,
    },
    /// An item of a list of conditions.
    Condition {
        list: Path,
        name: String,
        is: String,
    },
}

impl Gate {
    /// What does not hold, in words; nothing where all of it holds.
    pub(super) fn unmet(&self, object: &Value) -> Option<String> {
        match self {
            Self::All(gates) => gates.iter().find_map(|gate| gate.unmet(object)),
            Self::Any(gates) => {
                let unmet: Vec<String> = gates.iter().map_while(|gate| gate.unmet(object)).collect();
                (unmet.len() == gates.len()).then(|| unmet.join(", and "))
            }
            Self::None(gates) => {
                let holds = gates.iter().find(|gate| gate.unmet(object).is_none());
                holds.map(|gate| format!("{}, and must not be so", gate.held()))
            }
            Self::Among { field, values } => {
                let value = look(object, field);
                let is_one = value.is_some_and(|value| values.contains(value));
                let wanted = match values.as_slice() {
                    [one] => one.to_string(),
                    several => {
                        format!("one of {}", several.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
                    }
                };
                (!is_one).then(|| format!("{field} is {}, and must be {wanted}", shown(value)))
            }
            Self::AtLeast { field, least } => {
                let value = look(object, field);
                let order = value.and_then(|value| compare(value, least));
                let reached = order.is_some_and(Ordering::is_ge);
                (!reached).then(|| format!("{field} is {}, and must be at least {least}", shown(value)))
            }
            Self::Present { field, present } => {
                let is_there = look(object, field).is_some_and(|value| !value.is_null());
                match (is_there, present) {
                    (false, true) => Some(format!("{field} is not set, and must be")),
                    (true, false) => Some(format!("{field} is set, and must not be")),
                    _ => None,
                }
            }
            Self::Observed { field } => {
                let wanted = object.pointer("/metadata/generation").and_then(Value::as_i64)?;
                let seen = look(object, field);
                let is_seen = seen.and_then(Value::as_i64).is_some_and(|seen| seen >= wanted);
                (!is_seen).then(|| format!("{field} is {}, and metadata.generation is {wanted}", shown(seen)))
            }
            Self::Condition { list, name, is } => {
                let conditions = look(object, list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let text = |item: &Value, member: &str| item.get(member).and_then(Value::as_str).map(str::to_owned);
                let found = conditions.iter().find(|item| text(item, "type").as_ref() == Some(name));
                let now = found.and_then(|item| text(item, "status"));
                let told = now.as_deref().map_or_else(|| "not there".to_owned(), excerpt);
                (now.as_ref() != Some(is)).then(|| format!("condition {name} is {told}, and must be {is}"))
            }
        }
    }

    /// The fields that are looked at.
    pub(super) fn fields(&self) -> Vec<&Path> {
        match self {
            Self::All(gates) | Self::Any(gates) | Self::None(gates) => gates.iter().flat_map(Self::fields).collect(),
            Self::Among { field, .. }
            | Self::AtLeast { field, .. }
            | Self::Present { field, .. }
            | Self::Observed { field }
            | Self::Condition { list: field, .. } => vec![field],
        }
    }

    /// What holds where this does.
    fn held(&self) -> String {
        let all = |gates: &[Self], by: &str| gates.iter().map(Self::held).collect::<Vec<_>>().join(by);
        match self {
            Self::All(gates) => all(gates, " and "),
            Self::Any(gates) => all(gates, " or "),
            Self::None(gates) => format!("not ({})", all(gates, " or ")),
            Self::Among { field, values } => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                format!("{field} is {}", values.join(" or "))
            }
            Self::AtLeast { field, least } => format!("{field} is at least {least}"),
            Self::Present { field, present: true } => format!("{field} is set"),
            Self::Present { field, present: false } => format!("{field} is not set"),
            Self::Observed { field } => format!("{field} is metadata.generation"),
            Self::Condition { name, is, .. } => format!("condition {name} is {is}"),
        }
    }
}

/// What is in a field.
fn look<'v>(object: &'v Value, field: &Path) -> Option<&'v Value> {
    field.names().iter().try_fold(object, |value, name| value.get(name.as_ref()))
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "not set".to_owned(), |value| excerpt(&value.to_string()))
}

/// Numbers as numbers, other texts as versions; nothing where they are neither.
fn compare(value: &Value, least: &Value) -> Option<Ordering> {
    if let (Some(value), Some(least)) = (value.as_f64(), least.as_f64()) {
        return value.partial_cmp(&least);
    }
    let version = |value: &Value| value.as_str().and_then(upgrade::version);
    Some(version(value)?.cmp_precedence(&version(least)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Path {
        Path::parse(text).unwrap()
    }

    fn object() -> Value {
        json!({
            "metadata": {"generation": 3},
            "status": {
                "observedGeneration": 2, "phase": "Ready", "nodes": 3, "version": "v1.18.2", "gone": null,
                "conditions": [{"type": "Ready", "status": "False"}],
            },
        })
    }

    #[test]
    fn what_does_not_hold_is_said() {
        let is = |field: &str, values: &[Value]| Gate::Among { field: path(field), values: values.to_vec() };
        let least = |field: &str, least: Value| Gate::AtLeast { field: path(field), least };
        let present = |field: &str, present| Gate::Present { field: path(field), present };
        let condition = |name: &str, is: &str| Gate::Condition {
            list: path("status.conditions"),
            name: name.to_owned(),
            is: is.to_owned(),
        };
        let observed = || Gate::Observed { field: path("status.observedGeneration") };
        let cases = [
            (is("status.phase", &[json!("Ready")]), None),
            (is("status.phase", &[json!("Done")]), Some("status.phase is \"Ready\", and must be \"Done\"")),
            (is("status.no", &[json!(1), json!(2)]), Some("status.no is not set, and must be one of 1, 2")),
            (least("status.nodes", json!(3)), None),
            (least("status.nodes", json!(4)), Some("status.nodes is 3, and must be at least 4")),
            (least("status.version", json!("1.18")), None),
            (
                least("status.version", json!("1.19")),
                Some("status.version is \"v1.18.2\", and must be at least \"1.19\""),
            ),
            (least("status.phase", json!("1.19")), Some("status.phase is \"Ready\", and must be at least \"1.19\"")),
            (present("status.gone", true), Some("status.gone is not set, and must be")),
            (present("status.phase", false), Some("status.phase is set, and must not be")),
            (observed(), Some("status.observedGeneration is 2, and metadata.generation is 3")),
            (condition("Ready", "False"), None),
            (condition("Ready", "True"), Some("condition Ready is False, and must be True")),
            (condition("Live", "True"), Some("condition Live is not there, and must be True")),
            (Gate::None(vec![condition("Ready", "False")]), Some("condition Ready is False, and must not be so")),
            (Gate::None(vec![condition("Ready", "True")]), None),
            (Gate::Any(vec![observed(), is("status.phase", &[json!("Ready")])]), None),
            (
                Gate::Any(vec![present("status.gone", true), present("status.phase", false)]),
                Some("status.gone is not set, and must be, and status.phase is set, and must not be"),
            ),
            (Gate::All(vec![is("status.phase", &[json!("Ready")]), condition("Ready", "False")]), None),
        ];
        for (gate, said) in cases {
            assert_eq!(gate.unmet(&object()).as_deref(), said, "{gate:?}");
        }
    }
}
