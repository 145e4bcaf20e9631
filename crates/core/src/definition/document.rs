//! The definition file as it is written. What each key means for a user is said here: the JSON Schema is made from it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// The `apiVersion` this build reads.
pub const API_VERSION: &str = "pointsman.dev/v1";
/// The `kind` of a definition file.
pub const KIND: &str = "KindDefinition";

/// All that pointsman knows of a kind: how its versions convert into each other, and what calls for a rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "KindDefinition")]
pub(crate) struct Document {
    /// Always `pointsman.dev/v1`.
    #[schemars(with = "String")]
    pub(crate) api_version: Spanned<String>,
    /// Always `KindDefinition`.
    #[schemars(with = "String")]
    pub(crate) kind: Spanned<String>,
    /// What the command line calls this kind. Defaults to the kind in lower case.
    pub(crate) name: Option<String>,
    /// The file of the CustomResourceDefinition, relative to this one. Group, names, versions and schemas come from it.
    #[schemars(with = "String")]
    pub(crate) crd: Spanned<String>,
    /// How neighbouring versions convert, oldest first. A CRD with one version has none.
    #[serde(default)]
    #[schemars(with = "Vec<Step>")]
    pub(crate) steps: Vec<Spanned<Step>>,
    /// What calls for a rollout, and how the status speaks of it.
    #[schemars(with = "Option<Rollout>")]
    pub(crate) rollout: Option<Spanned<Rollout>>,
    /// What is checked when an object is written.
    #[schemars(with = "Option<super::admission::document::Document>")]
    pub(crate) admission: Option<Spanned<super::admission::document::Document>>,
}

/// The conversion between two neighbouring versions. Each operation works in both directions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Step {
    /// The older version.
    #[schemars(with = "String")]
    pub(crate) from: Spanned<String>,
    /// The newer version.
    #[schemars(with = "String")]
    pub(crate) to: Spanned<String>,
    /// What changed. A field that no operation names is carried as it is.
    #[serde(default)]
    #[schemars(with = "Vec<Operation>")]
    pub(crate) operations: Vec<Spanned<Operation>>,
    /// Differences between the two schemas that are meant as they are.
    #[serde(default)]
    #[schemars(with = "Vec<Accept>")]
    pub(crate) accept: Vec<Spanned<Accept>>,
}

/// A difference between the two schemas that needs no operation, and why.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Accept {
    /// The field, as the message that reported it names it.
    pub(crate) path: String,
    /// What differs: `type`, `enum`, `required`, `nullable`, `minimum` … as the message names it.
    pub(crate) difference: String,
    /// Why that is fine. For the next reader.
    pub(crate) reason: String,
}

/// One change between two versions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Operation {
    /// The newer version has a field that the older one does not.
    Add(OneSided),
    /// A string of the older version that means "no value" is absent in the newer one.
    Blank(Blank),
    /// The older version has a field that the newer one does not.
    Drop(OneSided),
    /// The same operations for each item of a list, or each value of a map.
    Each(Each),
    /// A field stands at another place.
    Move(Pair),
    /// A field of the older version becomes an entry of a map that both versions have.
    MoveIntoMap(MoveIntoMap),
    /// A field has another name (the same as `move`).
    Rename(Pair),
    /// One string of the older version is several fields of the newer one, such as `host:port`.
    Split(Split),
    /// A scalar has another type: string on one side, number or boolean on the other.
    Type(Place),
    /// Values have other names.
    Values(Values),
    /// A single value of the older version is a list with one element in the newer one.
    Wrap(Place),
}

/// A field that one version has and the other has not.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes a path, or {field: PATH, value: WHAT TO FILL IN}")]
pub(crate) enum OneSided {
    /// Just its path.
    Path(String),
    /// Its path, and what to fill in.
    Filled(Filled),
}

/// A field of one version with the value that readers of that version expect when nobody set one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Filled {
    /// The field.
    pub(crate) field: String,
    /// What a complete object gets when there is nothing to give back. Defaults to the schema's default.
    pub(crate) value: Value,
}

/// A field at two places.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Pair {
    /// Where the older version has it.
    pub(crate) from: String,
    /// Where the newer version has it.
    pub(crate) to: String,
}

