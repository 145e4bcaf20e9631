//! Names of objects in messages.

use std::fmt;

use super::excerpt::excerpt;
use crate::json::Json;

/// Name and namespace of an object, displayed as `namespace/name`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ObjectName {
    namespace: Option<String>,
    name: String,
}

impl ObjectName {
    /// The name of any object. Falls back to `generateName`, or to a description.
    pub(crate) fn of(object: &Json<'_>) -> Self {
        let part = |part: &str| {
            let value = object.get_path(&["metadata", part])?;
            value.as_str().map(|text| excerpt(&text)).filter(|text| !text.is_empty())
        };
        let generated = || part("generateName").map(|prefix| format!("{prefix}*"));
        let name = part("name").or_else(generated);
        Self { namespace: part("namespace"), name: name.unwrap_or_else(|| "object without a name".to_owned()) }
    }

    /// The name without the namespace.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
