//! `kinds check` tests the definition.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const WIDGETS: &str = "tests/data/kinds/widgets.yaml";
/// A limit that also holds on a busy machine.
const LONG: [&str; 2] = ["--time", "10m"];

fn check(args: &[&str]) -> Answer {
    pointsman(&[&["kinds", "check"], args, &LONG].concat())
}

fn check_stdin(args: &[&str], stdin: &str) -> Answer {
    with_stdin(&[&["kinds", "check"], args, &LONG].concat(), stdin.as_bytes())
}

/// A directory with a definition, `kind.yaml`, of kind `Thing`. `versions` are the properties of `spec` in v1 and v2.
pub(super) fn directory(operations: &str, versions: [&str; 2]) -> TempDir {
    let directory = TempDir::new().unwrap();
    let head =
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.crd.yaml\nsteps:\n- from: v1\n  to: v2\n";
    fs::write(directory.path().join("kind.yaml"), format!("{head}  operations:\n{operations}")).unwrap();
    let mut crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
        metadata: {name: things.example.com}\nspec:\n  group: example.com\n  names: {kind: Thing, plural: things}\n  versions:\n"
        .to_owned();
    for (version, properties) in ["v1", "v2"].into_iter().zip(versions) {
        crd.push_str(&format!(
            "  - name: {version}\n    served: true\n    storage: {}\n    schema:\n      openAPIV3Schema:\n        \
             type: object\n        properties:\n          spec:\n            type: object\n            properties:\n",
            version == "v2"
        ));
        properties.lines().for_each(|line| crd.push_str(&format!("              {line}\n")));
    }
    fs::write(directory.path().join("things.crd.yaml"), crd).unwrap();
    directory
}

#[test]
fn empty_trial_is_no_success() {
    let refused = pointsman(&["kinds", "check", WIDGETS, "--time", "0s"]).refusal(2);
    assert!(refused.contains("a duration of 0 tries no object; use --try 0 instead"), "{refused}");
    let short = pointsman(&["kinds", "check", WIDGETS, "--time", "1ns"]);
    assert!(short.stderr.contains(" laws were tried: see --time"), "{}{}", short.stdout, short.stderr);
}

/// The API server stores 2.0 as 2. Otherwise, each apply of the same text would change the object.
#[test]
fn number_converts_to_server_text() {
    let directory = directory("  - type: spec.cpu\n", ["cpu: {type: number}", "cpu: {type: string}"]);
    let kinds = directory.path().to_str().unwrap();
    for (number, text) in [("2.0", "2"), ("1e-07", "1e-7"), ("-0.0", "0"), ("0.10", "0.1"), ("1e2", "100")] {
        let object = format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n  cpu: {number}\n");
        let convert = ["convert", "--kinds", kinds, "--to"];
        let there = with_stdin(&[&convert[..], &["v2"]].concat(), object.as_bytes()).data();
        assert!(there.ends_with(&format!("\n  cpu: \"{text}\"\n")), "{there}");
        assert_eq!(with_stdin(&[&convert[..], &["v1"]].concat(), there.as_bytes()).data(), object);
    }
}

#[test]
fn built_in_kinds_keep_laws() {
    let text = check(&["crates/core/kinds/materialize", "examples/kinds/elasticsearch"]).data();
    assert!(text.contains("\n  22 laws passed in "), "{text}");
}

#[test]
fn results_are_written_for_ci_systems() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("junit.xml");
    fs::write(&file, "older").unwrap();
    let junit = ["--junit", file.to_str().unwrap()];
    let answer = check_stdin(&[&["-", WIDGETS, "--try", "4"], &junit[..]].concat(), "<a>: \"&\u{7}\"\n");
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    let xml = fs::read_to_string(&file).unwrap();
    for line in [
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pointsman kinds check\" tests=\"46\" failures=\"1\"",
        "\n  <testsuite name=\"stdin\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">\n",
        "\n  <testsuite name=\"Widget.example.com\" tests=\"45\" failures=\"0\" errors=\"0\" skipped=\"",
        "\n    <testcase classname=\"Widget.example.com\" name=\"definition\"/>\n",
        "\n    <testcase classname=\"Widget.example.com.v1-v2\" name=\"round-trip\"/>\n",
        "\n    <testcase classname=\"Widget.example.com.v2-v1\" name=\"hash\">\n      <skipped message=\"",
    ] {
        assert!(xml.contains(line), "{line}\n{xml}");
    }
    let plain = xml.chars().all(|c| c == '\n' || !c.is_control());
    assert!(plain && !xml.contains("<a>") && xml.ends_with("</testsuites>\n"), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 46);
    // No other file is left.
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let error = check(&[WIDGETS, "--try", "0", "--junit", "gone/junit.xml"]).refusal(1);
    assert!(error.starts_with("error: failed to write gone/junit.xml: "), "{error}");
}