/// A field at the same place in both versions, or at two.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "takes a path, or {from: PATH, to: PATH}")]
pub(crate) enum Place {
    /// The same path in both versions.
    Path(String),
    /// Two paths.
    Pair(Pair),
}

/// Spellings of "no value".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Blank {
    /// The field, at the same place in both versions.
    pub(crate) field: String,
    /// The strings. A UUID stands for all its spellings. Null is always one of them.
    pub(crate) spellings: Vec<String>,
}

/// A field that becomes an entry of a map.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MoveIntoMap {
    /// The field of the older version.
    pub(crate) field: String,
    /// The map, in both versions.
    pub(crate) map: String,
    /// The key of the entry. An entry that is already there wins.
    pub(crate) key: String,
    /// Values of the field that count as not set. Null is always one of them.
    #[serde(default = "empty_string")]
    pub(crate) unset: Vec<Value>,
}

fn empty_string() -> Vec<Value> {
    vec![Value::String(String::new())]
}

/// Values with other names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Values {
    /// The field, at the same place in both versions.
    pub(crate) field: Option<String>,
    /// The field in the older version, where the place differs.
    pub(crate) from: Option<String>,
    /// The field in the newer version, where the place differs.
    pub(crate) to: Option<String>,
    /// The older version's value and the newer version's. Values in neither column are carried as they are.
    pub(crate) map: BTreeMap<String, Value>,
}

/// One string that becomes several fields.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Split {
    /// The string of the older version.
    pub(crate) field: String,
    /// The fields of the newer version, in the order of the parts. Strings, numbers or booleans.
    pub(crate) into: Vec<String>,
    /// What stands between the parts. Parts are split off from the right, so `[::1]:80` has two.
    pub(crate) separator: String,
}

/// Operations on what a list or a map contains. Their paths start at the item; `.` is the item itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Each {
    /// The list or map, at the same place in both versions.
    #[serde(rename = "in")]
    pub(crate) within: Option<String>,
    /// The list or map in the older version, where the place differs.
    pub(crate) from: Option<String>,
    /// The list or map in the newer version, where the place differs.
    pub(crate) to: Option<String>,
    /// The field of the older version that tells items of a list apart. Defaults to the schema's
    /// `x-kubernetes-list-map-keys`, else to a required `name`; without one, an item is known by its whole content.
    pub(crate) key: Option<String>,
    /// What changed inside.
    #[schemars(with = "Vec<Operation>")]
    pub(crate) operations: Vec<Spanned<Operation>>,
}

/// What calls for a rollout.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rollout {
    /// What the rollout hash is made of.
    pub(crate) hash: Hash,
    /// How the status speaks of a rollout in the two versions, if it does.
    pub(crate) status: Option<RolloutStatus>,
}

/// The recipe of the rollout hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Hash {
    /// The top-level field that is hashed.
    pub(crate) of: String,
    /// The version whose shape is hashed.
    pub(crate) at: String,
    /// Fields whose change calls for no rollout.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) except: Vec<Spanned<String>>,
    /// Values that count where a field is absent, so that a filled-in default does not move the hash.
    #[serde(default)]
    pub(crate) defaults: BTreeMap<String, Value>,
    /// The annotation whose value is hashed behind the fields: changing it forces a rollout.
    pub(crate) force: Option<String>,
}

/// A rollout in the status: by hashes in the newer version, by request identifiers in the older one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RolloutStatus {
    /// The newer version's fields. The older schema has them too, as optional fields that carry.
    pub(crate) hashes: Requested,
    /// The older version's fields: UUIDs.
    pub(crate) requests: Requested,
    /// Where the status says why it is as it is.
    pub(crate) reasons: Reasons,
}

/// What was asked for, and what was done last.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Requested {
    /// What was asked for.
    pub(crate) requested: String,
    /// What was completed last.
    pub(crate) completed: String,
}

/// Reasons in a list of conditions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Reasons {
    /// The list of conditions.
    #[serde(rename = "in")]
    pub(crate) within: String,
    /// The reason that says: the point of no return is passed.
    pub(crate) promoting: String,
    /// Reasons that say: a change waits for somebody, although the last request is completed.
    #[serde(default)]
    pub(crate) staged: Vec<String>,
}
