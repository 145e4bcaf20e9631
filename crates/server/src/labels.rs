//! How endpoints and outcomes are spelled in metrics and logs.

use pointsman_core::webhook::{Endpoint, Outcome};

/// The `webhook` label of an endpoint.
pub(super) fn webhook_name(endpoint: Option<Endpoint>) -> &'static str {
    match endpoint {
        Some(Endpoint::Convert) => "convert",
        Some(Endpoint::Mutate) => "mutate",
        Some(Endpoint::Validate) => "validate",
        None => "other",
    }
}

/// The `outcome` label of an outcome.
pub(super) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Allow => "allow",
        Outcome::Convert => "convert",
        Outcome::Deny => "deny",
        Outcome::Fail => "fail",
        Outcome::Patch => "patch",
    }
}
