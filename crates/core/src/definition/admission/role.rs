//! Where it is read what an object is there for, as it is written and as it is checked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::definition::path::Path;

/// Where it is read what an object is there for: one of a label and a field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Role")]
pub(super) struct RoleSpec {
    /// A label.
    pub(super) label: Option<String>,
    /// A field, as the newest version names it.
    pub(super) field: Option<String>,
}

/// A place of an object that says what it is there for.
#[derive(Clone, Debug)]
pub(crate) struct RoleSource(Path);

impl RoleSource {
    pub(super) fn label(key: &str) -> Self {
        Self(Path::default().join("metadata").join("labels").join(key))
    }

    pub(super) fn field(at: Path) -> Self {
        Self(at)
    }

    /// The field that is looked at.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What an object says there, in the newest version of its kind; nothing where it says nothing.
    pub(crate) fn read(&self, object: &Value) -> Option<String> {
        let found = self.0.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        found.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }
}
