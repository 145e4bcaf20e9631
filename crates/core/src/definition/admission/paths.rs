//! Upgrade paths and keys as they are written.

use serde_saphyr::Spanned;

use super::{UpgradePath, document};
use crate::apimachinery::is_qualified_name;
use crate::definition::load::{Problems, line};
use crate::upgrade::{self, Graph, Hop, Neighbours, Range, Reach, Target};

pub(super) fn path(
    name: &str,
    written: &Spanned<document::UpgradePath>,
    problems: &mut Problems,
) -> Option<UpgradePath> {
    let at = line(written);
    let mut path = Graph::default();
    let mut good = true;
    let mut bad = |problems: &mut Problems, message: String| {
        problems.add(at, format!("paths.{name}: {message}"));
        good = false;
    };
    for hop in &written.value.rules {
        let to = match (&hop.to, hop.step) {
            (Some(to), None) => Range::parse(to).map(Target::Range),
            (None, Some(step)) => Ok(Target::Reach(match step {
                document::Step::Major => Reach::Major,
                document::Step::Minor => Reach::Minor,
                document::Step::Patch => Reach::Patch,
            })),
            _ => Err(format!("the rule from {:?} needs either `to` or `step`", hop.from)),
        };
        match (Range::parse(&hop.from), to) {
            (Ok(from), Ok(to)) => path.rules.push(Hop { from, to }),
            (from, to) => {
                from.err().into_iter().chain(to.err()).for_each(|error| bad(problems, error))
            }
        }
    }
    for neighbours in &written.value.versions {
        let mut read = |text: &String| {
            let version = upgrade::version(text);
            if version.is_none() {
                bad(problems, format!("{text:?} is no version"));
            }
            version
        };
        let version = read(&neighbours.version);
        let upgrade_from = neighbours.upgrade_from.iter().filter_map(&mut read).collect();
        let downgrade_to = neighbours.downgrade_to.iter().filter_map(&mut read).collect();
        path.exact.extend(version.map(|version| Neighbours {
            version,
            upgrade_from,
            downgrade_to,
        }));
    }
    for problem in path.never() {
        bad(problems, problem);
    }
    let annotations =
        [("optOut", &written.value.opt_out), ("downgradeOptOut", &written.value.downgrade_opt_out)];
    for (name, key) in annotations {
        if let Some(key) = key.as_ref().filter(|key| !is_qualified_name(key)) {
            bad(problems, format!("{name}: {key:?} is no annotation key"));
        }
    }
    for version in path.unknown() {
        bad(
            problems,
            format!("{version} is named as a neighbour, but has no entry under versions"),
        );
    }
    for version in path.unreachable() {
        bad(
            problems,
            format!("no other version leads to {version}: it could never be upgraded to"),
        );
    }
    if path.rules.is_empty() && path.exact.is_empty() {
        bad(problems, "allows nothing: give it rules or versions".to_owned());
    }
    good.then(|| UpgradePath {
        path,
        opt_out: written.value.opt_out.clone(),
        downgrade_opt_out: written.value.downgrade_opt_out.clone(),
    })
}
