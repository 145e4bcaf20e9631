//! Every law of the library, over every kind of the tests.

use pointsman_core::definition::Kind;
use pointsman_core::laws::{CheckOptions, LAWS, Law, check};

use super::number;
use super::objects::WORDS;
use crate::kinds::{self, WEBHOOK};

/// Tests a kind by one law: returns the number of tested objects, or the violation.
fn judged(kind: &Kind, law: Law, seed: u64, cases: u64) -> Result<u64, String> {
    let mut options =
        CheckOptions { seed, cases, laws: &[law], words: &WORDS, has_time: &mut || true, converted: &|| {} };
    let report = check(&WEBHOOK, kind, &mut options).map_err(|broken| broken.to_string())?;
    Ok(report.cases.values().sum())
}

#[test]
fn every_kind_keeps_every_law() {
    let (seed, cases) = (number("POINTSMAN_SEED", 0), number("POINTSMAN_CASES", 150));
    let mut wrong = Vec::new();
    for kind in WEBHOOK.kinds() {
        for law in LAWS {
            if let Err(broken) = judged(kind, law, seed, (cases / 10).max(1)) {
                wrong.push(format!("{}: {broken}", kind.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} laws\n\n{}\n", wrong.len(), wrong.join("\n\n"));
}

/// A law without cases proves nothing.
#[test]
fn every_law_has_cases() {
    for law in LAWS {
        let kinds = WEBHOOK.kinds().iter();
        let judges = |kind: &&Kind| (0..40).any(|seed| judged(kind, law, seed, 1) != Ok(0));
        assert!(kinds.filter(judges).count() > 0, "{} judges nothing", law.name);
    }
}

/// The run lists operations without a case, so that an incomplete run is visible.
#[test]
fn run_lists_uncovered_operations() {
    let kind = kinds::kind("proxy");
    let run = |cases, going: bool| {
        let mut has_time = || going;
        let laws = &[Law::named("round-trip").unwrap()];
        let mut options =
            CheckOptions { seed: 0, cases, laws, words: &WORDS, has_time: &mut has_time, converted: &|| {} };
        check(&WEBHOOK, kind, &mut options).unwrap()
    };
    let (nothing, stopped, all) = (run(0, true), run(40, false), run(40, true));
    assert!(nothing.unexercised.len() > 20, "{:?}", nothing.unexercised);
    assert_eq!(nothing.unexercised, stopped.unexercised);
    assert_eq!(stopped.cases["round-trip"], 0);
    assert!(all.unexercised.is_empty(), "{:#?}", all.unexercised);
}
