//! Cancels work on request.

use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

/// The result of work; `None` if stopped and still unfinished after a grace period.
pub(crate) async fn until_stopped<T>(stop: &dyn Fn() -> bool, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    while !stop() {
        if let Ok(done) = timeout(OFTEN, &mut work).await {
            return Some(done);
        }
    }
    timeout(GRACE, work).await.ok()
}

/// An unnoticeable delay.
const OFTEN: Duration = Duration::from_millis(100);

/// Calls usually finish in this time; pauses and unresponsive API servers do not.
const GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    fn run<T>(stop: bool, work: impl Future<Output = T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(until_stopped(&|| stop, work))
    }

    #[test]
    fn grace_period_limits_shutdown_wait() {
        assert_eq!(run(false, async { 1 }), Some(1));
        assert_eq!(run(false, async { sleep(OFTEN * 2).await }), Some(()));
        assert_eq!(run(true, async { sleep(OFTEN).await }), Some(()));
        assert_eq!(run(true, async { sleep(Duration::from_secs(60)).await }), None);
    }
}
