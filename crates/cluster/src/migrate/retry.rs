//! Calls about the CRD, with retries during outages.

use tokio::time::sleep;

use super::options::MigrateEvent;
use crate::call_error::CallError;
use crate::retry_budget::RetryBudget;

/// Repeats a call during temporary errors, up to the time limit. Reports each retry.
pub(super) async fn patiently<T>(
    report: &mut dyn FnMut(MigrateEvent),
    mut call: impl AsyncFnMut() -> Result<T, CallError>,
) -> Result<T, CallError> {
    let patience = RetryBudget::default();
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(pause) = patience.pause(&error) else { return Err(error) };
        report(MigrateEvent::Trying { error, pause });
        sleep(pause).await;
    }
}
