//! Time limit for temporary errors.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::call_error::CallError;

/// Shared by all calls of a run, since an outage affects all of them: twenty thousand objects do not wait for a failed
/// webhook one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryBudget(Arc<Mutex<Trouble>>);

#[derive(Debug, Default)]
struct Trouble {
    since: Option<Instant>,
    /// The latest unreported error.
    untold: Option<(CallError, Duration)>,
}

impl RetryBudget {
    /// The pause before the retry; `None` for a permanent error, or after the time limit.
    pub(crate) fn pause(&self, error: &CallError) -> Option<Duration> {
        if error.passes() { self.pause_anyway(error) } else { None }
    }

    /// The same for an error that the caller knows as temporary.
    pub(crate) fn pause_anyway(&self, error: &CallError) -> Option<Duration> {
        let mut trouble = self.lock();
        let lasted = trouble.since.get_or_insert_with(Instant::now).elapsed();
        if lasted > PATIENCE {
            return None;
        }
        // Without `Retry-After`: one second, growing with the duration of the outage.
        let longer = (lasted / 2).clamp(SHORTEST, LONGEST);
        let pause = error.retry_after().unwrap_or(longer).clamp(SHORTEST, PATIENCE);
        trouble.untold = Some((error.clone(), pause));
        Some(pause)
    }

    /// A retry succeeded.
    pub(crate) fn is_over(&self) {
        self.lock().since = None;
    }

    /// The latest error since the last query, with its pause.
    pub(crate) fn untold(&self) -> Option<(CallError, Duration)> {
        self.lock().untold.take()
    }

    fn lock(&self) -> MutexGuard<'_, Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15);

/// A single-node control plane restarts and elects leaders in this time.
const PATIENCE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, seconds: Option<u64>) -> CallError {
        CallError::of_code(code, "", seconds.map(Duration::from_secs))
    }

    #[test]
    fn retry_after_extends_wait() {
        let patience = RetryBudget::default();
        assert_eq!(patience.pause(&refused(429, Some(7))), Some(Duration::from_secs(7)));
        assert_eq!(patience.pause(&refused(503, None)), Some(SHORTEST));
        assert_eq!(patience.pause(&refused(503, Some(3_600))), Some(PATIENCE));
        assert_eq!(patience.pause(&refused(422, Some(1))), None);
        assert!(patience.untold().is_some() && patience.untold().is_none());
    }

    #[test]
    fn calls_share_one_budget() {
        let patience = RetryBudget::default();
        let long_ago = Instant::now().checked_sub(PATIENCE * 2);
        patience.lock().since = long_ago;
        assert_eq!(patience.pause(&refused(503, None)), None);
        patience.is_over();
        assert_eq!(patience.pause(&refused(503, None)), Some(SHORTEST));
    }
}
