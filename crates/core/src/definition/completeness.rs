//! Distinguishes a complete object from a sparse one, of which the API server sends only a part.
//!
//! A complete object has the fields that its version requires at the top level and in its spec. If a version does not
//! require `spec`, an object without a spec may be complete, or may be the rest after the API server removed the fields
//! of a field manager. It then counts as complete only if it has a uid. An object without a uid and without required
//! fields does not count as complete.

use super::path::Path;
use super::schema::Schema;

/// The required fields of a complete object of one version.
#[derive(Debug, Default)]
pub(crate) struct Completeness {
    /// Required top-level fields, including `spec` if it is required.
    top: Vec<Required>,
    spec: Option<Required>,
    /// Required fields of `spec`, if `spec` exists.
    inside: Vec<Required>,
}

/// A required field of a complete object.
#[derive(Debug)]
pub(crate) struct Required {
    pub(crate) path: Path,
    /// Null is allowed.
    pub(crate) nullable: bool,
}

impl Completeness {
    /// Returns the required fields of a version, without the fields that the rollout status handles. Null counts as
    /// present if the field is nullable.
    pub(super) fn of(schema: &Schema, handled: &[Path]) -> Self {
        let (root, spec) = (Path::default(), Path::default().join("spec"));
        let field = |path: Path| {
            let nullable = schema.at(&path).is_some_and(|schema| schema.nullable);
            (!handled.contains(&path)).then_some(Required { path, nullable })
        };
        let fields = |holder: &Path, schema: &Schema| schema.required.iter().map(|name| holder.join(name)).collect();
        let top: Vec<Path> = fields(&root, schema);
        let is_head = |path: &Path| path.names().iter().any(|name| HEAD.contains(&name.as_ref()));
        let inside: Vec<Path> = schema.at(&spec).map(|inner| fields(&spec, inner)).unwrap_or_default();
        Self {
            top: top.into_iter().filter(|path| !is_head(path)).filter_map(field).collect(),
            spec: schema.at(&spec).and_then(|_| field(spec)),
            inside: inside.into_iter().filter_map(field).collect(),
        }
    }

    /// Returns whether an object with these fields, with or without a uid, is complete.
    pub(crate) fn is_met(&self, is_named: bool, has: &mut dyn FnMut(&Required) -> bool) -> bool {
        let spec = self.spec.as_ref().is_some_and(&mut *has);
        self.top.iter().all(&mut *has)
            && (!spec || self.inside.iter().all(has))
            && (spec || is_named || !self.top.is_empty())
    }
}

/// Fields that the API server checks itself.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
