//! Kinds by chance: most sensible ones are accepted, and what is accepted keeps the laws.
//!
//! `POINTSMAN_KINDS` says how many are made.

use std::collections::BTreeMap;

use pointsman_core::laws::random_kinds::{Draft, Manner};
use pointsman_core::laws::{Broken, Options, Report, Words, check};
use pointsman_core::webhook::{Metadata, Webhook};

use super::number;

/// Judges a draft that is accepted.
fn judged(
    draft: &Draft,
    laws: &[&str],
    seed: u64,
    cases: u64,
) -> Option<Result<Report, Box<Broken>>> {
    let kind = draft.load().ok()?;
    let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
    let words = Words::default();
    let mut options = Options { seed, cases, laws, words: &words, go_on: &mut || true };
    Some(check(&webhook, &webhook.kinds()[0], &mut options))
}

#[test]
fn most_sensible_kinds_are_accepted() {
    let kinds = number("POINTSMAN_KINDS", 200);
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let mut accepted = 0;
    for seed in 0..kinds {
        match Draft::random(seed, Manner::Sensible).load() {
            Ok(_) => accepted += 1,
            Err(bad) => {
                for problem in bad.problems {
                    *reasons.entry(problem.to_string()).or_default() += 1;
                }
            }
        }
    }
    println!("{accepted} of {kinds}");
    for (reason, count) in &reasons {
        println!("{count} {reason}");
    }
    assert!(accepted * 100 > kinds * 60, "{accepted} of {kinds} are accepted");
}

#[test]
fn survey() {
    use pointsman_core::laws::random_kinds::smallest;
    let first = number("POINTSMAN_SEED", 0);
    let per = number("POINTSMAN_PER", 6) as usize;
    let mut seen: BTreeMap<&'static str, std::collections::BTreeSet<String>> = BTreeMap::new();
    let only = std::env::var("POINTSMAN_LAW").unwrap_or_default();
    let hostile = std::env::var("POINTSMAN_HOSTILE").is_ok();
    let manner = if hostile { Manner::Hostile } else { Manner::Sensible };
    for seed in first..first + number("POINTSMAN_KINDS", 60) {
        let draft = Draft::random(seed, manner);
        for law in pointsman_core::laws::LAWS {
            if !only.is_empty() && only != law.name
                || seen.get(law.name).is_some_and(|s| s.len() >= per)
            {
                continue;
            }
            let word = |broken: &Broken| {
                broken
                    .operation
                    .as_deref()
                    .unwrap_or_default()
                    .split(' ')
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            };
            let Some(Err(first)) = judged(&draft, &[law.name], 0, 4) else { continue };
            let small = smallest(draft.clone(), &mut |draft| {
                !draft.definition.to_string().contains("\"operations\":[]")
                    && matches!(judged(draft, &[law.name], 0, 8), Some(Err(found)) if word(&found) == word(&first))
            });
            let Some(Err(broken)) = judged(&small, &[law.name], 0, 8) else { continue };
            let sig =
                broken.operation.clone().unwrap_or_default().split(' ').next().unwrap().to_owned()
                    + &small.definition["steps"].to_string().len().to_string();
            if !seen.entry(law.name).or_default().insert(sig) {
                continue;
            }
            println!("##### {} seed {seed}\n{}", law.name, small.definition["steps"]);
            for version in small.crd["spec"]["versions"].as_array().unwrap() {
                let schema = &version["schema"]["openAPIV3Schema"]["properties"];
                println!(
                    "   {}{}: spec {} status {}",
                    version["name"],
                    if version["storage"] == true { "*" } else { "" },
                    schema["spec"],
                    schema["status"]
                );
            }
            println!("{broken}");
        }
    }
}
