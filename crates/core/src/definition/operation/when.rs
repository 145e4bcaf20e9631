//! `when`: operations with a condition on a field of the older version, or on a fact.
//!
//! The form of the newer version may depend on another field. For example, a store with an address is external, and a
//! store without one is managed. The condition applies only in the conversion to the newer version. In the conversion
//! back, the fields that are present identify the form, so all operations run. Values that would not return by
//! themselves are kept, as always.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::compiler::{Branching, Compiler};
use super::condition::{Condition, ConditionTest, TRUTHS};
use crate::definition::place::Place;
use crate::definition::side::Side;
use crate::definition::yaml::Spanned;
use crate::json::Json;

/// Operations with a condition: either `field` or `fact`, and the required value.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "When")]
pub(crate) struct WhenSpec<O> {
    /// A string, number or boolean of the older version, with a test: `set`, `is` or `in`.
    field: Option<String>,
    /// A fact of the kind conversion, true or false. The fact must be true, or equal `is`.
    fact: Option<String>,
    /// The field must be set, or must not be set. Null and an empty string count as not set.
    set: Option<bool>,
    /// The required value of the field or the fact.
    is: Option<Value>,
    /// The allowed values of the field or the fact.
    #[serde(rename = "in")]
    among: Option<Vec<Value>>,
    /// The changes if the condition holds.
    operations: Vec<Spanned<O>>,
    /// The changes if the condition does not hold.
    otherwise: Option<Vec<Spanned<O>>>,
}

impl<O> Branching<O> for WhenSpec<O> {
    fn branches(&self) -> [&[Spanned<O>]; 2] {
        [&self.operations, self.otherwise.as_deref().unwrap_or_default()]
    }

    fn condition(&self, compiler: &mut Compiler<'_>) -> Option<Condition> {
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
        let (tested, holds) = match (field, fact, set, values) {
            (Some(field), None, Some(set), None) => (ConditionTest::IsSet(scalar(field, compiler)?), *set),
            (Some(field), None, None, Some(values)) => {
                let place = scalar(field, compiler)?;
                let values: Vec<_> = values.iter().map(|value| Json::owned(value.to_string())).collect();
                for value in values.iter().filter(|value| !place.schema.admits(value)) {
                    compiler.problem(format!("when: {} can never be {}", place.path, value.to_text()));
                }
                (ConditionTest::Among(place, values), true)
            }
            (None, Some(fact), None, values) => {
                compiler.knows_fact(fact)?;
                let value_text = |value: &&Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let values: Vec<String> =
                    values.map_or_else(|| vec!["true".to_owned()], |all| all.iter().map(value_text).collect());
                if let Some(other) = values.iter().find(|value| !TRUTHS.contains(&value.as_str())) {
                    compiler.problem(format!("when: the fact {fact} is true or false, and can never be {other:?}"));
                }
                (ConditionTest::Fact(fact.clone(), values), true)
            }
            _ => {
                compiler.problem(FORMS);
                return None;
            }
        };
        Some(Condition { tested: Arc::new(tested), holds })
    }
}

/// The forms of a condition, for messages.
const FORMS: &str = "when: needs one of {field: FIELD, set: true}, {field: FIELD, is: VALUE}, {field: FIELD, in: VALUES}, {fact: \
     NAME} and {fact: NAME, is: false}, next to `operations`";

/// A scalar field of the older version.
fn scalar(path: &str, compiler: &mut Compiler<'_>) -> Option<Place> {
    let place = compiler.place(Side::Older, path)?;
    if !place.schema.is_scalar() {
        compiler.problem(format!("when: {} must be a string, a number or a boolean", place.path));
        return None;
    }
    Some(place)
}
