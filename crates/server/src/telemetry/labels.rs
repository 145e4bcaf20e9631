//! Labels of endpoints, outcomes and core events in metrics and logs.

use pointsman_core::webhook::{Endpoint, Outcome};

/// The `webhook` label of an endpoint.
pub(crate) fn webhook_name(endpoint: Option<Endpoint>) -> &'static str {
    match endpoint {
        Some(Endpoint::Convert) => "convert",
        Some(Endpoint::Mutate) => "mutate",
        Some(Endpoint::Validate) => "validate",
        None => "other",
    }
}

/// The `outcome` label of an outcome.
pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allow => "allow",
        Outcome::Convert => "convert",
        Outcome::Deny => "deny",
        Outcome::Fail => "fail",
        Outcome::Patch => "patch",
    }
}

/// The `event` labels of notices.
pub(crate) const EVENTS: [&str; 3] = ["answered_incomplete", "kept_near_limit", "staged_taken_as_completed"];

/// The `effect` of a verdict that would be a denial if enforced.
pub(crate) const NOT_ENFORCED: &str = "would_deny";
