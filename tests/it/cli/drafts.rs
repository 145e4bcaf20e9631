use std::fs;

use tempfile::TempDir;

use super::*;

const CRD: &str = "tests/data/kinds/widgets.crd.yaml";

/// A directory with the CRD of widgets, changed.
fn directory(change: impl Fn(String) -> String) -> TempDir {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("widgets.crd.yaml"), change(read(CRD))).unwrap();
    directory
}

#[test]
fn printed_draft_passes_the_check() {
    let draft = pointsman(&["kinds", "draft", CRD]);
    assert_eq!(draft.code, 0, "{}", draft.stderr);
    let verdict = draft.stderr.lines().next().unwrap();
    assert!(verdict.starts_with("OK: ") && verdict.contains(" operations and "), "{}", draft.stderr);
    assert!(draft.stderr.contains("pointsman kinds check FILE"), "{}", draft.stderr);
    assert!(draft.stdout.contains(&format!("\ncrd: {CRD}\n")), "{}", draft.stdout);
    let check = with_stdin(&["kinds", "check", "-", "--try", "5"], draft.stdout.as_bytes());
    assert_eq!(check.code, 0, "{}\n{}", check.stderr, draft.stdout);
}

#[test]
fn draft_file_names_its_crd() {
    let directory = directory(|crd| crd);
    fs::create_dir(directory.path().join("kinds")).unwrap();
    let at = |file: &str| directory.path().join(file).to_str().unwrap().to_owned();
    let (crd, file) = (at("widgets.crd.yaml"), at("kinds/widgets.yaml"));
    let draft = pointsman(&["kinds", "draft", &crd, "-o", &file]);
    assert_eq!((draft.code, draft.stdout.as_str()), (0, ""), "{}", draft.stderr);
    assert!(draft.stderr.ends_with(&format!("next: pointsman kinds check {file}\n")), "{}", draft.stderr);
    assert!(fs::read_to_string(&file).unwrap().contains("\ncrd: \"../widgets.crd.yaml\"\n"));
    assert_eq!(pointsman(&["kinds", "check", &file, "--try", "5"]).code, 0);
}

