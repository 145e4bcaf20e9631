//! Upgrade paths: which version may follow which, as data, and the way from one to another.
//!
//! Versions are compared as semver.org says; build metadata does not count. A range looks at major, minor and patch
//! only, so that `26.0.0-rc.1` is a 26 for a rule about 26.

mod range;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use semver::Version;

pub(crate) use range::Range;

/// Which version may follow which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub(crate) rules: Vec<Rule>,
    /// Exact versions and their neighbours.
    pub(crate) exact: Vec<Exact>,
}

/// One rule: from some versions to some others.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) from: Range,
    pub(crate) to: Target,
}

/// Where a rule leads.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Any newer version in a range.
    Range(Range),
    /// As far as a step goes.
    Step(Step),
}

/// How far one upgrade may go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// To the next major version at most.
    Major,
    /// To the next minor version of the same major one at most.
    Minor,
    /// To another patch of the same minor version.
    Patch,
}

/// A version that names its neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) version: Version,
    pub(crate) upgrade_from: Vec<Version>,
    pub(crate) downgrade_to: Vec<Version>,
}

/// Why one version may not follow another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refused {
    pub(crate) running: Version,
    pub(crate) wanted: Version,
    /// The next version on the shortest way there, if a way is known.
    pub(crate) next: Option<Version>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { running, wanted, next } = self;
        let what = if wanted.cmp_precedence(running).is_lt() { "downgrade" } else { "upgrade" };
        write!(f, "no {what} from {running} to {wanted} is allowed")?;
        match next {
            Some(next) => write!(f, "; go to {next} first"),
            None => write!(f, ", and no way over other versions is known"),
        }
    }
}

impl Path {
    /// Whether `wanted` may follow `running`.
    pub(crate) fn allow(&self, running: &Version, wanted: &Version) -> Result<(), Refused> {
        if self.hop(running, wanted) {
            return Ok(());
        }
        Err(Refused {
            running: running.clone(),
            wanted: wanted.clone(),
            next: self.next(running, wanted),
        })
    }

    /// One step on the way.
    fn hop(&self, from: &Version, to: &Version) -> bool {
        let order = to.cmp_precedence(from);
        let up = || {
            self.rules.iter().any(|rule| rule.from.contains(from) && rule.to.reaches(from, to))
                || self.exact.iter().any(|exact| {
                    same(&exact.version, to) && exact.upgrade_from.iter().any(|v| same(v, from))
                })
        };
        let down = || {
            self.exact.iter().any(|exact| {
                same(&exact.version, from) && exact.downgrade_to.iter().any(|v| same(v, to))
            })
        };
        match order {
            std::cmp::Ordering::Equal => true,
            std::cmp::Ordering::Greater => up(),
            std::cmp::Ordering::Less => down(),
        }
    }

    /// The first version on the shortest way, over the versions that the rules speak of.
    fn next(&self, running: &Version, wanted: &Version) -> Option<Version> {
        // Where nothing leads back, a way never goes beyond where it leads.
        let back = self.exact.iter().any(|exact| !exact.downgrade_to.is_empty());
        let near = |next: &Version| back || next.cmp_precedence(wanted).is_lt();
        let mut seen: BTreeSet<Version> = BTreeSet::from([running.clone()]);
        let mut queue: VecDeque<(Version, Option<Version>)> =
            VecDeque::from([(running.clone(), None)]);
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

    /// Versions worth trying from one: those the rules name, and the first ones of the next minor and major version.
    fn neighbours(&self, at: &Version) -> BTreeSet<Version> {
        let mut versions: BTreeSet<Version> = BTreeSet::from([
            Version::new(at.major, at.minor.saturating_add(1), 0),
            Version::new(at.major.saturating_add(1), 0, 0),
        ]);
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

    /// Exact versions that no upgrade leads to, although they name versions to come from, or that are not the oldest.
    pub(crate) fn unreachable(&self) -> Vec<&Version> {
        let oldest = self
            .exact
            .iter()
            .map(|exact| &exact.version)
            .min_by(|one, two| one.cmp_precedence(two));
        let reached = |version: &Version| {
            let from =
                self.exact.iter().filter(|exact| exact.version.cmp_precedence(version).is_lt());
            from.into_iter().any(|exact| self.hop(&exact.version, version))
                || self.rules.iter().any(|rule| match &rule.to {
                    Target::Range(range) => range.contains(version),
                    Target::Step(_) => true,
                })
        };
        self.exact
            .iter()
            .map(|exact| &exact.version)
            .filter(|version| Some(*version) != oldest && !reached(version))
            .collect()
    }

    /// What can never hold, in words.
    pub(crate) fn never(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for Rule { from, to } in &self.rules {
            match to {
                Target::Range(to) if !to.goes_beyond(from) => problems.push(format!(
                    "the rule from {from} to {to} can never hold: only newer versions may follow"
                )),
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
                problems.push(format!(
                    "{version} cannot be upgraded to from {other}, which is not older"
                ));
            }
            for other in exact.downgrade_to.iter().filter(is_not_older) {
                problems
                    .push(format!("{version} cannot be downgraded to {other}, which is not older"));
            }
        }
        problems
    }

    /// Whether anything is said of a version.
    pub(crate) fn knows(&self, version: &Version) -> bool {
        self.exact.iter().any(|exact| same(&exact.version, version))
            || self.rules.iter().any(|rule| {
                rule.from.contains(version)
                    || matches!(&rule.to, Target::Range(to) if to.contains(version))
            })
    }

    /// Versions that are named as neighbours, but have no entry of their own.
    pub(crate) fn unknown(&self) -> Vec<&Version> {
        let named = self
            .exact
            .iter()
            .flat_map(|exact| exact.upgrade_from.iter().chain(&exact.downgrade_to));
        named
            .filter(|version| !self.exact.iter().any(|exact| same(&exact.version, version)))
            .collect()
    }
}

impl Target {
    /// Whether a rule leads to a newer version.
    fn reaches(&self, from: &Version, to: &Version) -> bool {
        match self {
            Self::Range(range) => range.contains(to),
            Self::Step(Step::Major) => to.major <= from.major.saturating_add(1),
            Self::Step(Step::Minor) => {
                to.major == from.major && to.minor <= from.minor.saturating_add(1)
            }
            Self::Step(Step::Patch) => to.major == from.major && to.minor == from.minor,
        }
    }
}

/// How many versions a search for a way looks at: far beyond the releases between two that anybody runs.
const SEARCHED: usize = 1000;

fn same(one: &Version, two: &Version) -> bool {
    one.cmp_precedence(two).is_eq()
}

/// Reads a version as people write it: `2`, `2.17`, `v2.17.1`.
pub(crate) fn version(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let (numbers, rest) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let dots = numbers.matches('.').count();
    let missing = match dots {
        0 => ".0.0",
        1 => ".0",
        2 => "",
        _ => return None,
    };
    Version::parse(&format!("{numbers}{missing}{rest}")).ok()
}

/// The version in an image reference's tag: `repository/image:v26.1.0`, with `--` where a tag cannot have `+`.
/// `None` for digests, and for tags that are no version.
pub(crate) fn image_tag(reference: &str) -> Option<Version> {
    if reference.contains('@') {
        return None;
    }
    let (_, tag) = reference.rsplit_once(':')?;
    Version::parse(&tag.strip_prefix('v')?.replace("--", "+")).ok()
}
