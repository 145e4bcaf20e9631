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
