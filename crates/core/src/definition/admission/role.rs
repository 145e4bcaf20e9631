//! The place of the role of an object, as written and as compiled.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::definition::path::Path;

/// The place of the role of an object: either a label or a field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Role")]
pub(super) struct RoleSpec {
    /// A label.
    pub(super) label: Option<String>,
    /// A field of the newest version.
    pub(super) field: Option<String>,
}

/// A place that contains the role of an object.
#[derive(Clone, Debug)]
pub struct RoleSource(Path);

impl RoleSource {
    pub(super) fn label(key: &str) -> Self {
        Self(Path::default().join("metadata").join("labels").join(key))
    }

    pub(super) fn field(at: Path) -> Self {
        Self(at)
    }

    /// The field that is read.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the role from an object in the newest version of its kind. `None` if it is absent.
    pub fn read(&self, object: &Value) -> Option<String> {
        let found = self.0.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        found.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    }
}
