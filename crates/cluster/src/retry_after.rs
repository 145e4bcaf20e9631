//! `Retry-After` of an API server, for all calls of a process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::call_error::CallError;

/// The end of the pause.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryAfterGate(Arc<Mutex<Option<Instant>>>);

impl RetryAfterGate {
    /// Records a response. Only 429 concerns all calls; `Retry-After` with another status concerns its request alone.
    pub(crate) fn heed<T>(&self, answer: &Result<T, CallError>) {
        let busy = answer.as_ref().err().filter(|error| error.code() == Some(429));
        if let Some(pause) = busy.and_then(CallError::retry_after) {
            let until = Instant::now() + pause.min(LONGEST);
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *known = Some(known.map_or(until, |known| known.max(until)));
        }
    }

    /// Waits until calls are allowed.
    pub(crate) async fn is_over(&self) {
        // The pause may grow meanwhile.
        while let Some(until) = self.left() {
            sleep_until(until).await;
        }
    }

    fn left(&self) -> Option<Instant> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|until| *until > Instant::now())
    }
}

/// Limit for `Retry-After`, which is usually seconds.
const LONGEST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, seconds: Option<u64>) -> Result<(), CallError> {
        Err(CallError::of_code(code, "", seconds.map(Duration::from_secs)))
    }

    #[test]
    fn retry_after_is_respected() {
        let respite = RetryAfterGate::default();
        for other in [Ok(()), refused(429, None), refused(503, Some(7)), refused(422, Some(7))] {
            respite.heed(&other);
            assert_eq!(respite.left(), None, "{other:?}");
        }
        let seconds = || respite.left().map(|until| (until - Instant::now()).as_secs_f64().round());
        respite.heed(&refused(429, Some(7)));
        assert_eq!(seconds(), Some(7.0));
        respite.heed(&refused(429, Some(1)));
        assert_eq!(seconds(), Some(7.0), "a shorter word takes nothing back");
        respite.heed(&refused(429, Some(3_600)));
        assert_eq!(seconds(), Some(60.0));
    }
}
