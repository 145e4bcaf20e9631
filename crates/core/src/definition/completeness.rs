//! What tells a complete object from a sparse one, of which the API server sends but a part.
//!
//! A complete object has what its version requires at the top and in its spec. Where a version requires no spec, an
//! object without one may be whole, or what is left of one when somebody's fields are taken out of it: then it is
//! complete if the API server has named it. What has no uid, and nothing of what is required, says nothing of itself.

use super::path::Path;
use super::schema::Schema;

/// What a version requires of a complete object.
#[derive(Debug, Default)]
pub(crate) struct Completeness {
    /// Fields of the object itself, `spec` among them where that is required.
    top: Vec<Required>,
    spec: Option<Required>,
    /// Fields of spec, where there is one.
    inside: Vec<Required>,
}

/// A field that a complete object has.
#[derive(Debug)]
pub(crate) struct Required {
    pub(crate) path: Path,
    /// Null will do.
    pub(crate) nullable: bool,
}

impl Completeness {
    /// What a version says, apart from what the rollout's status takes care of. Null is there where it may stand.
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

    /// Whether an object is complete that has these fields, and a uid or none.
    pub(crate) fn is_met(&self, is_named: bool, has: &mut dyn FnMut(&Required) -> bool) -> bool {
        let spec = self.spec.as_ref().is_some_and(&mut *has);
        self.top.iter().all(&mut *has)
            && (!spec || self.inside.iter().all(has))
            && (spec || is_named || !self.top.is_empty())
    }
}

/// What the API server takes care of.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
