//! `when`: operations that run only where a field of the older version, or a fact, says so.
//!
//! Some of what an object is in the newer version depends on another field: with an address the store is somebody's
//! own, without one it is ours. A condition decides on the way up alone. On the way down each form is said by its own
//! fields, so all of the operations run; what then would not come up again by itself is kept, as always.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::compiler::{Branching, Compiler};
use super::condition::{AskedOfObject, Condition, TRUTHS};
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
        let (asked, holds) = match (field, fact, set, values) {
            (Some(field), None, Some(set), None) => (AskedOfObject::IsSet(scalar(field, compiler)?), *set),
            (Some(field), None, None, Some(values)) => {
                let place = scalar(field, compiler)?;
                let values: Vec<_> = values.iter().map(|value| Json::owned(value.to_string())).collect();
                for value in values.iter().filter(|value| !place.schema.admits(value)) {
                    compiler.problem(format!("when: {} can never be {}", place.path, value.to_text()));
                }
                (AskedOfObject::Among(place, values), true)
            }
            (None, Some(fact), None, values) => {
                compiler.knows_fact(fact)?;
                let said = |value: &&Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let values: Vec<String> =
                    values.map_or_else(|| vec!["true".to_owned()], |all| all.iter().map(said).collect());
                if let Some(other) = values.iter().find(|value| !TRUTHS.contains(&value.as_str())) {
                    compiler.problem(format!("when: the fact {fact} is true or false, and can never be {other:?}"));
                }
                (AskedOfObject::Fact(fact.clone(), values), true)
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

/// A field of the older version that has no inside.
fn scalar(path: &str, compiler: &mut Compiler<'_>) -> Option<Place> {
    let place = compiler.place(Side::Older, path)?;
    if matches!(place.schema.kind.as_deref(), None | Some("object" | "array")) {
        compiler.problem(format!("when: {} must be a string, a number or a boolean", place.path));
        return None;
    }
    Some(place)
}
