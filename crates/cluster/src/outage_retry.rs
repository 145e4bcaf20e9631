//! Retries during an outage of the API server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::call_error::CallError;
use crate::retry_budget::RetryBudget;

/// Waits during an outage of the API server, for all calls together. Requires an earlier response, since the address
/// may be wrong; 429 counts, since an API server itself sends it. An unreachable webhook is no outage.
pub(crate) struct OutageWait {
    patience: RetryBudget,
    has_answered: AtomicBool,
    waited: Mutex<Duration>,
    report: Box<Report>,
}

/// Receives the error, and the pause before the retry.
type Report = dyn Fn(&CallError, Duration) + Send + Sync;

impl OutageWait {
    pub(crate) fn new(report: impl Fn(&CallError, Duration) + Send + Sync + 'static) -> Self {
        let (patience, has_answered, waited) = (RetryBudget::default(), AtomicBool::new(false), Mutex::default());
        Self { patience, has_answered, waited, report: Box::new(report) }
    }

    /// The pause before the retry; `None` if the result is final.
    pub(crate) fn pause<T>(&self, answer: &Result<T, CallError>) -> Option<Duration> {
        let away = answer.as_ref().err().filter(|error| error.passes() && !error.is_of_a_webhook());
        let Some(error) = away else {
            self.has_answered.store(true, Ordering::Relaxed);
            self.patience.is_over();
            return None;
        };
        if error.code() == Some(429) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
        let pause = self.patience.pause(error).filter(|_| self.has_answered.load(Ordering::Relaxed))?;
        (self.report)(error, pause);
        Some(pause)
    }

    /// Adds the duration of a retried call.
    pub(crate) fn note(&self, took: Duration) {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += took;
    }

    /// The total waiting time of all calls.
    pub(crate) fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> Result<(), CallError> {
        Err(CallError::of_code(code, message, None))
    }

    /// The response for some seconds after a kind is new (`apiserver/pkg/storage/cacher/cacher.go`).
    #[test]
    fn new_kind_listing_is_retried() {
        let waiting = OutageWait::new(|_, _| {});
        assert!(waiting.pause(&refused(429, "storage is (re)initializing")).is_some());
    }

    #[test]
    fn known_server_is_retried() {
        let waiting = OutageWait::new(|_, _| {});
        assert_eq!(waiting.pause(&refused(503, "")), None, "nobody knows that this is an API server");
        assert_eq!(waiting.pause(&refused(404, "")), None);
        assert!(waiting.pause(&refused(503, "")).is_some());
        let unreached = "conversion webhook for w failed: Post \"https://us.n.svc/convert\": EOF";
        assert_eq!(waiting.pause(&refused(500, unreached)), None, "that is an answer");
        assert_eq!(waiting.pause(&Ok(())), None);
    }
}
