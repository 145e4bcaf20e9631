//! Gates: a small language for conditions on an object.

use std::cmp::Ordering;

use crate::apimachinery::excerpt;
use crate::definition::path::Path;
use crate::{definition::upgrade, json::Json};

/// A condition on an object. An absent value fails the condition: a gate never opens because of missing information.
#[derive(Clone, Debug)]
pub enum Gate {
    /// Every inner gate passes.
    All(Vec<Self>),
    /// One inner gate passes.
    Any(Vec<Self>),
    /// No inner gate passes.
    None(Vec<Self>),
    /// The field must have one of these values.
    Among {
        /// The field.
        field: Path,
        /// The values.
        values: Vec<Json<'static>>,
    },
    /// The field must have none of these values. An absent field passes.
    NotAmong {
        /// The field.
        field: Path,
        /// The values.
        values: Vec<Json<'static>>,
    },
    /// The field must be at least a number, or at least a version.
    AtLeast {
        /// The field.
        field: Path,
        /// The lowest value that passes.
        least: Json<'static>,
    },
    /// The field must be present, or absent.
    Present {
        /// The field.
        field: Path,
        /// Whether the field must exist.
        present: bool,
    },
    /// The field must be at least `metadata.generation`.
    Observed {
        /// The field.
        field: Path,
    },
    /// An item of a list of conditions.
    Condition {
        /// The list of conditions.
        list: Path,
        /// The type of the condition.
        name: String,
        /// The required status.
        is: String,
    },
}

/// The interface of an object for gates.
pub(crate) trait Gated {
    /// The value of a field. Null counts as absent.
    fn value(&mut self, field: &Path) -> Option<Json<'static>>;

    /// `metadata.generation`.
    fn generation(&self) -> Option<i64>;

    /// The name of a field in messages.
    fn name(&self, field: &Path) -> String {
        field.to_string()
    }
}

impl Gate {
    /// Describes the first unmet condition. `None` if the gate is met.
    pub(crate) fn unmet(&self, object: &mut dyn Gated) -> Option<String> {
        match self {
            Self::All(gates) => gates.iter().find_map(|gate| gate.unmet(object)),
            Self::Any(gates) => {
                let unmet: Vec<String> = gates.iter().map_while(|gate| gate.unmet(object)).collect();
                (unmet.len() == gates.len()).then(|| unmet.join(", and "))
            }
            Self::None(gates) => {
                let holds = gates.iter().find(|gate| gate.unmet(object).is_none())?;
                Some(format!("{}, and must not be so", holds.held()))
            }
            Self::Among { field, values } => {
                let value = object.value(field);
                let wanted = match values.as_slice() {
                    [one] => one.to_text(),
                    several => format!("one of {}", texts(several, ", ")),
                };
                (!is_among(value.as_ref(), values)).then(|| is_not(object, field, value.as_ref(), &wanted))
            }
            Self::NotAmong { field, values } => {
                let value = object.value(field);
                let wanted = format!("none of {}", texts(values, ", "));
                is_among(value.as_ref(), values).then(|| is_not(object, field, value.as_ref(), &wanted))
            }
            Self::AtLeast { field, least } => {
                let value = object.value(field);
                let order = value.as_ref().and_then(|value| compare(value, least));
                let wanted = format!("at least {}", least.to_text());
                (!order.is_some_and(Ordering::is_ge)).then(|| is_not(object, field, value.as_ref(), &wanted))
            }
            Self::Present { field, present } => match (object.value(field), present) {
                (None, true) => Some(format!("{} is not set, and must be", object.name(field))),
                (Some(_), false) => Some(format!("{} is set, and must not be", object.name(field))),
                _ => None,
            },
            Self::Observed { field } => unseen(object, field),
            Self::Condition { list, name, is } => {
                let conditions = object.value(list);
                let now = conditions.as_ref().and_then(|conditions| status(conditions, name));
                let shown = now.as_deref().map_or_else(|| "missing".to_owned(), excerpt);
                (now.as_ref() != Some(is)).then(|| format!("condition {name} is {shown}, and must be {is}"))
            }
        }
    }

    /// The fields that the gate reads.
    pub fn fields(&self) -> Vec<&Path> {
        match self {
            Self::All(gates) | Self::Any(gates) | Self::None(gates) => gates.iter().flat_map(Self::fields).collect(),
            Self::Among { field, .. }
            | Self::NotAmong { field, .. }
            | Self::AtLeast { field, .. }
            | Self::Present { field, .. }
            | Self::Observed { field }
            | Self::Condition { list: field, .. } => vec![field],
        }
    }

