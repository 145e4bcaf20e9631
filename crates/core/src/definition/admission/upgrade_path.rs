//! Upgrade paths: which version may follow which, as written and as compiled.

use schemars::JsonSchema;
use serde::Deserialize;

use super::prerequisites::Needs;
use crate::apimachinery::is_qualified_name;
use crate::definition::problems::Problems;
use crate::definition::upgrade::{self, Graph, Hop, Neighbours, Range, Reach, Target};
use crate::definition::yaml::Spanned;

/// Which version may follow which.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "UpgradePath")]
pub(super) struct UpgradePathSpec {
    /// From a range to a range, or by a maximum step. One matching rule is enough.
    #[serde(default)]
    pub(super) rules: Vec<HopSpec>,
    /// Versions with their allowed neighbours.
    #[serde(default)]
    pub(super) versions: Vec<NeighboursSpec>,
    /// An annotation that disables the check for an object, unless its value is `false`.
    pub(super) opt_out: Option<String>,
    /// An annotation that allows downgrades, unless its value is `false`. Upgrades are still checked.
    pub(super) downgrade_opt_out: Option<String>,
}

/// A rule of an upgrade path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Hop")]
pub(super) struct HopSpec {
    /// Running versions: a range such as `7.17` or `>=8.18 <9`; `*` for any.
    pub(super) from: String,
    /// The maximum downgrade of these versions: `patch`, `minor`, `major`. Without this key, downgrades are forbidden.
    pub(super) back: Option<ReachSpec>,
    /// A range of allowed next versions. Applies only to newer versions. For older versions, see `back`.
    pub(super) to: Option<String>,
    /// Instead of `to`: the maximum step, `patch`, `minor` or `major`.
    pub(super) step: Option<ReachSpec>,
}

/// The maximum distance of an upgrade.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "StepSize")]
pub(super) enum ReachSpec {
    /// The next major version.
    Major,
    /// The next minor version of the same major one.
    Minor,
    /// Another patch of the same minor version.
    Patch,
}

/// A version with its allowed previous and next versions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Neighbours")]
pub(super) struct NeighboursSpec {
    /// The version.
    pub(super) version: String,
    /// The allowed previous versions of an upgrade.
    #[serde(default)]
    pub(super) upgrade_from: Vec<String>,
    /// The older versions, allowed as targets of a downgrade.
    #[serde(default)]
    pub(super) downgrade_to: Vec<String>,
    /// The prerequisites of a rollout to this version.
    #[serde(default)]
    pub(super) needs: Needs,
}

/// A version of a path with its neighbours, as written.
#[derive(Clone, Debug)]
pub struct NamedVersion {
    /// The version.
    pub version: String,
    /// The versions that may upgrade to this version.
    pub upgrade_from: Vec<String>,
    /// The versions to which this version may downgrade.
    pub downgrade_to: Vec<String>,
    /// The objects that an upgrade to this version needs.
    pub needs: Needs,
}

/// An upgrade path with its opt-out annotations.
#[derive(Clone, Debug)]
pub struct UpgradePath {
    /// The allowed hops between versions.
    pub path: Graph,
    /// The versions that the path names, as written, in order.
    pub named: Vec<NamedVersion>,
    /// The annotation that allows any upgrade of its object.
    pub opt_out: Option<String>,
    /// The annotation that allows any downgrade of its object.
    pub downgrade_opt_out: Option<String>,
}

impl UpgradePath {
    /// The prerequisites of each version that has any.
    pub fn needs(&self) -> impl Iterator<Item = (&str, &Needs)> {
        let all = self.named.iter().map(|named| (named.version.as_str(), &named.needs));
        all.filter(|(_, needs)| **needs != Needs::default())
    }

    /// Compiles the path `name` and checks that every version on it is reachable.
    pub(super) fn compile(name: &str, spec: &Spanned<UpgradePathSpec>, problems: &mut Problems) -> Option<Self> {
        let mut bad = Vec::new();
        let UpgradePathSpec { rules, versions, opt_out, downgrade_opt_out } = &spec.value;
        let mut path = Graph::default();
        for hop in rules {
            match (Range::parse(&hop.from), hop.target()) {
                (Ok(from), Ok(to)) => {
                    let back = hop.back.map(ReachSpec::reach);
                    path.rules.push(Hop { from, to, back });
                }
                (from, to) => bad.extend(from.err().into_iter().chain(to.err())),
            }
        }
        path.exact.extend(versions.iter().filter_map(|neighbours| neighbours.read(&mut bad)));
        bad.extend(path.never());
        for (name, key) in [("optOut", opt_out), ("downgradeOptOut", downgrade_opt_out)] {
            let key = key.as_ref().filter(|key| !is_qualified_name(key));
            bad.extend(key.map(|key| format!("{name}: {key:?} is no annotation key")));
        }
        let unknown = path.unknown();
        bad.extend(unknown.iter().map(|version| {
            format!("{version} is used in upgradeFrom or downgradeTo, but has no entry under versions")
        }));
        let unreachable = path.unreachable();
        bad.extend(unreachable.iter().map(|version| {
            format!("no other version leads to {version}: no object could be upgraded to this version")
        }));
        if path.rules.is_empty() && path.exact.is_empty() {
            bad.push("permits no version: add rules or versions".to_owned());
        }
        let is_good = bad.is_empty();
        for message in bad {
            problems.add(spec.line, format!("paths.{name}: {message}"));
        }
        let (opt_out, downgrade_opt_out) = (opt_out.clone(), downgrade_opt_out.clone());
        let named = versions.iter().map(NeighboursSpec::named).collect();
        is_good.then_some(Self { path, named, opt_out, downgrade_opt_out })
    }
}

impl HopSpec {
    fn target(&self) -> Result<Target, String> {
        match (&self.to, self.step) {
            (Some(to), None) => Range::parse(to).map(Target::Range),
            (None, Some(step)) => Ok(Target::Reach(step.reach())),
            _ => Err(format!("the rule from {:?} needs either `to` or `step`", self.from)),
        }
    }
}

impl ReachSpec {
    fn reach(self) -> Reach {
        match self {
            Self::Major => Reach::Major,
            Self::Minor => Reach::Minor,
            Self::Patch => Reach::Patch,
        }
    }
}

impl NeighboursSpec {
    fn named(&self) -> NamedVersion {
        let Self { version, upgrade_from, downgrade_to, needs } = self;
        NamedVersion {
            version: version.clone(),
            upgrade_from: upgrade_from.clone(),
            downgrade_to: downgrade_to.clone(),
            needs: needs.clone(),
        }
    }

    fn read(&self, bad: &mut Vec<String>) -> Option<Neighbours> {
        let mut read = |text: &String| {
            let version = upgrade::version(text);
            if version.is_none() {
                bad.push(format!("{text:?} is no version"));
            }
            version
        };
        let version = read(&self.version);
        let upgrade_from = self.upgrade_from.iter().filter_map(&mut read).collect();
        let downgrade_to = self.downgrade_to.iter().filter_map(&mut read).collect();
        Some(Neighbours { version: version?, upgrade_from, downgrade_to })
    }
}
