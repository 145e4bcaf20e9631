//! `when`: operations that run only where a field of the older version, or a fact, says so.
//!
//! Some of what an object is in the newer version depends on another field: with an address the store is somebody's
//! own, without one it is ours. A condition decides on the way up alone. On the way down each form is said by its own
//! fields, so all of the operations run; what then would not come up again by itself is kept, as always.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::compiler::Compiler;
use crate::definition::place::Place;
use crate::definition::side::Side;
use crate::json::Json;

/// Operations under a condition: one of `field` and `fact`, and what it must say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "When")]
pub(crate) struct WhenSpec<O> {
    /// A string, number or boolean of the older version of which one of `set`, `is` and `in` must hold.
    field: Option<String>,
    /// A fact of the `becomes` block, which is true or false. It must be true, or as `is` says.
    fact: Option<String>,
    /// The field must be set, or must not: null and an empty string count as not set.
    set: Option<bool>,
    /// The value that the field or the fact must have.
    is: Option<Value>,
    /// The values of which the field or the fact must have one.
    #[serde(rename = "in")]
    among: Option<Vec<Value>>,
    /// What changes where it holds.
    #[schemars(with = "Vec<O>")]
    operations: Vec<Spanned<O>>,
    /// What changes where it does not.
    #[schemars(with = "Option<Vec<O>>")]
    otherwise: Option<Vec<Spanned<O>>>,
}

impl<O> WhenSpec<O> {
    /// What changes where the condition holds, and where it does not.
    pub(super) fn branches(&self) -> [&[Spanned<O>]; 2] {
        [&self.operations, self.otherwise.as_deref().unwrap_or_default()]
    }

    /// The condition of `operations`; that of `otherwise` is its opposite.
    pub(super) fn condition(&self, compiler: &mut Compiler<'_>) -> Option<Condition> {
        let Self { field, fact, set, is, among, .. } = self;
        let values: Option<Vec<&Value>> = match (is, among) {
            (None, None) => None,
            (Some(is), None) => Some(vec![is]),
            (None, Some(among)) if !among.is_empty() => Some(among.iter().collect()),
            _ => {
                compiler.problem(FORMS);
                return None;
            }
        };
        let (asked, holds) = match (field, fact, set, values) {
            (Some(field), None, Some(set), None) => (Asked::IsSet(scalar(field, compiler)?), *set),
            (Some(field), None, None, Some(values)) => {
                let place = scalar(field, compiler)?;
                let values: Vec<_> = values.iter().map(|value| Json::owned(value.to_string())).collect();
                for value in values.iter().filter(|value| !place.schema.admits(value)) {
                    compiler.problem(format!("when: {} can never be {}", place.path, value.to_text()));
                }
                (Asked::Among(place, values), true)
            }
            (None, Some(fact), None, values) => {
                compiler.knows_fact(fact)?;
                let said = |value: &&Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let values: Vec<String> =
                    values.map_or_else(|| vec!["true".to_owned()], |all| all.iter().map(said).collect());
                if let Some(other) = values.iter().find(|value| !TRUTHS.contains(&value.as_str())) {
                    compiler.problem(format!("when: the fact {fact} is true or false, and can never be {other:?}"));
                }
                (Asked::Fact(fact.clone(), values), true)
            }
            _ => {
                compiler.problem(FORMS);
                return None;
            }
        };
        Some(Condition { asked: Arc::new(asked), holds })
    }
}

/// What a condition may look like.
const FORMS: &str = "when: needs one of {field: FIELD, set: true}, {field: FIELD, is: VALUE}, {field: FIELD, in: \
                     VALUES}, {fact: NAME} and {fact: NAME, is: false}, beside `operations`";

/// What a fact may be.
const TRUTHS: [&str; 2] = ["true", "false"];

/// A field of the older version that has no inside.
fn scalar(path: &str, compiler: &mut Compiler<'_>) -> Option<Place> {
    let place = compiler.place(Side::Older, path)?;
    if matches!(place.schema.kind.as_deref(), None | Some("object" | "array")) {
        compiler.problem(format!("when: {} must be a string, a number or a boolean", place.path));
        return None;
    }
    Some(place)
}

