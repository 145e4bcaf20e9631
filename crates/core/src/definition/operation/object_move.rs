//! `move` and `rename`: the same value at another path. With `operations`, an object whose contents change as well.
//!
//! The operations inside are those of the fields themselves, with longer paths. Each field that both versions have and
//! that no operation names moves with its object.

use schemars::JsonSchema;
use serde::Deserialize;

use super::compiler::{Compiler, Nesting};
use super::mapping::Operation;
use super::same::Same;
use crate::definition::path::Path;
use crate::definition::side::{Side, Sides};
use crate::definition::yaml::Spanned;

/// A field with a path for each version.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Move")]
pub(crate) struct MoveSpec<O> {
    /// The path in the older version.
    from: String,
    /// The path in the newer version.
    to: String,
    /// The changes inside of the object. Their paths start at the object. Fields without an operation move unchanged.
    operations: Option<Vec<Spanned<O>>>,
}

impl<O> MoveSpec<O> {
    /// The operation `name` between two places, without operations inside.
    pub(super) fn compile(&self, name: &'static str, compiler: &mut Compiler<'_>) -> Option<Operation> {
        compiler.between(name, &self.from, &self.to, Same)
    }

    /// The nested operations, if there are any.
    pub(super) fn nesting(&self) -> Option<&dyn Nesting<O>> {
        self.operations.as_ref().map(|_| self as &dyn Nesting<O>)
    }
}

impl<O> Nesting<O> for MoveSpec<O> {
    fn operations(&self) -> &[Spanned<O>] {
        self.operations.as_deref().unwrap_or_default()
    }

    /// Both places must be objects with named fields.
    fn object(&self, compiler: &mut Compiler<'_>) -> Option<Sides<Path>> {
        let places = compiler.places(&self.from, &self.to)?;
        for side in [Side::Older, Side::Newer] {
            let place = places.of(side);
            let schema = &place.schema;
            if !schema.is("object") || schema.each.is_some() || schema.preserve {
                compiler.problem(format!(
                    "move: {} is no object with named fields, so it takes no `operations`: use `each` for a list or a map",
                    place.path
                ));
                return None;
            }
        }
        Some(places.map(|place| place.path))
    }
}
