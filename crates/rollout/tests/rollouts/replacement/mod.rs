//! Simulation of kinds that are replaced by others: recreated Deployments, transferred ownership, deleted objects; slow
//! controllers, kills and lost responses between any two calls, edits by other clients, and changes of direction. A
//! failure prints its seed and the smallest history that fails in the same way.

mod carried;
mod fake_namespace;
mod fake_runner;
mod laws;
mod object_calls;
mod returns;
mod scenario;
mod strangers;
mod trials;
mod turns;

use laws::{HistoryRun, Wrong};
use scenario::Scenario;

#[test]
fn replacement_histories_keep_all_laws() {
    let (first, count) = (super::number("POINTSMAN_SEED", 0), super::number("POINTSMAN_ROLLOUTS", 1_500).div_ceil(10));
    let mut ends = std::collections::BTreeMap::<String, u64>::new();
    for seed in first..first + count {
        let plot = Scenario::draw(seed);
        let mut chronicle = HistoryRun::new(&plot);
        if let Some(Wrong { property, .. }) = chronicle.run() {
            let small = plot.shrunk(|plot| HistoryRun::new(plot).run().is_some_and(|other| other.property == property));
            let Wrong { property, what, log } = HistoryRun::new(&small).run().unwrap();
            panic!("seed {seed}: {property}: {what}\n{small:#?}\n{}", log[log.len().saturating_sub(80)..].join("\n"));
        }
        for end in chronicle.ends() {
            *ends.entry(end).or_default() += 1;
        }
    }
    println!("{count} histories of kinds that become others: {ends:?}");
    for end in ["Complete", "Aborted", "Paused", "home", "turned", "killed", "gap", "after the end", "again"] {
        assert!(count < 100 || ends.contains_key(end), "{end}: {ends:?}");
    }
}
