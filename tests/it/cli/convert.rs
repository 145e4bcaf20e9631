use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::trial::directory;
use super::*;

fn fixtures() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fixtures");
    let mut files: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| format!("tests/data/fixtures/{}", entry.unwrap().file_name().display()))
        .filter(|file| file.ends_with(".yaml"))
        .collect();
    files.sort();
    assert!(files.len() > 10);
    files
}

/// True if `more` contains all of `less`, with the same values.
fn contains(more: &Value, less: &Value) -> bool {
    match (more, less) {
        (Value::Object(more), Value::Object(less)) => {
            less.iter().all(|(name, value)| more.get(name).is_some_and(|other| contains(other, value)))
        }
        _ => more == less,
    }
}

#[test]
fn fixtures_round_trip() {
    for file in fixtures() {
        let original = yaml(&read(&file));
        let home = original["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let away = if home == "v1alpha1" { "v1alpha2" } else { "v1alpha1" };
        let there = pointsman(&["convert", "--to", away, "-f", &file]).data_of_invalid();
        assert_eq!(yaml(&there)["apiVersion"], format!("materialize.cloud/{away}"), "{file}");
        let back = with_stdin(&["convert", "--to", &home], there.as_bytes()).data_of_invalid();
        assert!(contains(&yaml(&back), &original), "{file}:\n{back}");
        // The defaults are set now, so the object is unchanged.
        let there = with_stdin(&["convert", "--to", away, "-f", "-"], back.as_bytes()).data_of_invalid();
        let again = with_stdin(&["convert", "--to", &home, "-f", "-"], there.as_bytes()).data_of_invalid();
        assert_eq!(again, back, "{file}");
    }
}

#[test]
fn directories_and_lists_are_converted() {
    let yaml = pointsman(&["convert", "--to", "v1alpha2", "-f", "tests/data/fixtures"]).data_of_invalid();
    assert_eq!(yaml.matches("\n---\n").count(), fixtures().len() - 1);
    assert!(!yaml.contains("/v1alpha1\n"));

    let list = pointsman(&["convert", "--to", "v1alpha2", "-f", "tests/data/fixtures", "-o", "json"]).data_of_invalid();
    let value = json(&list);
    assert_eq!((value["kind"].as_str(), value["items"].as_array().unwrap().len()), (Some("List"), fixtures().len()));
    let back = with_stdin(&["convert", "--to", "v1alpha1", "-o", "json"], list.as_bytes()).data_of_invalid();
    let value = json(&back);
    assert_eq!((value["apiVersion"].as_str(), value["kind"].as_str()), (Some("v1"), Some("List")));
    assert!(value["items"].as_array().unwrap().iter().all(|item| item["apiVersion"] == "materialize.cloud/v1alpha1"));

    let typed = r#"{"apiVersion":"materialize.cloud/v1alpha1","kind":"MaterializeList","metadata":{"resourceVersion":"7"},
        "items":[{"apiVersion":"materialize.cloud/v1alpha1","kind":"Materialize"}]}"#;
    let value = json(&with_stdin(&["convert", "--to", "v1alpha2", "-o", "json"], typed.as_bytes()).data_of_invalid());
    assert_eq!(value["apiVersion"], "materialize.cloud/v1alpha2");
    assert_eq!(
        (value["metadata"]["resourceVersion"].as_str(), &value["items"][0]["apiVersion"]),
        (Some("7"), &value["apiVersion"])
    );
}

#[test]
fn numbers_and_strings_are_unchanged() {
    let numbers = "[9007199254740993, 1.0, 1e21, 0.10, 18446744073709551616]";
    let strings = r#"["no", "0777", "1e3", "2026-01-01", "null", ""]"#;
    let object = format!(
        "apiVersion: materialize.cloud/v1alpha1\nkind: Materialize\nspec:\n  numbers: {numbers}\n  strings: {strings}\n"
    );
    let spaceless = |text: &str| text.replace([' ', '\n'], "");
    let as_json = with_stdin(&["convert", "--to", "v1alpha2", "-o", "json"], object.as_bytes()).data_of_invalid();
    assert!(spaceless(&as_json).contains(&spaceless(numbers)), "{as_json}");
    assert!(spaceless(&as_json).contains(&spaceless(strings)), "{as_json}");
    let as_yaml = with_stdin(&["convert", "--to", "v1alpha2"], as_json.as_bytes()).data_of_invalid();
    assert!(
        as_yaml.contains("- 9007199254740993\n  - 1.0\n  - 1e21\n  - 0.10\n  - 18446744073709551616\n"),
        "{as_yaml}"
    );
    assert!(
        as_yaml.contains("- \"no\"\n  - \"0777\"\n  - \"1e3\"\n  - \"2026-01-01\"\n  - \"null\"\n  - \"\"\n"),
        "{as_yaml}"
    );
    assert_eq!(
        with_stdin(&["convert", "--to", "v1alpha2", "-o", "json"], as_yaml.as_bytes()).data_of_invalid(),
        as_json
    );
}