/// Whether an operation runs on the way to the newer version.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    asked: Arc<Asked>,
    /// What the answer must be.
    holds: bool,
}

/// What a condition asks.
#[derive(Debug)]
enum Asked {
    /// Whether a field of the older version is set.
    IsSet(Place),
    /// Whether it has one of these values.
    Among(Place, Vec<Json<'static>>),
    /// Whether a fact is one of these.
    Fact(String, Vec<String>),
}

impl Asked {
    fn is_about_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fact(one, _), Self::Fact(two, _)) => one == two,
            (Self::IsSet(one) | Self::Among(one, _), Self::IsSet(two) | Self::Among(two, _)) => one.path == two.path,
            _ => false,
        }
    }

    /// The values of a field that it names.
    fn values(&self) -> &[Json<'static>] {
        match self {
            Self::Among(_, values) => values,
            Self::IsSet(_) | Self::Fact(..) => &[],
        }
    }
}

impl Condition {
    /// The opposite.
    pub(super) fn not(&self) -> Self {
        Self { asked: Arc::clone(&self.asked), holds: !self.holds }
    }

    /// Whether no object can meet all of these, for what the last one asks about. Each value that one of them names is
    /// tried, and so are nothing, and a value that none of them names.
    pub(super) fn exclude_each_other(conditions: &[Self]) -> bool {
        let Some(last) = conditions.last() else { return false };
        let alike: Vec<&Self> = conditions.iter().filter(|one| one.asked.is_about_the_same(&last.asked)).collect();
        let is_met = |value: Option<&Json<'static>>, fact: &str| {
            let met = |one: &&Self| one.is_met(&mut |_| value.cloned(), &|_| Some(fact.to_owned())) == Ok(true);
            alike.iter().all(met)
        };
        let Some(place) = last.field() else { return !TRUTHS.iter().any(|fact| is_met(None, fact)) };
        let mut named: Vec<Json<'static>> = alike.iter().flat_map(|one| one.asked.values()).cloned().collect();
        named.extend(match place.schema.kind.as_deref() {
            Some("boolean") => vec![Json::borrowed("true"), Json::borrowed("false")],
            _ => vec![Json::borrowed(r#""a value that nobody names""#)],
        });
        !(is_met(None, "") || named.iter().any(|value| is_met(Some(value), "")))
    }

    /// The field that is asked for; none where it is a fact.
    pub(crate) fn field(&self) -> Option<&Place> {
        match &*self.asked {
            Asked::IsSet(place) | Asked::Among(place, _) => Some(place),
            Asked::Fact(..) => None,
        }
    }

    /// Whether it holds of an object of the older version. `value` says what is in a field there, `fact` what a fact
    /// is.
    ///
    /// # Errors
    /// The name of a fact that is needed, and that nobody knows.
    pub(crate) fn is_met(
        &self,
        value: &mut dyn FnMut(&Place) -> Option<Json<'static>>,
        fact: &dyn Fn(&str) -> Option<String>,
    ) -> Result<bool, &str> {
        let answer = match &*self.asked {
            Asked::IsSet(place) => value(place).is_some_and(|value| is_set(&value)),
            Asked::Among(place, values) => value(place).is_some_and(|value| values.iter().any(|one| one.same(&value))),
            Asked::Fact(name, values) => values.contains(&fact(name).ok_or(name.as_str())?),
        };
        Ok(answer == self.holds)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.holds { "" } else { "not " };
        match &*self.asked {
            Asked::IsSet(place) => write!(f, "{} is {not}set", place.path),
            Asked::Among(place, values) => {
                let values: Vec<String> = values.iter().map(Json::to_text).collect();
                write!(f, "{} is {not}{}", place.path, values.join(" or "))
            }
            Asked::Fact(name, values) => write!(f, "{name} is {not}{}", values.join(" or ")),
        }
    }
}

/// Whether a value counts as set: null and an empty string do not.
pub(crate) fn is_set(value: &Json<'_>) -> bool {
    !value.is_null() && value.as_str().is_none_or(|text| !text.is_empty())
}