#[test]
fn results_are_written_for_programs() {
    let answer = check(&[WIDGETS, "-o", "json"]);
    let value = json(&answer.stdout);
    let fine = &value["items"][0];
    assert_eq!((answer.code, &fine["fine"]), (0, &Value::Bool(true)));
    let laws = fine["trial"]["laws"].as_array().unwrap();
    assert_eq!((laws.len(), laws.iter().filter(|law| law["holds"] == true).count()), (44, 44));
    assert_eq!(fine["kind"]["steps"][0]["operations"][0], "split spec.hostPort <-> spec.host + spec.port");
    assert_eq!(fine["trial"]["unexercised"], Value::Array(Vec::new()));
    let bad = check_stdin(&["-", "-o", "yaml"], "kind: KindDefinition\n");
    let bad = yaml(&bad.stdout);
    assert!(bad["items"][0]["problems"][0]["message"].is_string() && bad["items"][0]["kind"].is_null(), "{bad}");
}

#[test]
fn sample_objects_are_tried() {
    let object = |version: &str, spec: &str| {
        format!(
            r#"{{"apiVersion": "example.com/{version}", "kind": "Thing", "metadata": {{"name": "a", "resourceVersion": "7",
            "managedFields": [{{"manager": "kubectl", "fieldsV1": {{"f:spec": {{}}}}}}]}}, "spec": {spec}}}"#
        )
    };
    let list = |items: &[String]| format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}]}}"#, items.join(", "));
    let other = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}"#.to_owned();
    let widgets = list(&[other.clone(), object("v1", r#"{"hostPort": "a:1"}"#), object("v2", r#"{"host": 5}"#)]);
    let widgets = widgets.replace("Thing", "Widget");
    let answer = check_stdin(&[WIDGETS, "--samples", "-"], &widgets);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(
        answer.stderr,
        "warning: stdin, item 3: Widget a: is no complete object, so most laws do not apply: /spec/host: has a \
         wrong type: 5\n"
    );
    let error = check_stdin(&[WIDGETS, "--try", "1", "--samples", "-"], &other).stderr;
    assert!(error.ends_with("error: --samples: no object has a kind of these definitions\n"), "{error}");
    assert!(check_stdin(&[WIDGETS, "--samples", "-"], "").refusal(1).contains("stdin: contains no object"));
    assert!(check_stdin(&["-", "--samples", "-"], "").refusal(2).contains("stdin can be read once only"));
}

#[test]
fn uncovered_operations_are_named() {
    // No string has the minimum length and is in the enum.
    let never = |name: &str| format!("size: {{type: integer}}\n{name}: {{type: string, enum: [a], minLength: 3}}");
    let operations = "  - {rename: {from: spec.never, to: spec.ever}}\n";
    let directory = directory(operations, [&never("never"), &never("ever")]);
    let definition = directory.path().join("kind.yaml");
    let answer = check(&[definition.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert_eq!(
        answer.stderr,
        format!(
            "warning: {}:8: v1 to v2: rename spec.never <-> spec.ever: no case used the operation: try more with --try, or objects of \
             yours with --samples\n",
            definition.display()
        )
    );
}

/// The properties of an object with nested lists and objects, as long as CRDs with Pod templates.
fn large(depth: usize, indent: &str, own: &str) -> String {
    let mut text = format!("{indent}{own}: {{type: string}}\n");
    for index in 0..10 {
        text.push_str(&format!(
            "{indent}text{index}:\n{indent}  description: Says something.\n{indent}  type: string\n"
        ));
        text.push_str(&format!("{indent}number{index}:\n{indent}  type: integer\n{indent}  minimum: 0\n"));
    }
    // An optional field without a valid value.
    text.push_str(&format!("{indent}never:\n{indent}  type: string\n{indent}  enum: [a]\n{indent}  minLength: 3\n"));
    for index in 0..if depth > 0 { 4 } else { 0 } {
        let inside = large(depth - 1, &format!("{indent}    "), if index == 0 { own } else { "other" });
        text.push_str(&format!("{indent}object{index}:\n{indent}  type: object\n{indent}  properties:\n{inside}"));
        let inside = large(depth - 1, &format!("{indent}      "), if index == 0 { own } else { "other" });
        text.push_str(&format!(
            "{indent}list{index}:\n{indent}  type: array\n{indent}  items:\n{indent}    type: object\n{indent}    \
             properties:\n{inside}"
        ));
    }
    text
}

/// Renames the field of an object, and recursively those of its first object and first list. `path` is the place of the
/// object, relative to the operations.
fn operations(depth: usize, path: &str, indent: &str) -> String {
    let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let mut text = format!("{indent}- rename: {{from: {}, to: {}}}\n", at("size"), at("replicas"));
    if depth > 0 {
        text.push_str(&operations(depth - 1, &at("object0"), indent));
        let inside = operations(depth - 1, "", &format!("{indent}    "));
        text.push_str(&format!("{indent}- each:\n{indent}    in: {}\n{indent}    operations:\n{inside}", at("list0")));
    }
    text
}

#[test]
fn large_definition_trial_is_fast() {
    let versions = [large(3, "", "size"), large(3, "", "replicas")];
    let directory = directory(&operations(3, "spec", "  "), [&versions[0], &versions[1]]);
    let crd = fs::read_to_string(directory.path().join("things.crd.yaml")).unwrap();
    assert!(crd.lines().count() > 24_000, "{}", crd.lines().count());
    let began = Instant::now();
    let answer = pointsman(&["kinds", "check", directory.path().to_str().unwrap()]);
    let took = began.elapsed();
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("\n  22 laws passed in "), "{}", answer.stdout);
    assert!(took < Duration::from_secs(30), "{took:?}");
    println!("{} lines in {took:?}", crd.lines().count());
}

#[test]
fn ctrl_c_prints_partial_trial() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
    command.args(["kinds", "check", WIDGETS, "--try", "1000000"]).args(LONG).env_clear();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let process = child.id().to_string();
    // Before that, the signal would end the process.
    let listens = || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
    };
    while !listens() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(130), "{stdout}{stderr}");
    assert!(stdout.ends_with(" trials, seed 0, and would have continued\n"), "{stdout}{stderr}");
    // Without a terminal, no progress is printed.
    assert_eq!(stderr, "");
}

/// A definition without its operation, and the same with a recorded conversion that differs.
#[test]
fn sarif_names_file_and_line() {
    let directory = TempDir::new().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let text = fs::read_to_string("tests/data/kinds/widgets.yaml").unwrap();
    let bare = text.lines().filter(|line| !line.contains("split")).collect::<Vec<_>>().join("\n");
    fs::write(file("w.yaml"), bare.replace("  operations:", "")).unwrap();
    fs::copy("tests/data/kinds/widgets.crd.yaml", file("widgets.crd.yaml")).unwrap();
    let sarif = file("found.sarif");
    pointsman(&["kinds", "check", &file("w.yaml"), "--sarif", &sarif]).refusal(1);
    let log: Value = serde_json::from_str(&fs::read_to_string(sarif).unwrap()).unwrap();
    assert_eq!((&log["version"], &log["runs"][0]["tool"]["driver"]["name"]), (&json!("2.1.0"), &json!("pointsman")));
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].as_str().unwrap().ends_with("/w.yaml"), "{result}");
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0, "{result}");
        assert_eq!((&result["ruleId"], &result["level"]), (&json!("definition"), &json!("error")));
    }
}
