//! Calls about the CRD itself, also while the API server is away for a moment.

use tokio::time::sleep;

use super::options::MigrateEvent;
use crate::call_error::CallError;
use crate::retry_budget::RetryBudget;

/// Makes a call again until it is answered, for as long as trouble that passes is waited for. That is said.
pub(super) async fn patiently<T>(
    say: &mut dyn FnMut(MigrateEvent),
    mut call: impl AsyncFnMut() -> Result<T, CallError>,
) -> Result<T, CallError> {
    let patience = RetryBudget::default();
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let Some(pause) = patience.pause(&error) else { return Err(error) };
        say(MigrateEvent::Trying { error, pause });
        sleep(pause).await;
    }
}