#[test]
fn explanations_name_operations() {
    let answer = pointsman(&["convert", "--to", "v1alpha2", "-f", "manifests/examples/v1alpha1.yaml", "--explain"]);
    assert_eq!(answer.code, 0);
    for row in [
        "drop          spec.inPlaceRollout: false",
        "moveIntoMap   spec.environmentdIamRoleArn: ",
        "rollout       spec.requestRollout: ",
    ] {
        assert!(answer.stderr.contains(row), "{}", answer.stderr);
    }
    let back = with_stdin(&["convert", "--to", "v1alpha1", "--explain"], answer.stdout.as_bytes());
    assert!(back.stderr.contains("restored"), "{}", back.stderr);
    let file = "manifests/examples/v1alpha1.yaml";
    let both = pointsman(&["convert", "--to", "v1alpha2", "-f", file, "-f", file, "--explain"]).stderr;
    assert!(both.ends_with("\n2 objects, 6 changes: 4 kept for the conversion back, 0 restored\n"), "{both}");
    let same = pointsman(&["convert", "--to", "v1alpha1", "-f", "manifests/examples/v1alpha1.yaml", "--explain"]);
    assert!(same.stderr.ends_with("is materialize.cloud/v1alpha1 already\n"), "{}", same.stderr);
    assert_eq!(yaml(&same.stdout), yaml(&read("manifests/examples/v1alpha1.yaml")));

    let value = json(
        &pointsman(&[
            "convert",
            "--to",
            "v1alpha2",
            "-f",
            "manifests/examples/v1alpha1.yaml",
            "--explain",
            "-o",
            "json",
        ])
        .data(),
    );
    let item = &value["items"][0];
    assert_eq!(item["object"]["apiVersion"], "materialize.cloud/v1alpha2");
    assert_eq!(item["changes"][1]["operation"], "moveIntoMap");
    assert_eq!(item["changes"][1]["before"][0]["field"], "spec.environmentdIamRoleArn");
    assert_eq!(item["changes"][1]["kept"], true);
}

/// The API server reads such an object without its kept fields, because the stored object has them. A file has no other
/// copy, so the command refuses the object.
#[test]
fn oversized_annotation_is_refused() {
    let directory = directory("  - drop: spec.note\n", ["note: {type: string}", "other: {type: string}"]);
    let kinds = directory.path().join("kind.yaml");
    let definition = fs::read_to_string(&kinds).unwrap();
    fs::write(&kinds, format!("{definition}  - add: spec.other\n")).unwrap();
    let kinds = ["--kinds", directory.path().to_str().unwrap()];
    let head = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n";
    let object = format!("{head}spec: {{note: {}}}\n", "x".repeat(300_000));
    let refused =
        with_stdin(&[&["convert", "--to", "v2", "--explain"][..], &kinds].concat(), object.as_bytes()).refusal(1);
    assert!(
        refused.contains("values that exist only in v1 are too large for an annotation, and would be lost"),
        "{refused}"
    );
    // An object from a cluster.
    let marked = "apiVersion: example.com/v2\nkind: Thing\nmetadata:\n  name: a\n  annotations:\n    \
                  pointsman.dev/incomplete: pointsman.dev/kept-v1\nspec: {}\n";
    let answer = with_stdin(&[&["convert", "--to", "v1"][..], &kinds].concat(), marked.as_bytes());
    assert_eq!(answer.code, 0);
    assert!(
        answer.stderr.contains("warning: stdin: Thing a: the annotation pointsman.dev/incomplete"),
        "{}",
        answer.stderr
    );
    let plan = with_stdin(&[&["plan"][..], &kinds].concat(), marked.as_bytes()).stdout;
    assert!(plan.contains("tooLarge   the annotation pointsman.dev/incomplete"), "{plan}");
}

