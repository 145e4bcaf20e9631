//! Required fields that objects may lack, because the definition accepts that.
//!
//! The API server validates writes and no reads: an object without a required field can be read, and a write needs the
//! field. An object can lack a field that its version requires if it was written in a version without the requirement.
//! The definition then treats the field as optional. Source: `apiextensions-apiserver
//! pkg/apiserver/conversion/converter.go`, which checks the metadata of converted objects alone.

use std::collections::BTreeSet;

use serde_json::Value;

use super::accept::AcceptSpec;
use crate::definition::path::Path;
use crate::definition::yaml::Spanned;

/// The fields that no longer are required in a schema, by their names in messages.
pub(in crate::definition) type AcceptedAbsences = BTreeSet<String>;

/// The absences that are accepted between two versions.
///
/// An entry with the path of a field covers the field. An entry with `.**` covers the fields inside that the other
/// version does not require.
pub(in crate::definition) struct Allowance<'a> {
    accepted: Vec<&'a AcceptSpec>,
    /// The absences of the other version, which continue in this one.
    continued: &'a AcceptedAbsences,
}

impl<'a> Allowance<'a> {
    pub(in crate::definition) fn new(accepted: &'a [Spanned<AcceptSpec>], continued: &'a AcceptedAbsences) -> Self {
        let is_required = |spec: &&AcceptSpec| spec.names().iter().any(|name| name == REQUIRED);
        Self { accepted: accepted.iter().map(|spec| &spec.value).filter(is_required).collect(), continued }
    }

    /// Returns the schema of a version without the accepted requirements, and their fields. `None` if there are none.
    /// `other` is the schema of the other version.
    pub(in crate::definition) fn applied(&self, schema: &Value, other: &Value) -> Option<(Value, AcceptedAbsences)> {
        if self.accepted.is_empty() && self.continued.is_empty() {
            return None;
        }
        let (mut schema, mut absences) = (schema.clone(), AcceptedAbsences::new());
        self.apply(&mut schema, Some(other), &Place::default(), &mut absences);
        (!absences.is_empty()).then_some((schema, absences))
    }

    fn apply(&self, schema: &mut Value, other: Option<&Value>, at: &Place, absences: &mut AcceptedAbsences) {
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|field| {
                let is_head = |field: &str| at.is_object() && HEAD.contains(&field);
                let Some(field) = field.as_str().filter(|field| !is_head(field)) else { return true };
                let name = at.field(field).name();
                let is_allowed = self.allows(&name, other.is_some_and(|other| requires(other, field)));
                if is_allowed {
                    absences.insert(name);
                }
                !is_allowed
            });
        }
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for (field, inner) in properties {
                let other = other.and_then(|other| other.get("properties")?.get(field));
                self.apply(inner, other, &at.field(field), absences);
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get_mut(key).filter(|inner| inner.is_object()) {
                self.apply(inner, other.and_then(|other| other.get(key)), &at.item(), absences);
            }
        }
    }

    /// Returns whether objects may lack a field. `both` is true if both versions require the field.
    fn allows(&self, name: &str, both: bool) -> bool {
        self.continued.contains(name)
            || self.accepted.iter().any(|spec| spec.is_exactly(name) || !both && spec.is_at(name))
    }
}

/// A place in a schema.
#[derive(Default)]
struct Place {
    /// The enclosing items, with `[*]`.
    items: String,
    /// The path from the innermost item.
    pub path: Path,
}

impl Place {
    fn name(&self) -> String {
        self.path.after(&self.items)
    }

    fn field(&self, name: &str) -> Self {
        Self { items: self.items.clone(), path: self.path.join(name) }
    }

    fn item(&self) -> Self {
        Self { items: format!("{}[*]", self.name()), path: Path::default() }
    }

    fn is_object(&self) -> bool {
        self.items.is_empty() && self.path.is_empty()
    }
}

fn requires(schema: &Value, field: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().any(|name| name.as_str() == Some(field))
}

/// The name of the difference.
pub(super) const REQUIRED: &str = "required";

/// Fields that the API server checks itself.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
