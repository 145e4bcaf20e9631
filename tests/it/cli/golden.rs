use std::fs;

use tempfile::TempDir;

use super::*;

const EXAMPLE: &str = "examples/kinds/cronjobs";

/// A copy of the example with a change in its cases.
fn changed(from: &str, to: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    for file in ["cronjobs.yaml", "cronjobs.crd.yaml", "cases.yaml"] {
        let text = read(format!("{EXAMPLE}/{file}"));
        let text = if file == "cases.yaml" { text.replacen(from, to, 1) } else { text };
        fs::write(dir.path().join(file), text).unwrap();
    }
    dir
}

#[test]
fn recorded_conversions_pass() {
    let text = pointsman(&["kinds", "test", EXAMPLE]).data();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "OK: 3 cases");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["RESULT", "FILE", "CASE"]);
    assert!(lines[2].starts_with("pass") && lines[2].ends_with("the schedule becomes an object"), "{text}");
    let value = json(&pointsman(&["kinds", "test", EXAMPLE, "-o", "json"]).data());
    assert_eq!(value["items"][2]["passed"], true);
}

#[test]
fn changed_conversion_fails_with_path() {
    let dir = changed("minute: \"30\"", "minute: \"31\"");
    let name = dir.path().to_str().unwrap();
    let junit = dir.path().join("cases.xml");
    let answer = pointsman(&["kinds", "test", name, "--junit", junit.to_str().unwrap()]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    assert!(answer.stdout.starts_with("FAILED: 1 of 3 cases\n"), "{}", answer.stdout);
    let message = "the schedule becomes an object: spec.schedule.minute: expected \"31\", and found \"30\"";
    assert!(answer.stderr.contains(message), "{}", answer.stderr);
    let xml = fs::read_to_string(junit).unwrap();
    assert!(xml.contains("<testsuites name=\"pointsman kinds test\" tests=\"3\" failures=\"1\""), "{xml}");
}

#[test]
fn recorded_results_pass_afterwards() {
    let dir = changed("minute: \"30\"", "minute: \"31\"");
    let name = dir.path().to_str().unwrap();
    let answer = pointsman(&["kinds", "test", name, "--record"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stderr.contains("recorded 1 case in "), "{}", answer.stderr);
    assert!(pointsman(&["kinds", "test", name]).data().starts_with("OK: 3 cases\n"));
}

#[test]
fn case_without_object_is_refused() {
    let dir = changed("  object:\n", "  objekt:\n");
    let error = pointsman(&["kinds", "test", dir.path().to_str().unwrap()]).refusal(1);
    assert!(error.contains("case 1: unknown key \"objekt\". Known names: name, object, to, edit, expected"), "{error}");
    let error = pointsman(&["kinds", "test", "tests/data/kinds"]).refusal(1);
    assert!(error.contains("tests/data/kinds: no file with `kind: ConversionCases` in this directory"), "{error}");
}

#[test]
fn every_example_passes() {
    let mut dirs: Vec<_> = fs::read_dir("examples/kinds").unwrap().map(|entry| entry.unwrap().path()).collect();
    dirs.retain(|dir| dir.join("cases.yaml").is_file());
    assert!(dirs.len() > 10);
    for dir in dirs {
        let answer = pointsman(&["kinds", "test", dir.to_str().unwrap()]);
        assert!(answer.stdout.starts_with("OK: "), "{}: {}", dir.display(), answer.stderr);
    }
}
