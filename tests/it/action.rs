//! The steps of `action.yml`, run as a runner runs them, on a directory with a good and with a bad definition.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// The output of all steps until one fails, and the summary.
struct ActionRun {
    passed: bool,
    output: String,
    summary: String,
    sarif: Option<Value>,
}

/// Runs the action with these inputs in a workspace.
fn run(workspace: &Path, inputs: &[(&str, &str)]) -> ActionRun {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let action: Value = serde_saphyr::from_str(&fs::read_to_string(root.join("action.yml")).unwrap()).unwrap();
    let runner = TempDir::new().unwrap();
    let (env_file, summary) = (runner.path().join("env"), runner.path().join("summary.md"));
    for file in [&env_file, &summary] {
        fs::write(file, "").unwrap();
    }
    let default = |name: &str| action["inputs"][name]["default"].as_str().unwrap_or_default().to_owned();
    let given: BTreeMap<&str, &str> = inputs.iter().copied().collect();
    let input = |name: &str| given.get(name).map_or_else(|| default(name), |value| (*value).to_owned());
    let (mut output, mut passed) = (String::new(), true);
    for step in action["runs"]["steps"].as_array().unwrap() {
        assert_eq!(step["shell"], "bash", "{step}");
        let mut command = Command::new("bash");
        // The flags of the shell `bash` of a runner.
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().unwrap()]);
        command.current_dir(workspace).env("GITHUB_ACTION_PATH", root).env("RUNNER_TEMP", runner.path());
        command.env("GITHUB_ENV", &env_file).env("GITHUB_STEP_SUMMARY", &summary);
        for line in fs::read_to_string(&env_file).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            command.env(name, value);
        }
        for (name, value) in step["env"].as_object().unwrap() {
            let value = value.as_str().unwrap().strip_prefix("${{ inputs.").and_then(|text| text.strip_suffix(" }}"));
            command.env(name, input(value.unwrap()));
        }
        let answer = command.output().unwrap();
        output.push_str(&String::from_utf8([answer.stdout, answer.stderr].concat()).unwrap());
        if !answer.status.success() {
            passed = false;
            break;
        }
    }
    let sarif = fs::read_to_string(workspace.join(input("sarif"))).ok();
    let sarif = sarif.map(|text| serde_json::from_str(&text).unwrap());
    ActionRun { passed, output, summary: fs::read_to_string(summary).unwrap(), sarif }
}

/// A workspace with the definition, CRD and recorded conversions of a public kind.
fn workspace() -> TempDir {
    let workspace = TempDir::new().unwrap();
    let kinds = workspace.path().join("kinds");
    fs::create_dir(&kinds).unwrap();
    for file in ["definition.yaml", "crd.yaml", "cases.yaml"] {
        fs::copy(Path::new("examples/kinds/capi-machine").join(file), kinds.join(file)).unwrap();
    }
    workspace
}

const BINARY: &str = env!("CARGO_BIN_EXE_pointsman");

#[test]
fn action_accepts_good_definitions() {
    let workspace = workspace();
    let run = run(workspace.path(), &[("directory", "kinds"), ("pointsman", BINARY)]);
    assert!(run.passed, "{}", run.output);
    assert!(run.summary.starts_with("### Definitions: OK\n") && run.output.contains("OK: "), "{}", run.output);
    assert!(run.output.contains("::add-matcher::"), "{}", run.output);
    assert!(
        run.sarif.unwrap()["runs"][0]["results"].as_array().unwrap().iter().all(|result| result["level"] != "error")
    );
}

#[test]
fn action_annotates_bad_definitions() {
    let workspace = workspace();
    let file = workspace.path().join("kinds/definition.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("operations:", "operation:")).unwrap();
    let run = run(workspace.path(), &[("directory", "kinds"), ("pointsman", BINARY)]);
    assert!(!run.passed && run.summary.starts_with("### Definitions: FAILED\n"), "{}", run.output);
    assert!(run.summary.contains(".yaml:"), "the summary names the line: {}", run.summary);
    // The form that the problem matcher reads.
    let is_annotation = |line: &&str| line.starts_with("error: kinds/definition.yaml:");
    assert!(run.output.lines().any(|line| is_annotation(&line)), "{}", run.output);
    let sarif = run.sarif.unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "kinds/definition.yaml", "{sarif}");
}

/// A recorded conversion that differs fails the action too.
#[test]
fn action_compares_recorded_conversions() {
    let workspace = workspace();
    let file = workspace.path().join("kinds/cases.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("expected:\n", "expected:\n    unexpected: true\n", 1)).unwrap();
    let run = run(workspace.path(), &[("directory", "kinds"), ("pointsman", BINARY)]);
    assert!(!run.passed && run.output.contains("FAILED: 1 of "), "{}", run.output);
}
