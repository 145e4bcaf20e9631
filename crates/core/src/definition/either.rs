//! A definition of either sort: of a kind with its CRD, or of mutations for objects of another project.

use std::io;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::definition_spec::{DefinitionSpec, only_document};
use super::kind::Kind;
use super::mutations::{MutatedKind, MutationsFileSpec};
use super::problems::{BadDefinition, Problems};

/// The content of a definition file.
#[derive(Debug)]
pub enum Definition {
    /// A kind, from its CRD.
    Kind(Box<Kind>),
    /// Mutations for objects of a kind that another project defines.
    Mutations(MutatedKind),
}

/// The keys that distinguish the two sorts.
#[derive(Deserialize)]
struct Sort {
    resource: Option<IgnoredAny>,
    mutations: Option<IgnoredAny>,
}

impl Definition {
    /// Reads and checks a definition. `read` returns the text of the CRD file that the definition names. `file` is the
    /// name of the definition in messages.
    ///
    /// # Errors
    /// All problems of the definition, each with its place.
    pub fn load(
        file: &str,
        text: &str,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
    ) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let definition = only_document(text, &mut problems).and_then(|document| {
            let sort = document.read::<Sort>().ok();
            if sort.is_some_and(|sort| sort.resource.is_some() || sort.mutations.is_some()) {
                return MutatedKind::compile(&document, &mut problems).map(Self::Mutations);
            }
            let kind = Kind::compile(text, document, read, &mut problems);
            kind.map(|kind| Self::Kind(Box::new(kind)))
        });
        problems.into_result(definition)
    }
}

/// A definition of a kind with versions, or of mutations.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "KindDefinition")]
#[expect(dead_code, reason = "only for the JSON Schema; a custom parser selects the variant")]
enum EitherSpec {
    Kind(Box<DefinitionSpec>),
    Mutations(Box<MutationsFileSpec>),
}

/// The JSON Schema of a definition file, for editors. `definitions` are those of the parts that only rollouts read, by
/// name.
#[must_use]
pub fn json_schema(definitions: Map<String, Value>) -> Value {
    let mut schema = Value::from(schemars::schema_for!(EitherSpec));
    if let Some(own) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        own.extend(definitions);
        own.sort_keys();
    }
    schema
}