#[test]
fn non_string_labels_are_refused() {
    let object = "apiVersion: materialize.cloud/v1alpha1\nkind: Materialize\nmetadata: {name: a, labels: {x: y}}\n";
    let refused = with_stdin(&["convert", "--to", "v1alpha2"], object.as_bytes()).refusal(1);
    assert!(refused.contains("metadata.labels[\"x\"] is true, and must be a string: quote the value"), "{refused}");
}

#[test]
fn other_kinds_pass_through_on_request() {
    let args = ["convert", "--to", "v1alpha2", "-f", "manifests/examples", "--keep-unknown"];
    let all = pointsman(&args).data();
    assert!(all.starts_with("kind: ConversionReview\n"), "{all}");
    let refused = pointsman(args.split_last().unwrap().1).refusal(1);
    assert_eq!(
        refused,
        "error: manifests/examples/review.json: ConversionReview (no name): no definition of apiextensions.k8s.io/v1 \
         ConversionReview; known kinds: Materialize.materialize.cloud. Add its \
         file or directory with --kinds, or copy objects of other kinds unchanged with --keep-unknown\n1 of 3 objects refused; no output was written\n"
    );
}

#[test]
fn versions_accept_their_group() {
    let file = "manifests/examples/v1alpha1.yaml";
    let short = pointsman(&["convert", "--to", "v1alpha2", "-f", file]).data();
    assert_eq!(pointsman(&["convert", "--to", "materialize.cloud/v1alpha2", "-f", file]).data(), short);
    let refused = pointsman(&["convert", "--to", "v2", "-f", file]).refusal(1);
    assert!(refused.contains("--to v2: Materialize has v1alpha1, v1alpha2"), "{refused}");
}

/// The arguments of a conversion to another kind.
fn becoming<'a>(to: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["convert", "--kinds", "examples/kinds/mattermost", "--to", to][..], more].concat()
}

/// A replaced kind converts to the new kind and back.
#[test]
fn replaced_kind_converts_both_ways() {
    let file = "manifests/examples/mattermost/clusterinstallation.yaml";
    let fact = ["--fact", "externalDatabase=true"];
    for name in ["mattermosts", "mm", "Mattermost", "mattermosts.v1beta1.installation.mattermost.com"] {
        let new = pointsman(&becoming(name, &[&fact[..], &["-f", file]].concat())).data();
        let object = yaml(&new);
        assert_eq!(object["apiVersion"], "installation.mattermost.com/v1beta1", "{name}");
        assert_eq!((&object["kind"], &object["metadata"]["name"]), (&"Mattermost".into(), &"chat".into()));
        assert_eq!(object["spec"]["database"], serde_json::json!({"external": {"secret": "chat-database"}}));
        assert_eq!(object["spec"]["fileStore"], serde_json::json!({"operatorManaged": {"storageSize": "50Gi"}}));
        let home = with_stdin(&becoming("clusterinstallations", &fact), new.as_bytes()).data();
        assert_eq!(yaml(&home), yaml(&read(file)));
        // Objects of the new kind are unchanged.
        assert_eq!(with_stdin(&becoming(name, &[]), new.as_bytes()).data(), new);
    }
    let explained =
        pointsman(&becoming("mattermosts", &[&fact[..], &["--explain", "-o", "json", "-f", file]].concat()));
    let explained = json(&explained.data());
    let changes = explained["items"][0]["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["before"][0]["field"] == "spec.database.secret"), "{changes:?}");

    let refusal = pointsman(&becoming("mattermosts", &["-f", file])).refusal(1);
    assert!(refusal.contains("the conversion needs the fact externalDatabase"), "{refusal}");
    assert!(refusal.contains("1 of 1 objects refused; no output was written"), "{refusal}");
    let green = read(file).replace("spec:\n", "spec:\n  blueGreen: {enable: true}\n");
    let refusal = with_stdin(&becoming("mattermosts", &fact), green.as_bytes()).refusal(1);
    assert!(refusal.contains("blue/green deployments have no place in a Mattermost"), "{refusal}");
    let refusal = pointsman(&becoming("mattermosts", &["--fact", "externalDatabas=true", "-f", file])).refusal(2);
    assert!(refusal.contains("did you mean \"externalDatabase\"?"), "{refusal}");
    let refusal = pointsman(&becoming("mattermosts", &["--fact", "externalDatabase", "-f", file])).refusal(2);
    assert!(refusal.contains("is not of the form NAME=true or NAME=false"), "{refusal}");
    for (wrong, message) in [
        (&["--fact", "externalDatabase=True"][..], "a fact is true or false, not \"True\""),
        (&["--fact", "externalDatabase=true", "--fact", "externalDatabase=false"], "is given twice"),
    ] {
        let refusal = pointsman(&becoming("mattermosts", &[wrong, &["-f", file]].concat())).refusal(2);
        assert!(refusal.contains(message), "{refusal}");
    }
}

/// `NAME.VERSION.GROUP` of the object's own kind is a version, at any length.
#[test]
fn group_qualified_version_is_equal() {
    let file = "manifests/examples/v1alpha1.yaml";
    let short = pointsman(&["convert", "--to", "v1alpha2", "-f", file]).data();
    assert_ne!(yaml(&short)["apiVersion"], yaml(&read(file))["apiVersion"]);
    let long = ["convert", "--to", "materializes.v1alpha2.materialize.cloud", "-f", file];
    assert_eq!(pointsman(&long).data(), short);
}

/// A kind whose older version fills in a required field of the newer version.
fn bells() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("bells.crd.yaml"), read("tests/data/advice/bells.crd.yaml")).unwrap();
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: bells.crd.yaml\nsteps:\n- from: v1\n  to: v2\n  \
                      operations:\n  - fill: {field: spec.tone, value: high}\n  accept:\n  - {path: spec.tone, difference: \
                      default, reason: a test}\n";
    fs::write(dir.path().join("bells.yaml"), definition).unwrap();
    dir
}

