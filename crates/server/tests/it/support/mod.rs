//! Helpers shared by the tests. No helper sleeps for a fixed time: see [`eventually`].

pub(crate) mod attack;
pub(crate) mod callers;
pub(crate) mod certs;
pub(crate) mod client;
pub(crate) mod collector;
pub(crate) mod gate;
pub(crate) mod held_streams;
pub(crate) mod memory_group;
pub(crate) mod promtool;
pub(crate) mod server;
pub(crate) mod victim;
pub(crate) mod volume;
pub(crate) mod windows;

use std::time::{Duration, Instant};

/// Polls until `check` returns a value, and fails with `what` after ten seconds.
pub(crate) async fn eventually<T, F>(what: &str, mut check: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < deadline, "not within ten seconds: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A number that the environment sets.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |number| number.parse().unwrap())
}
