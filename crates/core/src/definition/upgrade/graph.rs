//! Versions, and the allowed hops between them.
//!
//! For example, any version may be upgraded to the next minor version, 7.17 to any 8, and 8.18 and later to any 9.
//! There is no hop from 7.16.0 to 9.0.0. A search over the versions in the rules, and the first of each next minor and
//! major version, finds the path 7.16.0, 7.17.0, 8.18.0, 9.0.0. The refusal names the first of them, 7.17.0.

use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

use semver::Version;

use super::hop::{Hop, Neighbours, Target};
use super::{refusal::Refused, version::same};

/// The allowed hops, by rules and by exact versions.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(crate) rules: Vec<Hop>,
    /// Exact versions and their neighbours.
    pub(crate) exact: Vec<Neighbours>,
}

impl Graph {
    /// Checks whether `wanted` may follow `running`.
    pub fn allow(&self, running: &Version, wanted: &Version) -> Result<(), Refused> {
        if self.hop(running, wanted) {
            return Ok(());
        }
        Err(Refused { running: running.clone(), wanted: wanted.clone(), next: self.next(running, wanted) })
    }

    /// Returns whether one hop leads from one version to the other.
    fn hop(&self, from: &Version, to: &Version) -> bool {
        let order = to.cmp_precedence(from);
        let up = || {
            self.rules.iter().any(|rule| rule.from.contains(from) && rule.to.reaches(from, to))
                || self
                    .exact
                    .iter()
                    .any(|exact| same(&exact.version, to) && exact.upgrade_from.iter().any(|v| same(v, from)))
        };
        let down = || {
            self.exact.iter().any(|exact| same(&exact.version, from) && exact.downgrade_to.iter().any(|v| same(v, to)))
                || self
                    .rules
                    .iter()
                    .any(|rule| rule.from.contains(from) && rule.back.is_some_and(|back| back.spans(to, from)))
        };
        match order {
            Ordering::Equal => true,
            Ordering::Greater => up(),
            Ordering::Less => down(),
        }
    }

    /// The first version on the shortest path, over the versions of the rules.
    fn next(&self, running: &Version, wanted: &Version) -> Option<Version> {
        // Without downgrades, a path never exceeds the target.
        let back = self.exact.iter().any(|exact| !exact.downgrade_to.is_empty())
            || self.rules.iter().any(|rule| rule.back.is_some());
        let near = |next: &Version| back || next.cmp_precedence(wanted).is_lt();
        let mut seen: BTreeSet<Version> = BTreeSet::from([running.clone()]);
        let mut queue: VecDeque<(Version, Option<Version>)> = VecDeque::from([(running.clone(), None)]);
        while let Some((at, first)) = queue.pop_front() {
            if first.is_some() && self.hop(&at, wanted) {
                return first;
            }
            if seen.len() > SEARCHED {
                return None;
            }
            for next in self.neighbours(&at) {
                if near(&next) && self.hop(&at, &next) && seen.insert(next.clone()) {
                    let first = first.clone().unwrap_or_else(|| next.clone());
                    queue.push_back((next, Some(first)));
                }
            }
        }
        None
    }

    /// Candidate versions after a version: those of the rules, the first of the next minor and major version, and of
    /// the previous minor version if downgrades are allowed.
    fn neighbours(&self, at: &Version) -> BTreeSet<Version> {
        let mut versions: BTreeSet<Version> = BTreeSet::from([
            Version::new(at.major, at.minor.saturating_add(1), 0),
            Version::new(at.major.saturating_add(1), 0, 0),
        ]);
        if self.rules.iter().any(|rule| rule.back.is_some()) {
            versions.extend(at.minor.checked_sub(1).map(|minor| Version::new(at.major, minor, 0)));
        }
        for rule in &self.rules {
            versions.extend(rule.from.first());
            if let Target::Range(range) = &rule.to {
                versions.extend(range.first());
            }
        }
        for exact in &self.exact {
            versions.insert(exact.version.clone());
            versions.extend(exact.downgrade_to.iter().cloned());
        }
        versions
    }

    /// Exact versions that no upgrade leads to, although they name predecessors, or are not the oldest.
    pub(crate) fn unreachable(&self) -> Vec<&Version> {
        let oldest = self.exact.iter().map(|exact| &exact.version).min_by(|one, two| one.cmp_precedence(two));
        let reached = |version: &Version| {
            let from = self.exact.iter().filter(|exact| exact.version.cmp_precedence(version).is_lt());
            from.into_iter().any(|exact| self.hop(&exact.version, version))
                || self.rules.iter().any(|rule| match &rule.to {
                    Target::Range(range) => range.contains(version),
                    Target::Reach(_) => true,
                })
        };
        self.exact
            .iter()
            .map(|exact| &exact.version)
            .filter(|version| Some(*version) != oldest && !reached(version))
            .collect()
    }

    /// Describes rules that can never apply.
    pub(crate) fn never(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for Hop { from, to, .. } in &self.rules {
            match to {
                Target::Range(to) if !to.exceeds(from) => problems
                    .push(format!("the rule from {from} to {to} can never hold: only newer versions may follow")),
                _ => {}
            }
        }
        for (index, exact) in self.exact.iter().enumerate() {
            let version = &exact.version;
            let before = self.exact.iter().take(index);
            if before.into_iter().any(|other| same(&other.version, version)) {
                problems.push(format!("{version} has two entries"));
            }
            let is_not_older = |other: &&Version| !other.cmp_precedence(version).is_lt();
            for other in exact.upgrade_from.iter().filter(is_not_older) {
                problems.push(format!("{version} cannot be upgraded to from {other}, which is not older"));
            }
            for other in exact.downgrade_to.iter().filter(is_not_older) {
                problems.push(format!("{version} cannot be downgraded to {other}, which is not older"));
            }
        }
        problems
    }

    /// Returns whether the graph contains a version.
    pub(crate) fn knows(&self, version: &Version) -> bool {
        self.exact.iter().any(|exact| same(&exact.version, version))
            || self.rules.iter().any(|rule| {
                rule.from.contains(version) || matches!(&rule.to, Target::Range(to) if to.contains(version))
            })
    }

    /// Versions that are named as neighbours, without their own entry.
    pub(crate) fn unknown(&self) -> Vec<&Version> {
        let named = self.exact.iter().flat_map(|exact| exact.upgrade_from.iter().chain(&exact.downgrade_to));
        named.filter(|version| !self.exact.iter().any(|exact| same(&exact.version, version))).collect()
    }
}

/// The maximum number of versions in a search, far beyond realistic distances.
const SEARCHED: usize = 1000;
