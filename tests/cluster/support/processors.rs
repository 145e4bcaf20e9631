//! Pauses between scenarios on a busy machine.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

/// Returns when a scenario can start. Scenarios mostly wait, so their number does not show how busy a machine is: with
/// 35 of them on 2 processors, an API server exceeded its own time limit of 30 s for one request.
///
/// Callers wait one by one, so that each sees the load of the one before it. Always returns while few scenarios run.
pub(crate) fn wait_for_processors(running: &AtomicUsize) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|broken| broken.into_inner());
    let most = PROCESSES * available_parallelism().map_or(1, usize::from);
    while running.load(Ordering::Relaxed) >= FEW && runnable().is_some_and(|processes| processes > most) {}
}

/// The mean number of processes that have or want a processor during a quarter of a second. `None` without Linux.
///
/// Source: `procs_running` in proc_stat(5).
fn runnable() -> Option<usize> {
    let mut sum = 0;
    for _ in 0..SAMPLES {
        sleep(Duration::from_millis(25));
        let text = fs::read_to_string("/proc/stat").ok()?;
        sum += text.lines().find_map(|line| line.strip_prefix("procs_running ")?.trim().parse::<usize>().ok())?;
    }
    Some(sum / SAMPLES)
}

const SAMPLES: usize = 10;
/// Processes for each processor: a request takes three times as long as on an idle machine.
const PROCESSES: usize = 3;
/// The number of scenarios that always run: many of them wait for a minute and use no processor.
const FEW: usize = 6;
