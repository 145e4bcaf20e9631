//! What a healthy object looks like.

use std::time::Duration;

use serde_json::Value;

use crate::definition::gates::{Gate, GatedValue};
use crate::definition::path::Path;

/// What has to hold of an object after it was moved.
#[derive(Clone, Debug)]
pub(crate) struct Health {
    pub(super) gate: Gate,
    /// How long without a break.
    pub(crate) settle: Duration,
    /// The field manager whose writes tell that the controller has looked.
    pub(crate) seen: Option<String>,
}

impl Health {
    /// The fields that are looked at.
    pub(crate) fn fields(&self) -> Vec<&Path> {
        self.gate.fields()
    }

    /// What does not hold of an object now, in words.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        self.gate.unmet(&mut GatedValue(object))
    }
}
