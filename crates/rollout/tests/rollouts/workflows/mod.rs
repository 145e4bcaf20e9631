//! Simulation of workflows with several steps: failed, lost and late Jobs, kills between any two calls, resume, undo
//! and abort. A failure prints its seed and the smallest history that fails in the same way.

mod draw;
mod fake_cluster;
mod fields;
mod going;
mod laws;
mod refused;
mod stations;
mod stopped;

use draw::Draft;
use laws::{Broken, Voyage};

#[test]
fn histories_of_workflows_keep_every_property() {
    let (first, count) = (super::number("POINTSMAN_SEED", 0), super::number("POINTSMAN_ROLLOUTS", 1_500).div_ceil(3));
    let mut ends = std::collections::BTreeMap::<String, u64>::new();
    for seed in first..first + count {
        let draft = Draft::draw(seed);
        let mut voyage = Voyage::new(&draft);
        if let Some(Broken { property, .. }) = voyage.run() {
            let breaks = |draft: &Draft| Voyage::new(draft).run().is_some_and(|other| other.property == property);
            let small = draft.shrunk(breaks);
            let Broken { property, what, log } = Voyage::new(&small).run().unwrap();
            panic!("seed {seed}: {property}: {what}\n{small:#?}\n{}", log[log.len().saturating_sub(80)..].join("\n"));
        }
        for end in voyage.ends() {
            *ends.entry(end).or_default() += 1;
        }
    }
    println!("{count} histories of workflows: {ends:?}");
    // Every end state and every kind of error occurs.
    for end in ["Complete", "Aborted", "Failed", "JobFailed", "undone", "home", "by hand"] {
        assert!(count < 400 || ends.contains_key(end), "{end}: {ends:?}");
    }
}
