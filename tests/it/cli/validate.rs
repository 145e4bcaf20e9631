use super::*;

/// The denial equals that of the API server for `kubectl apply` of the same file.
#[test]
fn schema_violation_is_denied() {
    let good = read("manifests/examples/v1alpha2.yaml");
    for (from, to, field) in [
        ("materialize/environmentd:v26.12.0", "26", "spec.environmentdImageRef has a wrong type: 26"),
        ("team: data", "team: [data]", "spec.podLabels.team has a wrong type: [\"data\"]"),
    ] {
        assert!(good.contains(from), "{from}");
        let answer = with_stdin(&["validate"], good.replace(from, to).as_bytes());
        let label = "stdin: Materialize materialize-environment/production";
        assert_eq!(answer.stderr, format!("error: {label}: the API server refuses it by the schema: {field}\n"));
        assert_eq!((answer.code, answer.stdout), (1, format!("{label}: create denied\n")));
    }
    let spec = good.find("spec:").unwrap();
    let answer = with_stdin(&["validate"], &good.as_bytes()[..spec]);
    assert!(answer.stderr.ends_with(": the API server refuses it by the schema: spec is required\n"));
    assert_eq!(answer.code, 1);
}

/// Names and labels that the API server refuses without the CRD.
#[test]
fn impossible_names_are_denied() {
    let widget = "{apiVersion: example.com/v2, kind: Widget, metadata: {name: front}, spec: {host: a, port: 80}}";
    let judged = |metadata: &str| {
        let object = widget.replace("{name: front}", metadata);
        with_stdin(&["validate", "--kinds", "tests/data/kinds"], object.as_bytes())
    };
    assert_eq!(judged("{name: front}").code, 0);
    let long = format!("{{name: {}}}", "a".repeat(254));
    for (metadata, field) in [
        ("{name: Front}", "metadata.name cannot be \"Front\": must have lower-case letters, digits"),
        (&long, "metadata.name cannot be \"aaa"),
        ("{namespace: x}", "metadata.name is missing, and so is generateName"),
        (
            "{name: front, labels: {a: 1}}",
            "metadata.labels.a has a wrong type: 1: the value must be a string, in quotes",
        ),
    ] {
        let answer = judged(metadata);
        let said = format!(": the API server refuses it: {field}");
        assert!(
            answer.stderr.starts_with("error: stdin: Widget ") && answer.stderr.contains(&said),
            "{}",
            answer.stderr
        );
        assert_eq!(answer.code, 1, "{metadata}");
        assert!(answer.stdout.ends_with(": create denied\n"), "{}", answer.stdout);
    }
}

/// kubectl requests an error, other clients get a warning, and the field is pruned in both cases.
#[test]
fn unknown_fields_warn() {
    let object = |spec: &str| format!("{{apiVersion: example.com/v2, kind: Widget, metadata: {{name: a}}, {spec}}}");
    let judged = |spec: &str, more: &[&str]| {
        let args = [&["validate", "--kinds", "tests/data/kinds"][..], more].concat();
        with_stdin(&args, object(spec).as_bytes())
    };
    let unknown = |field: &str| {
        format!(
            "warning: stdin: Widget a: unknown field {field} API server prunes the field, and kubectl refuses the object\n"
        )
    };
    let answer = judged("spec: {host: a, prot: 80}", &[]);
    assert_eq!(answer.stderr, unknown("\"spec.prot\", did you mean \"port\"? The"));
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "stdin: Widget a: create allowed\n"));
    assert_eq!(judged("spce: {host: a}", &[]).stderr, unknown("\"spce\", did you mean \"spec\"? The"));
    // Together with an error: the wrong name can be the cause of a missing field.
    let answer = judged("spec: {port: a, size: {x: 1}}", &[]);
    assert!(
        answer.stderr.contains("spec.port has a wrong type") && answer.stderr.ends_with(&unknown("\"spec.size\": the"))
    );
    let report = json(&judged("spec: {host: a, prot: 80}", &["-o", "json"]).stdout);
    assert!(report["warnings"][0].as_str().unwrap().starts_with("unknown field \"spec.prot\""), "{report}");
}

/// As in API servers since 1.30.
#[test]
fn old_violation_is_tolerated() {
    let bad = read("manifests/examples/v1alpha2.yaml").replace("materialize/environmentd:v26.12.0", "26");
    let directory = tempfile::TempDir::new().unwrap();
    let old = directory.path().join("old.yaml");
    std::fs::write(&old, &bad).unwrap();
    let answer = with_stdin(&["validate", "--old", old.to_str().unwrap()], bad.as_bytes());
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert_eq!(answer.stdout, "stdin: Materialize materialize-environment/production: update allowed\n");
}

