//! The same value at another path.

use smallvec::smallvec;

use super::mapping::{Fragment, Mapping, Unexplained};
use crate::definition::{place::Place, side::Side};
use crate::json::Json;

/// Copies the value.
#[derive(Debug)]
pub(super) struct Same;

impl Mapping for Same {
    fn map<'a>(&self, _: Side, _: &[Place], from: &[Option<Json<'a>>]) -> Fragment<'a> {
        smallvec![from.first().cloned().flatten()]
    }

    fn unexplained(&self, _: &str, older: &Place, newer: &Place) -> Unexplained {
        Unexplained::schemas(older.schema.clone(), newer.schema.clone())
    }

    fn is_same(&self) -> bool {
        true
    }
}