#[test]
fn existing_file_is_kept() {
    let directory = directory(|crd| crd);
    let file = directory.path().join("widgets.yaml");
    fs::write(&file, "mine").unwrap();
    let path = file.to_str().unwrap();
    let refused = pointsman(&["kinds", "draft", CRD, "-o", path]).refusal(1);
    assert!(refused.contains(&format!("cannot write {path}: the file exists")), "{refused}");
    assert!(refused.contains("--force"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert_eq!(pointsman(&["kinds", "draft", CRD, "-o", path, "--force"]).code, 0);
    assert!(fs::read_to_string(&file).unwrap().contains("kind: KindDefinition"));
}

#[test]
fn unusable_crd_is_refused() {
    let refused = |change: &dyn Fn(String) -> String| {
        let directory = directory(change);
        let file = directory.path().join("widgets.crd.yaml");
        pointsman(&["kinds", "draft", file.to_str().unwrap()]).refusal(1).replace(file.to_str().unwrap(), "CRD")
    };
    let other = refused(&|_| "kind: Deployment\n".to_owned());
    assert!(other.contains("cannot draft a definition of CRD: CRD is not a CustomResourceDefinition"), "{other}");
    let one = refused(&|crd| {
        let mut crd = yaml(&crd);
        crd["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["storage"] == true);
        crd.to_string()
    });
    assert!(one.contains("cannot draft a definition of CRD: "), "{one}");
    assert!(one.contains("has one version") && one.contains("add a version to the CRD"), "{one}");
    let stdin = pointsman(&["kinds", "draft", "-"]).refusal(2);
    assert!(stdin.contains("save the CRD to a file"), "{stdin}");
}

#[test]
fn fix_completes_a_definition() {
    let directory = directory(|crd| crd);
    let file = directory.path().join("widgets.yaml");
    let path = file.to_str().unwrap();
    // Without the operation for the port.
    let own = read("tests/data/kinds/widgets.yaml").replace(
        "split: {field: spec.hostPort, into: [spec.host, spec.port], separator: \":\"}",
        "drop: spec.hostPort # mine",
    );
    fs::write(&file, &own).unwrap();
    let fixed = pointsman(&["kinds", "draft", "--fix", path]);
    assert_eq!(fixed.code, 0, "{}", fixed.stderr);
    assert!(
        fixed.stderr.starts_with("OK: added 0 steps, 2 operations and 0 acceptances; 0 open questions\n"),
        "{}",
        fixed.stderr
    );
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{own}  # Only v2 has the field.\n  - add: spec.host\n  - add: spec.port\n"));
    assert_eq!(pointsman(&["kinds", "check", path, "--try", "5"]).code, 0);
    let again = pointsman(&["kinds", "draft", "--fix", path]);
    assert!(again.stderr.starts_with("OK: complete, unchanged\n"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // A last line without an end is no change.
    fs::write(&file, text.trim_end()).unwrap();
    let again = pointsman(&["kinds", "draft", "--fix", path]);
    assert!(again.stderr.starts_with("OK: complete, unchanged\n"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), text.trim_end());
}

#[test]
fn fix_reports_other_problems() {
    let directory = directory(|crd| crd);
    let file = directory.path().join("widgets.yaml");
    let path = file.to_str().unwrap();
    let own =
        read("tests/data/kinds/widgets.yaml").replace("split: {field: spec.hostPort", "split: {field: spec.hostport");
    fs::write(&file, own).unwrap();
    let fixed = pointsman(&["kinds", "draft", "--fix", path]).refusal(1);
    assert!(fixed.contains("spec.hostport"), "{fixed}");
    assert!(fixed.contains("INCOMPLETE: added "), "{fixed}");
    let flow =
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: widgets.crd.yaml\nsteps: [{from: v1, to: v2}]\n";
    fs::write(&file, flow).unwrap();
    let refused = pointsman(&["kinds", "draft", "--fix", path]).refusal(1);
    assert!(refused.contains("widgets.yaml:4: steps is not a list with a line for each entry"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), flow);
    let missing = own_without_crd();
    fs::write(&file, &missing).unwrap();
    let refused = pointsman(&["kinds", "draft", "--fix", path]).refusal(1);
    assert!(refused.contains("no.crd.yaml") && refused.contains("No such file"), "{refused}");
}

fn own_without_crd() -> String {
    read("tests/data/kinds/widgets.yaml").replace("widgets.crd.yaml", "no.crd.yaml")
}

/// A step without operations is an addition, too.
#[test]
fn fix_adds_a_step_without_operations() {
    let directory = directory(|crd| {
        let mut crd = yaml(&crd);
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let mut third = versions.iter().find(|version| version["name"] == "v2").unwrap().clone();
        third["name"] = "v3".into();
        third["storage"] = false.into();
        versions.push(third);
        crd.to_string()
    });
    let file = directory.path().join("widgets.yaml");
    let path = file.to_str().unwrap();
    fs::write(&file, read("tests/data/kinds/widgets.yaml")).unwrap();
    let fixed = pointsman(&["kinds", "draft", "--fix", path]);
    assert!(fixed.stderr.starts_with("OK: added 1 step, 0 operations"), "{}", fixed.stderr);
    assert_eq!(pointsman(&["kinds", "check", path, "--try", "2"]).code, 0);
}

#[test]
fn draft_compares_two_revisions() {
    let directory = TempDir::new().unwrap();
    let at = |file: &str| directory.path().join(file).to_str().unwrap().to_owned();
    let with = |version: &str| {
        let mut crd = yaml(&read(CRD));
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        versions.retain(|known| known["name"] == version);
        versions[0]["storage"] = true.into();
        crd["status"] = serde_json::json!({"storedVersions": [version]});
        crd.to_string()
    };
    let (older, newer, file) = (at("older.json"), at("newer.json"), at("widgets.yaml"));
    fs::write(&older, with("v1")).unwrap();
    fs::write(&newer, with("v2")).unwrap();
    let draft = pointsman(&["kinds", "draft", &older, &newer, "-o", &file]);
    assert_eq!(draft.code, 0, "{}", draft.stderr);
    assert!(draft.stderr.contains("widgets.crd.yaml has the versions of both files"), "{}", draft.stderr);
    let merged = yaml(&fs::read_to_string(at("widgets.crd.yaml")).unwrap());
    let versions = merged["spec"]["versions"].as_array().unwrap();
    assert_eq!(versions.iter().filter(|version| version["storage"] == true).count(), 1);
    assert_eq!((versions.len(), merged.get("status")), (2, None));
    assert_eq!(pointsman(&["kinds", "check", &file, "--try", "5"]).code, 0);
    // The CRD of the draft would replace an input.
    let input = at("other.crd.yaml");
    fs::write(&input, with("v1")).unwrap();
    let refused = pointsman(&["kinds", "draft", &input, &newer, "-o", &at("other.yaml"), "--force"]).refusal(1);
    assert!(refused.contains("other.crd.yaml: the command reads this file"), "{refused}");
    // A revision with all versions needs no other CRD.
    let (whole, file) = (at("whole.yaml"), at("last.yaml"));
    fs::write(&whole, read(CRD)).unwrap();
    let draft = pointsman(&["kinds", "draft", &older, &whole, "-o", &file]);
    assert_eq!(draft.code, 0, "{}", draft.stderr);
    assert!(fs::read_to_string(&file).unwrap().contains("\ncrd: whole.yaml\n"));
}

#[test]
fn kinds_may_be_one_file() {
    let object = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"hostPort":"a:1"}}"#;
    let arguments = |kinds: &'static str| ["convert", "--to", "v2", "--kinds", kinds];
    let converted = with_stdin(&arguments("tests/data/kinds/widgets.yaml"), object.as_bytes());
    assert!(converted.code == 0 && converted.stdout.contains("host: a"), "{}{}", converted.stdout, converted.stderr);
    let refused = with_stdin(&arguments(CRD), object.as_bytes());
    assert!(refused.stderr.contains("widgets.crd.yaml: the file has no definition"), "{}", refused.stderr);
}
