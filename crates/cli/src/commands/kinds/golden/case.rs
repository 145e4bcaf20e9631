//! A recorded conversion.

use anyhow::Context;
use pointsman_core::laws::{Value, without_ours};
use pointsman_core::webhook::Webhook;

use super::comparison::{differences, merged};
use crate::commands::json_tree::JsonTree;

/// A case, as written in a file.
pub(super) struct GoldenCase<'t> {
    pub(super) name: String,
    object: &'t JsonTree,
    to: &'t str,
    edit: Option<&'t JsonTree>,
    expected: Option<&'t JsonTree>,
}

/// The result of a case.
pub(super) struct CaseResult {
    /// The converted object, without the annotations of pointsman.
    pub(super) object: JsonTree,
    /// The differences from the expected object. `None` if the case names no expected object.
    pub(super) differences: Option<Vec<String>>,
}

impl<'t> GoldenCase<'t> {
    /// Reads a case. `number` is its position in the file, from 1.
    pub(super) fn read(written: &'t JsonTree, number: usize) -> anyhow::Result<Self> {
        let JsonTree::Object(members) = written else { anyhow::bail!("case {number} is no mapping") };
        // The result of another conversion is for readers.
        let known = ["name", "object", "to", "edit", "expected", "upstream"];
        if let Some((name, _)) = members.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            anyhow::bail!("case {number}: unknown key {name:?}. Known names: {}", known.join(", "));
        }
        let key = |name: &str| written.get(name).with_context(|| format!("case {number}: the key {name:?} is missing"));
        let text =
            |name: &str| key(name)?.as_str().with_context(|| format!("case {number}: {name:?} must be a string"));
        Ok(Self {
            name: text("name")?.to_owned(),
            object: key("object")?,
            to: text("to")?,
            edit: written.get("edit"),
            expected: written.get("expected"),
        })
    }

    /// Converts the object. With an edit, converts the edited object back to the version of the first one.
    ///
    /// # Errors
    /// If the kind or a version is unknown, or the conversion refuses the object.
    pub(super) fn run(&self, webhook: &Webhook) -> anyhow::Result<CaseResult> {
        let api_version =
            self.object.get("apiVersion").and_then(JsonTree::as_str).context("`object` has no apiVersion")?;
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let to = if self.to.contains('/') { self.to.to_owned() } else { format!("{group}/{}", self.to) };
        let convert = |object: &JsonTree, to: &str| -> anyhow::Result<JsonTree> {
            JsonTree::from_json(&webhook.convert(&object.to_string(), to)?.text)
        };
        let mut object = convert(self.object, &to)?;
        if let Some(edit) = self.edit {
            object = convert(&merged(object, edit), api_version)?;
        }
        let object = without_kept(&object)?;
        let expected = self.expected.map(without_kept).transpose()?;
        let differences = expected.map(|expected| differences(&expected, &object));
        Ok(CaseResult { object, differences })
    }
}

/// An object without kept annotations, which depend on the whole definition.
fn without_kept(object: &JsonTree) -> anyhow::Result<JsonTree> {
    JsonTree::from_json(&without_ours(&Value::read(&object.to_string())?).to_text())
}
