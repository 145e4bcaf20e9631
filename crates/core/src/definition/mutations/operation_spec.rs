//! Operations of a mutation, as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::argument::FlagForm;
use super::entries::FlagEntry;
use super::field_place::{ContainerName, FieldPlace, FieldRoot};
use super::mutation_operation::MutationOperation;
use crate::definition::path::Path;
use crate::json::Json;

/// A desired state. All unnamed fields stay unchanged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "MutationOperation")]
pub(super) enum MutationOperationSpec {
    /// A flag occurs once, with this value, or without one.
    Flag(FlagSpec),
    /// The value of a flag, a comma-separated list, has these entries.
    FlagEntries(FlagEntriesSpec),
    /// A list has an item with these members.
    Item(ItemSpec),
    /// A flag is absent.
    NoFlag(NoFlagSpec),
    /// The value of a flag, a comma-separated list, has no entries of these names. A flag without entries is removed.
    NoFlagEntries(NoFlagEntriesSpec),
    /// A list has no item of this name. An empty list is removed.
    NoItem(ItemSpec),
    /// A field has this value.
    Set(SetSpec),
    /// A field is absent.
    Unset(UnsetSpec),
}

/// A flag and its value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Flag")]
pub(super) struct FlagSpec {
    /// The container. Defaults to the container with the name of the object, or else to the only container.
    of: Option<String>,
    /// The flag, with its dashes.
    name: String,
    /// The value. Without a value, the flag is a switch.
    value: Option<Value>,
}

/// A removed flag.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes a flag such as --x, or {of: …, name: …, switch: …}", rename = "NoFlag")]
pub(super) enum NoFlagSpec {
    /// The flag, with its dashes.
    Name(String),
    /// The flag with options.
    Flag(RemovedFlagSpec),
}

/// A removed flag, with the container.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "GoneFlag")]
pub(super) struct RemovedFlagSpec {
    /// The container, as for `flag`.
    of: Option<String>,
    /// The flag, with its dashes.
    name: String,
    /// Whether the flag takes no value, so the next word stays. By default, the next word is also removed, unless it is
    /// a flag.
    #[serde(default)]
    switch: bool,
}

/// A flag and the entries of its value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "FlagEntries")]
pub(super) struct FlagEntriesSpec {
    /// The container, as for `flag`.
    of: Option<String>,
    /// The flag, with its dashes.
    name: String,
    /// Entries: names with values (`A: "true"` is `A=true`), or a list of names.
    entries: EntriesSpec,
}

/// Entries of a comma-separated list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes names with values, or a list of names", rename = "Entries")]
enum EntriesSpec {
    /// `name=value` entries.
    Valued(BTreeMap<String, Value>),
    /// Names.
    Plain(Vec<String>),
}

/// A flag and the forbidden entries of the value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "NoFlagEntries")]
pub(super) struct NoFlagEntriesSpec {
    /// The container, as for `flag`.
    of: Option<String>,
    /// The flag, with its dashes.
    name: String,
    /// The names of the entries.
    entries: Vec<String>,
}

/// An item of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "MutationItem")]
pub(super) struct ItemSpec {
    /// The container with the list. Without this key, the list is a path in the object.
    of: Option<String>,
    /// The list. Paths with `spec` or `metadata` start at the object, others at the Pod spec.
    list: String,
    /// The field that identifies items. Defaults to `name`.
    key: Option<String>,
    /// For `item`: the members of the item. For `noItem`: the key of the item that is removed.
    value: Value,
}

/// A field and its value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "SetField")]
pub(super) struct SetSpec {
    /// The container with the field. Without this key, the field is a path in the object.
    of: Option<String>,
    /// The field. Paths with `spec` or `metadata` start at the object, others at the Pod spec.
    field: String,
    /// The value.
    value: Value,
}

/// A removed field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes a path, or {of: …, field: …}", rename = "Unset")]
pub(super) enum UnsetSpec {
    /// The field, as for `set`.
    Path(String),
    /// A field of a container.
    Field(UnsetFieldSpec),
}

/// A removed field of a container.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "UnsetField")]
pub(super) struct UnsetFieldSpec {
    /// The container with the field.
    of: Option<String>,
    /// The field.
    field: String,
}

