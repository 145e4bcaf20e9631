//! Definitions that lack entries are completed, and keep their own lines.

use pointsman_core::definition::Kind;
use pointsman_core::draft::{Draft, Fix, FixError};
use serde_json::Value;

use super::{pairs, seeds, vendors};
use crate::kinds::data;

fn fixed(text: &str, crd: &Value) -> Result<Fix, FixError> {
    Fix::of("things.yaml", text, &mut |_| Ok(crd.to_string()))
}

/// A definition without a third of the entries that concern one version or a difference. Both entries of a field that
/// each version keeps for itself stay or go together.
fn thinned(draft: &str, seed: usize) -> String {
    let path = |line: &str| {
        let entry = line.trim_start();
        let starts = ["- drop: ", "- add: ", "- {path: "];
        starts.iter().find_map(|start| entry.strip_prefix(start)).map(str::to_owned)
    };
    let is_kept = |path: String| !(path.bytes().map(usize::from).sum::<usize>() + seed).is_multiple_of(3);
    let kept: Vec<&str> = draft.lines().filter(|line| path(line).is_none_or(is_kept)).collect();
    // A list without entries has brackets.
    let depth = |line: &str| line.len() - line.trim_start().len();
    let lines = kept.iter().enumerate().map(|(index, line)| {
        let next = kept[index + 1..].iter().find(|next| !next.trim_start().starts_with('#'));
        let has_entry = next.is_some_and(|next| next.trim_start().starts_with('-') && depth(next) >= depth(line));
        let is_list = ["operations:", "accept:"].contains(&line.trim_start()) && !has_entry;
        format!("{line}{}\n", if is_list { " []" } else { "" })
    });
    lines.collect()
}

/// Completes a thinned draft. Returns whether the draft was thinned and is complete.
fn completes(name: &str, crd: &Value, seed: usize) -> Option<bool> {
    let draft = Draft::of_crd(&crd.to_string(), "things.crd.yaml").ok()?;
    let thin = thinned(&draft.text, seed);
    let fix = fixed(&thin, crd).unwrap_or_else(|error| panic!("{name}: {error}\n{thin}"));
    let mut lines = fix.text.lines();
    for line in thin.lines() {
        let own = line.trim_end_matches(" []");
        assert!(lines.any(|found| found == line || found == own), "{name}: lost {line}\n{thin}\n{}", fix.text);
    }
    let is_loaded = Kind::from_crd(&fix.text, &crd.to_string()).is_ok();
    assert_eq!(is_loaded, fix.problems.is_empty(), "{name}: {}", fix.text);
    if !is_loaded {
        println!("{name}:\n{thin}\n{}\n{:#?}", fix.text, fix.problems);
    }
    Some(is_loaded)
}

#[test]
fn thinned_definitions_are_completed() {
    let random = seeds().map(|seed| (format!("seed {seed}"), pairs::crd(seed)));
    let vendors = vendors::names().into_iter().map(|name| (name.clone(), vendors::crd(&name)));
    let (mut all, mut complete) = (0, 0);
    for (seed, (name, crd)) in random.chain(vendors).enumerate() {
        if let Some(is_complete) = completes(&name, &crd, seed) {
            all += 1;
            complete += usize::from(is_complete);
        }
    }
    println!("{complete} of {all} definitions are complete");
    assert_eq!(complete, all);
}

#[test]
fn new_version_gets_a_step() {
    let crd: Value = serde_saphyr::from_str(&data("kinds/gadgets.crd.yaml")).unwrap();
    let whole = Draft::of_crd(&crd.to_string(), "gadgets.crd.yaml").unwrap().text;
    let last = whole.rfind("- from: ").unwrap();
    assert!(whole.matches("- from: ").count() > 1, "{whole}");
    let fix = fixed(&whole[..last], &crd).unwrap();
    assert_eq!((fix.text.as_str(), fix.problems.len()), (whole.as_str(), 0));
}

#[test]
fn complete_definition_stays() {
    let crd: Value = serde_saphyr::from_str(&data("kinds/letters.crd.yaml")).unwrap();
    let text = data("kinds/letters.yaml");
    let fix = fixed(&text, &crd).unwrap();
    assert_eq!((fix.text.as_str(), fix.operations, fix.acceptances), (text.as_str(), 0, 0));
}

#[test]
fn list_in_one_line_is_refused() {
    let crd: Value = serde_saphyr::from_str(&data("kinds/letters.crd.yaml")).unwrap();
    let text = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: letters.crd.yaml\nsteps:\n- from: v1\n  to: v2\n  operations: [{drop: spec.a}]\n";
    let error = fixed(text, &crd).unwrap_err();
    assert_eq!(error, FixError::Layout { line: 7, key: "operations".to_owned() });
}

/// A definition of gadgets with this text after its head.
fn gadgets(steps: &str) -> Result<Fix, FixError> {
    let crd: Value = serde_saphyr::from_str(&data("kinds/gadgets.crd.yaml")).unwrap();
    fixed(&format!("apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: gadgets.crd.yaml\n{steps}"), &crd)
}

#[test]
fn operations_precede_an_acceptance() {
    let crd: Value = serde_saphyr::from_str(&data("kinds/letters.crd.yaml")).unwrap();
    let whole = Draft::of_crd(&crd.to_string(), "letters.crd.yaml").unwrap().text;
    let head = &whole[..whole.find("  operations:").unwrap()];
    let thin = format!("{head}  # Mine.\n  accept: []\n");
    let fix = fixed(&thin, &crd).unwrap();
    assert!(fix.operations > 0 && fix.acceptances > 0 && fix.problems.is_empty(), "{thin}\n{}", fix.text);
    assert!(fix.text.find("  operations:") < fix.text.find("  # Mine."), "{}", fix.text);
}

#[test]
fn line_endings_stay() {
    let crd: Value = serde_saphyr::from_str(&data("kinds/gadgets.crd.yaml")).unwrap();
    let whole = Draft::of_crd(&crd.to_string(), "gadgets.crd.yaml").unwrap().text.replace('\n', "\r\n");
    let fix = fixed(&whole[..whole.rfind("- from: ").unwrap()], &crd).unwrap();
    assert_eq!((fix.text.as_str(), fix.steps), (whole.as_str(), 1));
}

#[test]
fn unreadable_definition_keeps_its_problem() {
    assert_eq!(gadgets("steps: []\n").unwrap_err(), FixError::NoSteps);
    for (steps, problem) in [("steps: [\n", "unclosed"), ("steps:\n- to: v1\n", "from")] {
        let Err(FixError::Invalid(bad)) = gadgets(steps) else { panic!("{steps}") };
        assert!(bad.to_string().contains(problem), "{bad}");
    }
    let missing = Fix::of("gadgets.yaml", "kind: KindDefinition\nsteps:\n- {from: v1, to: v2}\n", &mut |_| {
        Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no such file"))
    });
    assert!(missing.is_err());
}
