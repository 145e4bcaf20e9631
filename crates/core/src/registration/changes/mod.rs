//! The consequences of a change of a CRD or a definition.

pub(super) mod change_example;
pub(super) mod crd_change;
pub(super) mod crd_impact;
pub(super) mod schema_change;