impl MutationOperationSpec {
    /// Compiles the operation, for objects whose Pod spec is at `pod`.
    pub(super) fn compile(&self, pod: &Path) -> Result<MutationOperation, String> {
        match self {
            Self::Flag(FlagSpec { of, name, value }) => {
                let value = value.as_ref().map(scalar).transpose().map_err(|why| format!("flag {name}: {why}"))?;
                Ok(MutationOperation::Flag { of: ContainerName::new(of.as_deref()), name: flag("flag", name)?, value })
            }
            Self::NoFlag(spec) => {
                let (of, name, switch) = match spec {
                    NoFlagSpec::Name(name) => (None, name, false),
                    NoFlagSpec::Flag(RemovedFlagSpec { of, name, switch }) => (of.as_deref(), name, *switch),
                };
                let form = if switch { FlagForm::Switch } else { FlagForm::Valued };
                Ok(MutationOperation::NoFlag { of: ContainerName::new(of), name: flag("noFlag", name)?, form })
            }
            Self::FlagEntries(FlagEntriesSpec { of, name, entries }) => {
                let entries = entries.compile().map_err(|why| format!("flagEntries {name}: {why}"))?;
                let (of, name) = (ContainerName::new(of.as_deref()), flag("flagEntries", name)?);
                Ok(MutationOperation::FlagEntries { of, name, entries })
            }
            Self::NoFlagEntries(NoFlagEntriesSpec { of, name, entries }) => {
                keys(entries).map_err(|why| format!("noFlagEntries {name}: {why}"))?;
                let (of, name) = (ContainerName::new(of.as_deref()), flag("noFlagEntries", name)?);
                Ok(MutationOperation::NoFlagEntries { of, name, keys: entries.clone() })
            }
            Self::Item(item) => {
                let (list, key) = item.place("item", pod)?;
                if !item.value.get(&key).is_some_and(is_scalar) {
                    return Err(format!("item {}: its value has no {key:?}, the key of the item", item.list));
                }
                Ok(MutationOperation::Item { list, key, item: Json::owned(item.value.to_string()) })
            }
            Self::NoItem(item) => {
                let (list, key) = item.place("noItem", pod)?;
                if !is_scalar(&item.value) {
                    return Err(format!(
                        "noItem {}: its value must be the value of {key:?}, such as a string",
                        item.list
                    ));
                }
                Ok(MutationOperation::NoItem { list, key, value: Json::owned(item.value.to_string()) })
            }
            Self::Set(SetSpec { of, field, value }) => {
                let place = place("set", of.as_deref(), field, pod)?;
                if place.is_of_metadata() && !value.is_string() {
                    return Err(format!("set: {field} is a text: write \"{value}\", in quotes"));
                }
                Ok(MutationOperation::Set { place, value: Json::owned(value.to_string()) })
            }
            Self::Unset(spec) => {
                let (of, field) = match spec {
                    UnsetSpec::Path(field) => (None, field),
                    UnsetSpec::Field(UnsetFieldSpec { of, field }) => (of.as_deref(), field),
                };
                Ok(MutationOperation::Unset { place: place("unset", of, field, pod)? })
            }
        }
    }
}

impl ItemSpec {
    fn place(&self, what: &str, pod: &Path) -> Result<(FieldPlace, String), String> {
        let key = self.key.clone().unwrap_or_else(|| "name".to_owned());
        let place = place(what, self.of.as_deref(), &self.list, pod)?;
        match place.is_of_metadata() {
            true => Err(format!("{what}: {} is a text, and no list", self.list)),
            false => Ok((place, key)),
        }
    }
}

impl EntriesSpec {
    fn compile(&self) -> Result<Vec<FlagEntry>, String> {
        let all: Vec<FlagEntry> = match self {
            Self::Valued(all) => {
                let entry = |(key, value): (&String, &Value)| {
                    scalar(value).map(|value| FlagEntry { key: key.clone(), value: Some(value) })
                };
                all.iter().map(entry).collect::<Result<_, _>>()?
            }
            Self::Plain(all) => all.iter().map(|key| FlagEntry { key: key.clone(), value: None }).collect(),
        };
        let names: Vec<String> = all.iter().map(|entry| entry.key.clone()).collect();
        keys(&names)?;
        match all.iter().find(|entry| entry.value.as_ref().is_some_and(|value| value.contains(','))) {
            Some(entry) => Err(format!("the value of {} contains a comma, which separates entries", entry.key)),
            None => Ok(all),
        }
    }
}

/// Checks the names of entries.
fn keys(names: &[String]) -> Result<(), String> {
    if names.is_empty() {
        return Err("has no entries".to_owned());
    }
    let is_bad = |name: &&String| name.is_empty() || name.contains([',', '=']) || name.trim() != **name;
    if let Some(name) = names.iter().find(is_bad) {
        return Err(format!("{name:?} is no name of an entry: write {{entries: {{NAME: value}}}}"));
    }
    match names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|other| other == *name)) {
        Some((_, name)) => Err(format!("{name} occurs twice")),
        None => Ok(()),
    }
}

/// Checks the name of a flag, including its dashes.
fn flag(what: &str, name: &str) -> Result<String, String> {
    let bare = name.trim_start_matches('-');
    let is_fine = !bare.is_empty() && !name.contains(['=', ',']) && !name.contains(char::is_whitespace);
    if !is_fine || !name.starts_with('-') || name.starts_with("---") {
        let meant = bare.split(['=', ' ']).next().unwrap_or_default();
        return Err(format!("{what}: {name:?} is no flag: write only the name, with its dashes, such as --{meant}"));
    }
    Ok(name.to_owned())
}

fn is_scalar(value: &Value) -> bool {
    scalar(value).is_ok()
}

/// The text of a value on a command line.
fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err("the value must be a string".to_owned()),
    }
}

fn place(what: &str, of: Option<&str>, path: &str, pod: &Path) -> Result<FieldPlace, String> {
    let path = Path::parse(path).map_err(|why| format!("{what}: {why}"))?;
    let first = path.names().first().map(|name| &**name).unwrap_or_default();
    let root = match of {
        Some(name) => FieldRoot::Container(ContainerName::Named(name.to_owned())),
        None if matches!(first, "spec" | "metadata" | "status") || pod.is_empty() => FieldRoot::Object,
        None => FieldRoot::Pod,
    };
    let is_ours = match (&root, path.names()) {
        (_, []) => false,
        (FieldRoot::Object, [first, second, _]) if **first == *"metadata" => {
            matches!(&**second, "annotations" | "labels")
        }
        (FieldRoot::Object, [first, ..]) => !matches!(&**first, "apiVersion" | "kind" | "metadata" | "status"),
        _ => true,
    };
    match is_ours {
        true => Ok(FieldPlace { root, path }),
        false => Err(format!(
            "{what}: a mutation cannot change {path}: use fields of the spec, or single labels and annotations"
        )),
    }
}