fn bell(spec: &str) -> String {
    format!("apiVersion: bell.example.org/v1\nkind: Bell\nmetadata: {{name: a, namespace: ns1}}\nspec: {spec}\n")
}

#[test]
fn invalid_result_has_one_verdict() {
    let dir = bells();
    let kinds = dir.path().display().to_string();
    let text = bell("{size: s}");
    let converted = with_stdin(&["convert", "--kinds", &kinds, "--to", "v2"], text.as_bytes());
    assert!(converted.stderr.contains("the result is not valid at v2: spec.tone"), "{}", converted.stderr);
    let validated = with_stdin(&["validate", "--kinds", &kinds], converted.stdout.as_bytes());
    assert!(validated.stderr.contains("spec.tone"), "{}", validated.stderr);
    let plan = with_stdin(&["plan", "--kinds", &kinds, "-o", "json"], text.as_bytes());
    assert!(plan.stdout.contains("\"invalid\""), "{}", plan.stdout);
}

#[test]
fn invalid_input_is_warned_of() {
    let dir = bells();
    let kinds = dir.path().display().to_string();
    let converted =
        with_stdin(&["convert", "--kinds", &kinds, "--to", "v2"], bell("{tone: low, size: [1]}").as_bytes());
    assert!(converted.stderr.contains("the input is not valid at v1: spec.size"), "{}", converted.stderr);
}

#[test]
fn explained_items_have_older_names() {
    let dir = TempDir::new().unwrap();
    let spec = |list: &str, field: &str| {
        let item = format!("{{type: object, properties: {{{field}: {{type: string}}}}}}");
        let list = format!("{{type: object, properties: {{{list}: {{type: array, items: {item}}}}}}}");
        format!("{{openAPIV3Schema: {{type: object, properties: {{spec: {list}}}}}}}")
    };
    let (older, newer) = (spec("pools", "size"), spec("groups", "scale"));
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  scope: Namespaced\n  versions:\n  \
         - {{name: v1, served: true, storage: true, schema: {older}}}\n  \
         - {{name: v2, served: true, storage: false, schema: {newer}}}\n"
    );
    fs::write(dir.path().join("things.crd.yaml"), crd).unwrap();
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.crd.yaml\nsteps:\n- from: v1\n  to: v2\n  \
                      operations:\n  - each: {from: spec.pools, to: spec.groups, operations: [{rename: {from: size, to: \
                      scale}}]}\n";
    fs::write(dir.path().join("things.yaml"), definition).unwrap();
    let object =
        "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: ns1}\nspec: {pools: [{size: s}]}\n";
    let kinds = dir.path().display().to_string();
    let args = ["convert", "--kinds", &kinds, "--to", "v2", "--explain", "-o", "json"];
    let explained = json(&with_stdin(&args, object.as_bytes()).data());
    let changes = explained["items"][0]["changes"].as_array().unwrap();
    let each = changes.iter().find(|change| change["operation"] == "each").unwrap();
    assert_eq!(each["before"][0]["value"][0]["size"], "s", "{each}");
    assert_eq!(each["after"][0]["value"][0]["scale"], "s", "{each}");
}
