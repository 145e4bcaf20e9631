//! What calls for a rollout: the recipe of the rollout hash, checked against the version that is hashed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;
use sha2::{Digest, Sha256};

use crate::definition::problems::{Problems, line};
use crate::definition::version::{VersionIndex, Versions};
use crate::definition::{path::Path, schema::Schema};
use crate::json::{Canonical, Json};

/// The recipe of the rollout hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Hash")]
pub(crate) struct HashSpec {
    /// The top-level field that is hashed.
    of: String,
    /// The version whose shape is hashed.
    at: String,
    /// Fields whose change calls for no rollout.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    except: Vec<Spanned<String>>,
    /// Values that count where a field is absent, so that a filled-in default does not move the hash.
    #[serde(default)]
    defaults: BTreeMap<String, Value>,
    /// The annotation whose value is hashed behind the fields: changing it forces a rollout.
    force: Option<String>,
    /// The digest of all of the above, as `kinds check` shows it. Where it is said, a recipe that changes is refused
    /// until this is changed as well: every object's hash may move then, and that starts rollouts.
    #[schemars(with = "Option<String>")]
    recipe: Option<Spanned<String>>,
}

/// What calls for a rollout.
#[derive(Debug)]
pub(crate) struct HashedFields {
    /// The top-level field that is hashed.
    pub(crate) of: String,
    /// The version whose shape is hashed.
    pub(crate) at: VersionIndex,
    /// Members that count where they are absent, in canonical form, sorted by name.
    pub(crate) defaults: Vec<(String, String)>,
    pub(crate) force: Option<String>,
    /// Tells recipes apart: the first twelve digits of a SHA-256 over what the definition says of the hash.
    pub(crate) recipe: String,
    /// Which strings are UUIDs, and which members do not count.
    pub(crate) canonical: Canonical,
}

/// Enough to tell the recipes of one kind apart, and short enough to be read aloud.
const DIGEST_BYTES: usize = 6;

impl HashSpec {
    /// The recipe as it runs. `at_line` is where it stands.
    pub(crate) fn compile(&self, versions: &Versions, at_line: u64, problems: &mut Problems) -> Option<HashedFields> {
        let Self { of, at: version, .. } = self;
        let Some(at) = versions.named(version) else {
            let known = versions.names();
            problems.add(at_line, format!("rolloutHash.at: the CRD has no version {version:?}; it has {known}"));
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
        if let Some(said) = self.recipe.as_ref().filter(|said| said.value != recipe) {
            let message = format!(
                "rolloutHash.recipe: {:?} is not what this recipe is: hashes may move, and that starts rollouts. If that is \
                 meant, write {recipe:?}",
                said.value
            );
            problems.add(line(said), message);
        }
        Some(HashedFields { of: of.clone(), at, defaults, force: self.force.clone(), recipe, canonical })
    }

    /// The order in which fields stand says nothing.
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
            let Some((path, _)) = self.hashed(&text.value, root, line(text), problems) else {
                let (text, at_line) = (&text.value, line(text));
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

    /// Members with what counts where they are absent.
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

    /// The path of a hashed field and its schema, if there is one.
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

/// What was meant by a path that the schema does not have.
fn near(root: &Schema, text: &str) -> String {
    let path = Path::parse(text).ok();
    let missing = path.as_ref().and_then(|path| root.find(path).err());
    missing.map(|missing| missing.did_you_mean()).unwrap_or_default()
}
