//! The result for one object.

use pointsman_core::definition::Kind;
use pointsman_core::laws::{Value, ours, preview};
use pointsman_core::webhook::Webhook;
use serde::Deserialize;

use super::definition_edit::title;
use crate::commands::convert::cells;
use crate::commands::hash::hash;
use crate::commands::input::InputObject;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::kind_of;
use crate::commands::plan::remarks;
use crate::commands::schema::matches;
use crate::commands::{mutate, validate, yaml};

/// The request of the page.
#[derive(Debug, Deserialize)]
pub(super) struct TryRequest {
    /// Objects, as YAML or JSON.
    pub(super) text: String,
    /// The version to convert to.
    pub(super) to: String,
    /// The text of an edited definition. Without it, the served definitions apply.
    pub(super) definition: Option<String>,
    /// The served kind that the edited definition replaces, as `Kind.group`.
    #[serde(default)]
    pub(super) kind: String,
    /// The CRD of an edited definition. Without it, that of the served kind. Without a definition, a draft is returned.
    pub(super) crd: Option<String>,
}

/// Converts an object there and back, and returns the results of the admission webhooks for its creation.
pub(super) fn tried(webhook: &Webhook, object: &InputObject, to: &str) -> Result<JsonTree, String> {
    let kind = kind_of(webhook, object)?;
    if !kind.versions().any(|version| version == object.version()) {
        let known: Vec<&str> = kind.versions().collect();
        let (label, version, name) = (object.label(), object.version(), kind.kind());
        return Err(format!("{label}: {version:?} is no version of {name}; known versions: {}", known.join(", ")));
    }
    let refused = |error: &dyn std::fmt::Display| format!("{}: {error}", object.label());
    let to = requested_version(kind, object, to);
    let (converted, changes) = webhook.explain(&object.text, to).map_err(|error| refused(&error))?;
    let texts = |texts: Vec<String>| JsonTree::Array(texts.into_iter().map(JsonTree::string).collect());
    let converted_value = Value::read(&converted.text).map_err(|error| refused(&error))?;
    let kept = ours(&converted_value).into_iter().map(|(name, text)| texts(vec![name.to_owned(), text.to_owned()]));
    let converted = JsonTree::from_json(&converted.text).map_err(|error| refused(&error))?;
    let value = Value::read(&object.text).map_err(|error| refused(&error))?;
    let way_back = preview(webhook, kind, &value, to, &matches).map_or_else(Vec::new, |preview| remarks(to, &preview));
    let way_back = way_back.iter().map(|remark| format!("{}: {}", remark.what.name(), remark.detail)).collect();
    let changes = changes.iter().map(|change| texts(cells(change).to_vec()));
    let hashed = hash(webhook, object).ok();
    let inputs = hashed.iter().flat_map(|hashed| hashed.preimage.members());
    Ok(JsonTree::object([
        ("name", JsonTree::string(object.name())),
        ("kind", JsonTree::string(title(kind))),
        ("from", JsonTree::string(object.version())),
        ("to", JsonTree::string(to)),
        ("versions", texts(kind.versions().map(str::to_owned).collect())),
        ("converted", JsonTree::string(yaml::write(&converted))),
        ("changes", JsonTree::Array(changes.collect())),
        ("wayBack", texts(way_back)),
        ("kept", JsonTree::Array(kept.collect())),
        ("hash", hashed.as_ref().map_or(JsonTree::Null, |hashed| JsonTree::string(hashed.preimage.hash()))),
        ("hashInputs", JsonTree::Array(inputs.map(|(path, value)| texts(vec![path, value])).collect())),
        ("mutate", texts(mutate::stamps(webhook, object)?)),
        ("validate", texts(validate::on_creation(webhook, object)?)),
    ]))
}

/// The requested version, or the next version after that of the object, or the first.
fn requested_version<'k>(kind: &'k Kind, object: &InputObject, to: &str) -> &'k str {
    let others = || kind.versions().filter(|version| *version != object.version());
    let next = || kind.versions().skip_while(|version| *version != object.version()).nth(1);
    let found = others().find(|version| *version == to);
    found.or_else(next).or_else(|| others().next()).or_else(|| kind.versions().next()).unwrap_or_default()
}