/// An old violation permits no other violation, and no repetition of the value.
#[test]
fn old_violation_hides_no_new() {
    let good = read("manifests/examples/v1alpha2.yaml");
    let bad = good.replace("materialize/environmentd:v26.12.0", "26");
    let directory = tempfile::TempDir::new().unwrap();
    let old = directory.path().join("old.yaml");
    std::fs::write(&old, &bad).unwrap();
    let judged = |new: &str| with_stdin(&["validate", "--old", old.to_str().unwrap()], new.as_bytes());
    for (new, field) in [
        (bad.replace("team: data", "team: [data]"), "spec.podLabels.team has a wrong type: [\"data\"]"),
        (bad.replace(": 26\n", ": 27\n"), "spec.environmentdImageRef has a wrong type: 27"),
    ] {
        let answer = judged(&new);
        assert!(answer.stderr.ends_with(&format!("refuses it by the schema: {field}\n")), "{}", answer.stderr);
        assert_eq!(answer.code, 1);
    }
    let answer = judged(&bad.replace("team: data", "team: core"));
    assert_eq!(answer.code, 0, "{}", answer.stderr);
}

/// Two arguments read stdin.
#[test]
fn stdin_is_read_once() {
    for args in [&["validate", "--old", "-"][..], &["mutate", "--old", "-", "-f", "-"]] {
        let refusal = with_stdin(args, read("manifests/examples/v1alpha2.yaml").as_bytes()).refusal(2);
        assert_eq!(refusal, "error: --old -: stdin is already used for the objects\n");
    }
}

#[test]
fn equal_warnings_print_once() {
    let old = read("manifests/examples/elasticsearch/logs.yaml");
    let old = [old.as_str(); 3].join("---\n");
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("old.yaml");
    std::fs::write(&file, &old).unwrap();
    let new = old.replace("spec:\n  version: 7.10.2", "spec:\n  version: 8.13.0");
    assert_ne!(new, old);
    let args = ["validate", "--kinds", ELASTICSEARCH, "--old", file.to_str().unwrap(), "--enforcement", "warn"];
    let answer = with_stdin(&args, new.as_bytes());
    let warnings: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    let [warning] = warnings.as_slice() else { panic!("{}", answer.stderr) };
    assert!(warning.starts_with("warning: stdin: document 1: Elasticsearch search/logs, and 2 more: "), "{warning}");
}

/// By default, objects of another version are not validated: exit code 3 tells a pipeline.
#[test]
fn unjudged_is_not_allowed() {
    let plain = read("manifests/examples/v1alpha2.yaml");
    let of_a =
        plain.replacen("metadata:\n", "metadata:\n  labels: {materialize.cloud/controller-version: 2.16.0}\n", 1);
    let b = ["validate", "--controller-version", "2.17.0", "--served-versions", "2.16.0,2.17.0"];
    let answer = with_stdin(&b, of_a.as_bytes());
    let label = "stdin: Materialize materialize-environment/production";
    assert_eq!(
        answer.stdout,
        format!("{label}: create not judged: the object belongs to another controller version\n")
    );
    assert_eq!((answer.code, answer.stderr.as_str()), (3, ""));
    // The verdict for the object after a move to this version.
    let as_flip = [&b[..], &["--as-flip"]].concat();
    assert_eq!(with_stdin(&as_flip, of_a.as_bytes()).data(), format!("{label}: flip allowed\n"));
    let bad = of_a.replacen("spec:\n", "spec:\n  consoleReplicas: -1\n", 1);
    assert_eq!(with_stdin(&b, bad.as_bytes()).code, 3);
    let denied = with_stdin(&as_flip, bad.as_bytes());
    assert_eq!((denied.code, denied.stdout), (1, format!("{label}: flip denied\n")));
    assert!(denied.stderr.contains("spec.consoleReplicas: Invalid value: -1"), "{}", denied.stderr);
    let error = with_stdin(&["validate", "--as-flip"], of_a.as_bytes());
    assert_eq!(error.code, 2);
}

/// A pattern is judged as an API server does, and only if an update changes the value.
#[test]
fn pattern_is_validated() {
    let object = |size: &str| {
        format!(
            "{{apiVersion: installation.mattermost.com/v1beta1, kind: Mattermost, metadata: {{name: a, namespace: b}}, spec: \
             {{fileStore: {{operatorManaged: {{storageSize: {size}}}}}}}}}"
        )
    };
    let directory = tempfile::TempDir::new().unwrap();
    let old = directory.path().join("old.yaml");
    std::fs::write(&old, object("big")).unwrap();
    let kinds = ["validate", "--kinds", "examples/kinds/mattermost/mattermost.yaml"];
    let answer = with_stdin(&kinds, object("big").as_bytes());
    let reason = "spec.fileStore.operatorManaged.storageSize does not match the pattern ";
    assert!(answer.code == 1 && answer.stderr.contains(reason), "{}", answer.stderr);
    assert!(!with_stdin(&kinds, object("5Gi").as_bytes()).stderr.contains(reason));
    let update = [kinds.as_slice(), &["--old", old.to_str().unwrap()]].concat();
    assert!(!with_stdin(&update, object("big").as_bytes()).stderr.contains(reason));
}
