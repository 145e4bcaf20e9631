//! The health of an object.

use std::time::Duration;

use serde_json::Value;

use pointsman_core::definition::{Gate, Path, unmet_of};

/// The conditions of an object after it was moved.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(super) gate: Gate,
    /// How long the conditions must hold without interruption.
    pub(crate) settle: Duration,
    /// The field manager whose write shows that the controller has observed the object.
    pub(crate) seen: Option<String>,
}

impl Health {
    /// The fields that are read.
    pub(crate) fn fields(&self) -> Vec<&Path> {
        self.gate.fields()
    }

    /// Describes the condition that an object does not meet now.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        unmet_of(&self.gate, object)
    }
}
