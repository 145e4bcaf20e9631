//! Advice of `kinds check`, followed literally: it leads to a definition that loads, or to a reason that names the CRD.
//!
//! `POINTSMAN_PAIRS` sets the number of pairs of schemas, `POINTSMAN_SEED` the first of them.

mod drafts;
mod fixes;
mod follower;
mod pairs;
mod vendors;

use follower::{End, Follower};
use pointsman_test_support::random_kinds::{Draft, Manner};

use crate::laws::number;

/// The ends of several definitions.
#[derive(Default)]
struct Ends {
    loaded: usize,
    explained: usize,
    stuck: Vec<String>,
}

impl Ends {
    fn add(&mut self, name: &str, follower: Follower) {
        match follower.follow() {
            End::Loaded(_) => self.loaded += 1,
            End::Explained(_) => self.explained += 1,
            End::Invalid => {}
            End::Stuck(story) => self.stuck.push(format!("{name}: {story}")),
        }
    }

    fn total(&self) -> usize {
        self.loaded + self.explained + self.stuck.len()
    }

    #[track_caller]
    fn check(&self, name: &str, share: usize) {
        let (total, stuck) = (self.total(), self.stuck.len());
        println!("{name}: {total} pairs, {} loaded, {} explained, {stuck} stuck", self.loaded, self.explained);
        let first: Vec<&str> = self.stuck.iter().take(3).map(String::as_str).collect();
        assert!(stuck == 0, "{stuck} of {total} are stuck:\n{}", first.join("\n\n"));
        assert!(self.loaded * 100 >= total * share, "{} of {total} are loaded", self.loaded);
    }
}

fn seeds() -> std::ops::Range<u64> {
    let first = number("POINTSMAN_SEED", 0);
    first..first + number("POINTSMAN_PAIRS", 300)
}

#[test]
fn advice_for_random_pairs_loads() {
    let mut ends = Ends::default();
    for seed in seeds() {
        ends.add(&format!("seed {seed}"), Follower::new(&pairs::crd(seed)));
    }
    ends.check("random pairs", 80);
}

#[test]
fn advice_for_random_kinds_loads() {
    let mut ends = Ends::default();
    for (seed, manner) in seeds().flat_map(|seed| [(seed, Manner::Sensible), (seed, Manner::Hostile)]) {
        let crd = Draft::random(seed, manner).crd;
        ends.add(&format!("{manner:?} {seed}"), Follower::new(&crd));
    }
    ends.check("random kinds", 80);
}
