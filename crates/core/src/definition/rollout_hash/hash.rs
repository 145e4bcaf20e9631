//! The recipe of the rollout hash, checked against the version that is hashed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::definition::problems::Problems;
use crate::definition::version::{VersionIndex, Versions};
use crate::definition::yaml::Spanned;
use crate::definition::{path::Path, schema::Schema};
use crate::json::{Canonical, Json};

/// The recipe of the rollout hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Hash")]
pub(crate) struct HashSpec {
    /// The top-level field that is hashed.
    of: String,
    /// The version with the hashed fields.
    at: String,
    /// Fields whose change requires no rollout.
    #[serde(default)]
    except: Vec<Spanned<String>>,
    /// Hashed values in place of absent fields, so a default does not change the hash.
    #[serde(default)]
    defaults: BTreeMap<String, Value>,
    /// An annotation, hashed after the fields. A change of its value forces a rollout.
    force: Option<String>,
    /// The fingerprint of this recipe, as printed by `kinds check`. If set, a changed recipe is rejected until this key
    /// is updated. A changed recipe may change all hashes, and so start rollouts.
    recipe: Option<Spanned<String>>,
}

/// The fields that require a rollout when they change.
#[derive(Debug)]
pub(crate) struct HashedFields {
    /// The top-level field that is hashed.
    pub(crate) of: String,
    /// The version with the hashed fields.
    pub(crate) at: VersionIndex,
    /// Members that are hashed if absent, in canonical form, sorted by name.
    pub(crate) defaults: Vec<(String, String)>,
    pub(crate) force: Option<String>,
    /// The fingerprint of the recipe: the first twelve digits of a SHA-256 over the hash block of the definition.
    pub(crate) recipe: String,
    /// Marks the strings that are UUIDs, and the members that are not hashed.
    pub(crate) canonical: Canonical,
}

/// Long enough to distinguish the recipes of one kind, and short enough to read aloud.
const DIGEST_BYTES: usize = 6;

impl HashSpec {
    /// Compiles the recipe. `at_line` is its line.
    pub(crate) fn compile(&self, versions: &Versions, at_line: u64, problems: &mut Problems) -> Option<HashedFields> {
        let Self { of, at: version, .. } = self;
        let Some(at) = versions.named(version) else {
            let known = versions.names();
            problems
                .add(at_line, format!("rolloutHash.at: the CRD has no version {version:?}; known versions: {known}"));
            return None;
        };
        let root = &versions.at(at).schema;
        let Some(schema) = root.properties.get(of) else {
            let hint = root.did_you_mean(of);
            problems.add(at_line, format!("rolloutHash.of: {version} has no field {of:?}{hint}"));
            return None;
        };
        let mut canonical = schema.canonical();
        self.skip_exceptions(root, &mut canonical, problems);
        canonical.simplify();
        let defaults = self.defaults(root, at_line, problems);
        let recipe = self.digest(&defaults);
        if let Some(expected) = self.recipe.as_ref().filter(|expected| expected.value != recipe) {
            let message = format!(
                "rolloutHash.recipe: {:?} does not match this recipe: hashes may change, which starts rollouts. \
                     To accept this, write {recipe:?}",
                expected.value
            );
            problems.add(expected.line, message);
        }
        Some(HashedFields { of: of.clone(), at, defaults, force: self.force.clone(), recipe, canonical })
    }

    /// The fingerprint. The order of fields does not matter.
    fn digest(&self, defaults: &[(String, String)]) -> String {
        let mut except: Vec<&str> = self.except.iter().map(|path| path.value.as_str()).collect();
        except.sort_unstable();
        except.dedup();
        let recipe = serde_json::json!({
            "of": self.of, "at": self.at, "except": except, "defaults": defaults, "force": self.force,
        });
        let digest = Sha256::digest(recipe.to_string().as_bytes());
        digest.iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    fn skip_exceptions(&self, root: &Schema, canonical: &mut Canonical, problems: &mut Problems) {
        for text in &self.except {
            let Some((path, _)) = self.hashed(&text.value, root, text.line, problems) else {
                let (text, at_line) = (&text.value, text.line);
                let (of, at, hint) = (&self.of, &self.at, near(root, text));
                problems.add(at_line, format!("rolloutHash.except: {text} is not a field of {of} at {at}{hint}"));
                continue;
            };
            let mut place = &mut *canonical;
            for name in path.names().iter().skip(1) {
                place = place.members.entry(name.to_string()).or_default();
            }
            place.skip = true;
        }
    }

    /// The members with their values if absent.
    fn defaults(&self, root: &Schema, at_line: u64, problems: &mut Problems) -> Vec<(String, String)> {
        let mut defaults = Vec::new();
        for (text, value) in &self.defaults {
            let hashed = self.hashed(text, root, at_line, problems);
            let Some((path, schema)) = hashed.filter(|(path, _)| path.len() == 2) else {
                let (of, at, hint) = (&self.of, &self.at, near(root, text));
                problems.add(
                    at_line,
                    format!("rolloutHash.defaults: {text} is not a field directly in {of} at {at}{hint}"),
                );
                continue;
            };
            let value = value.to_string();
            if !schema.takes(&Json::borrowed(&value)) {
                problems.add(at_line, format!("rolloutHash.defaults: {text} cannot be {value} at {}", self.at));
            }
            if let (Some(name), Some(value)) = (path.names().last(), schema.canonical().text(&value)) {
                defaults.push((name.to_string(), value));
            }
        }
        defaults.sort();
        defaults
    }

    /// The path and schema of a hashed field, if it exists.
    fn hashed<'s>(
        &self,
        text: &str,
        root: &'s Schema,
        at_line: u64,
        problems: &mut Problems,
    ) -> Option<(Path, &'s Schema)> {
        let path = Path::parse(text).map_err(|error| problems.add(at_line, error)).ok()?;
        let inside = path.len() > 1 && path.names().first().is_some_and(|name| **name == *self.of);
        let schema = root.at(&path).filter(|_| inside)?;
        Some((path, schema))
    }
}

/// A suggestion for a path that the schema lacks.
fn near(root: &Schema, text: &str) -> String {
    let path = Path::parse(text).ok();
    let missing = path.as_ref().and_then(|path| root.find(path).err());
    missing.map(|missing| missing.did_you_mean()).unwrap_or_default()
}
