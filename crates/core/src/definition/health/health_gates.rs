//! The health of an object.

use std::time::Duration;

use serde_json::Value;

use crate::definition::gates::{Gate, GatedValue};
use crate::definition::path::Path;

/// The conditions of an object after it was moved.
#[derive(Clone, Debug)]
pub struct Health {
    pub(super) gate: Gate,
    /// How long the conditions must hold without interruption.
    pub settle: Duration,
    /// The field manager whose write shows that the controller has observed the object.
    pub seen: Option<String>,
}

impl Health {
    /// The fields that are read.
    pub fn fields(&self) -> Vec<&Path> {
        self.gate.fields()
    }

    /// Describes the condition that an object does not meet now.
    pub fn unmet(&self, object: &Value) -> Option<String> {
        self.gate.unmet(&mut GatedValue(object))
    }
}
