//! What a healthy object looks like.

use std::time::Duration;

use serde_json::Value;

use super::gate::Gate;

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
    /// What does not hold of an object now, in words.
    pub(crate) fn unmet(&self, object: &Value) -> Option<String> {
        self.gate.unmet(object)
    }
}
