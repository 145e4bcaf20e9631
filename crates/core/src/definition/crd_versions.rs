//! The versions of a CRD without a definition, for drafts.

use serde_json::Value;

use super::crd::Crd;
use super::problems::{BadDefinition, Problems};
use super::schema::Schema;
use super::yaml::Spanned;

/// A CRD with the schemas of its versions, in the order of the file.
pub(crate) struct CrdVersions {
    /// `Kind.group`.
    pub(crate) name: String,
    pub(crate) document: Value,
    pub(crate) schemas: Vec<(String, Schema)>,
}

impl CrdVersions {
    /// Reads a CRD. `file` is its name in messages.
    ///
    /// # Errors
    /// The text contains no CRD, several CRDs, or a CRD that the API server refuses.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, BadDefinition> {
        let mut problems = Problems::new(file);
        let name = Spanned { value: file.to_owned(), line: 0 };
        let crd = Crd::read(&name, &mut |_| Ok(text.to_owned()), &mut problems);
        let read = crd.and_then(|crd| {
            let versions = crd.unordered(0, &mut problems)?;
            let schemas = versions.into_iter().map(|version| (version.name.to_string(), version.schema)).collect();
            Some(Self { name: format!("{}.{}", crd.kind, crd.group), document: crd.document, schemas })
        });
        problems.into_result(read)
    }
}
