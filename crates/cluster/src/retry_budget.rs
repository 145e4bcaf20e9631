//! How long trouble that passes is waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::call_error::CallError;

/// Shared by all calls of a run: what is away for one of them is away for the others, and twenty thousand objects do
/// not wait one after the other for a webhook that is dead.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryBudget(Arc<Mutex<Trouble>>);

#[derive(Debug, Default)]
struct Trouble {
    since: Option<Instant>,
    /// What nobody has been told yet.
    untold: Option<(CallError, Duration)>,
}

impl RetryBudget {
    /// How long to wait before the same call is tried again; nothing where it does not pass, or did not in all the time
    /// that there was.
    pub(crate) fn pause(&self, error: &CallError) -> Option<Duration> {
        if error.passes() { self.pause_anyway(error) } else { None }
    }

    /// The same for an error of which the caller knows that it passes.
    pub(crate) fn pause_anyway(&self, error: &CallError) -> Option<Duration> {
        let mut trouble = self.lock();
        let lasted = trouble.since.get_or_insert_with(Instant::now).elapsed();
        if lasted > PATIENCE {
            return None;
        }
        // Without the API server's word a second, and longer the longer it has been away.
        let longer = (lasted / 2).clamp(SHORTEST, LONGEST);
        let pause = error.retry_after().unwrap_or(longer).clamp(SHORTEST, PATIENCE);
        trouble.untold = Some((error.clone(), pause));
        Some(pause)
    }

    /// A call succeeded that had to be tried again.
    pub(crate) fn is_over(&self) {
        self.lock().since = None;
    }

    /// What has been in the way since this was asked last, and for how long it is left alone.
    pub(crate) fn untold(&self) -> Option<(CallError, Duration)> {
        self.lock().untold.take()
    }

    fn lock(&self) -> MutexGuard<'_, Trouble> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(15);

/// A control plane of one node restarts, and elects leaders, within this.
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