    /// The texts that may contain placeholders: its values.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: &Json<'static>| value.as_str().map(std::borrow::Cow::into_owned);
        match self {
            Self::All(gates) | Self::Any(gates) | Self::None(gates) => gates.iter().flat_map(Self::texts).collect(),
            Self::Among { values, .. } | Self::NotAmong { values, .. } => values.iter().filter_map(text).collect(),
            Self::AtLeast { least, .. } => text(least).into_iter().collect(),
            Self::Present { .. } | Self::Observed { .. } | Self::Condition { .. } => Vec::new(),
        }
    }

    /// Returns the gate with the placeholders in its values replaced.
    pub fn filled(&self, fill: &dyn Fn(&str) -> String) -> Self {
        let all = |gates: &[Self]| gates.iter().map(|gate| gate.filled(fill)).collect();
        let value = |value: &Json<'static>| match value.as_str() {
            Some(text) => Json::owned(serde_json::Value::String(fill(&text)).to_string()),
            None => value.clone(),
        };
        let values = |values: &[Json<'static>]| values.iter().map(value).collect();
        match self {
            Self::All(gates) => Self::All(all(gates)),
            Self::Any(gates) => Self::Any(all(gates)),
            Self::None(gates) => Self::None(all(gates)),
            Self::Among { field, values: these } => Self::Among { field: field.clone(), values: values(these) },
            Self::NotAmong { field, values: these } => Self::NotAmong { field: field.clone(), values: values(these) },
            Self::AtLeast { field, least } => Self::AtLeast { field: field.clone(), least: value(least) },
            Self::Present { .. } | Self::Observed { .. } | Self::Condition { .. } => self.clone(),
        }
    }

    /// Describes the condition.
    fn held(&self) -> String {
        let all = |gates: &[Self], by: &str| gates.iter().map(Self::held).collect::<Vec<_>>().join(by);
        match self {
            Self::All(gates) => all(gates, " and "),
            Self::Any(gates) => all(gates, " or "),
            Self::None(gates) => format!("not ({})", all(gates, " or ")),
            Self::Among { field, values } => format!("{field} is {}", texts(values, " or ")),
            Self::NotAmong { field, values } => format!("{field} is none of {}", texts(values, ", ")),
            Self::AtLeast { field, least } => format!("{field} is at least {}", least.to_text()),
            Self::Present { field, present: true } => format!("{field} is set"),
            Self::Present { field, present: false } => format!("{field} is not set"),
            Self::Observed { field } => format!("{field} is metadata.generation"),
            Self::Condition { name, is, .. } => format!("condition {name} is {is}"),
        }
    }
}

fn is_among(value: Option<&Json<'_>>, values: &[Json<'static>]) -> bool {
    value.is_some_and(|value| values.iter().any(|one| one.same(value)))
}

fn is_not(object: &dyn Gated, field: &Path, value: Option<&Json<'_>>, wanted: &str) -> String {
    let is = value.map_or_else(|| "not set".to_owned(), |value| excerpt(&value.to_text()));
    format!("{} is {is}, and must be {wanted}", object.name(field))
}

/// Returns why the last change of the spec is not yet observed by this field. If the field is absent, no change is
/// observed.
fn unseen(object: &mut dyn Gated, field: &Path) -> Option<String> {
    let value = object.value(field);
    let seen = value.as_ref().and_then(|value| value.scalar()?.parse::<i64>().ok());
    let Some(wanted) = object.generation() else {
        return Some("metadata.generation is not set, so the observed generation cannot be compared".to_owned());
    };
    let is = || value.map_or_else(|| "not set".to_owned(), |value| excerpt(&value.to_text()));
    seen.is_none_or(|seen| seen < wanted)
        .then(|| format!("{} is {}, and metadata.generation is {wanted}", object.name(field), is()))
}

/// The status of a condition in a list.
fn status(conditions: &Json<'_>, name: &str) -> Option<String> {
    let items = conditions.elements();
    let text = |item: &Json<'_>, member: &str| Some(item.get(member)?.as_str()?.into_owned());
    let found = items.iter().find(|item| text(item, "type").as_deref() == Some(name))?;
    text(found, "status")
}

fn texts(values: &[Json<'_>], between: &str) -> String {
    values.iter().map(Json::to_text).collect::<Vec<_>>().join(between)
}

/// Compares numbers as numbers and other texts as versions. `None` for anything else.
fn compare(value: &Json<'_>, least: &Json<'_>) -> Option<Ordering> {
    let number = |value: &Json<'_>| value.scalar()?.parse::<f64>().ok();
    if let (Some(value), Some(least)) = (number(value), number(least)) {
        return value.partial_cmp(&least);
    }
    let version = |value: &Json<'_>| upgrade::version(&value.as_str()?);
    Some(version(value)?.cmp_precedence(&version(least)?))
}
