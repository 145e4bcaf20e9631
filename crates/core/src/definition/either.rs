//! A definition of either sort: of a kind of one's own, or of stages for objects of others.

use std::io;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::definition_spec::DefinitionSpec;
use super::kind::Kind;
use super::problems::BadDefinition;
use super::stages::{StagedKind, StagesFileSpec};
use super::yaml;

/// What a file defines.
#[derive(Debug)]
pub enum Definition {
    /// A kind, from its CRD.
    Kind(Box<Kind>),
    /// Stages for the objects of a kind that somebody else defines.
    Stages(StagedKind),
}

/// What tells one from the other.
#[derive(Deserialize)]
struct Sort {
    resource: Option<IgnoredAny>,
    stages: Option<IgnoredAny>,
}

impl Definition {
    /// Reads and checks a definition. `read` gives the text of the CRD file it names; `file` is the definition's own
    /// name in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn load(
        file: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Self, BadDefinition> {
        let sort = yaml::read::<Sort>(text).ok();
        if sort.is_some_and(|sort| sort.resource.is_some() || sort.stages.is_some()) {
            return StagedKind::load(file, text).map(Self::Stages);
        }
        Kind::load(file, text, read).map(|kind| Self::Kind(Box::new(kind)))
    }
}

/// The same, as it is written.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "KindDefinition")]
#[expect(dead_code, reason = "it is the schema of what is read as the one or as the other")]
enum EitherSpec {
    Kind(Box<DefinitionSpec>),
    Stages(Box<StagesFileSpec>),
}

/// The JSON Schema of a definition file, for editors.
#[must_use]
pub fn json_schema() -> Value {
    schemars::schema_for!(EitherSpec).into()
}
