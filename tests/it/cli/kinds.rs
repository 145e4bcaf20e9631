use std::fs;

use tempfile::TempDir;

use super::*;

#[test]
fn kinds_are_listed() {
    let table = pointsman(&["kinds"]).data();
    assert_eq!(pointsman(&["kinds", "list", "-o", "table"]).data(), table);
    assert_eq!(pointsman(&["kinds", "-o", "name"]).data(), "materialize\n");
    let short: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(short[0], ["NAME", "GROUP", "KIND", "VERSIONS"]);
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let table = pointsman(&["kinds", "-o", "wide"]).data();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "GROUP", "KIND", "VERSIONS", "STORAGE", "HASH-AT", "OPERATIONS", "SOURCE"]);
    assert_eq!(
        rows[1],
        [
            "materialize",
            "materialize.cloud",
            "Materialize",
            "v1alpha1,v1alpha2",
            "v1alpha2",
            "v1alpha2",
            "6",
            "built",
            "in"
        ]
    );
    let value = json(&pointsman(&["kinds", "-o", "json"]).data());
    assert_eq!(value[0]["steps"][0]["operations"][0], "drop spec.inPlaceRollout");
    assert_eq!(yaml(&pointsman(&["kinds", "list", "-o", "yaml"]).data()), value);
}

#[test]
fn definitions_print_unchanged() {
    let text = read("crates/core/kinds/materialize/materialize.yaml");
    assert_eq!(pointsman(&["kinds", "show", "materialize"]).data(), text);
    assert_eq!(pointsman(&["kinds", "show", "Materialize"]).data(), text);
    let error = pointsman(&["kinds", "show", "materialise"]).refusal(2);
    assert!(error.contains("known kinds: materialize"), "{error}");
}

/// The size of a directory is limited, because a server holds its contents. Lists of lists of aliases are a million
/// values in 200 bytes.
#[test]
fn definition_size_and_aliases_are_limited() {
    let refusal = |file: &str, text: &str| {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("widgets.yaml"), read("tests/data/kinds/widgets.yaml")).unwrap();
        fs::write(dir.path().join("widgets.crd.yaml"), read("tests/data/kinds/widgets.crd.yaml")).unwrap();
        fs::write(dir.path().join(file), text).unwrap();
        let dir = dir.path().to_str().unwrap();
        pointsman(&["kinds", "--kinds", dir]).refusal(1).replace(dir, "DIR")
    };
    let mut bomb = "x0: &x0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
    for level in 1..6 {
        let alias = format!("*x{}", level - 1);
        bomb += &format!("x{level}: &x{level} [{}]\n", [&*alias; 10].join(","));
    }
    let aliases = "aliases expand to more than 100000 values: write the values out";
    let refused = refusal("bomb.yaml", &bomb);
    assert!(refused.starts_with("error: DIR/bomb.yaml:") && refused.contains(aliases), "{refused}");
    let crd = format!("{bomb}---\n{}", read("tests/data/kinds/widgets.crd.yaml"));
    let refused = refusal("widgets.crd.yaml", &crd);
    assert!(refused.contains("widgets.crd.yaml:") && refused.contains(aliases), "{refused}");

    let long = "# a line of a comment that is long\n".repeat((4 << 20) / 32);
    for file in ["long.yaml", "widgets.crd.yaml"] {
        let refused = refusal(file, &long);
        assert!(refused.contains(file) && refused.contains("longer than 4 MiB"), "{refused}");
    }
}

#[test]
fn definition_schema_is_json_schema() {
    let schema = json(&pointsman(&["kinds", "schema"]).data());
    assert_eq!(schema["title"], "KindDefinition");
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
}

/// A directory with a changed Materialize definition.
fn directory(change: impl Fn(String) -> String) -> TempDir {
    let directory = TempDir::new().unwrap();
    let file = |name: &str| read(format!("crates/core/kinds/materialize/{name}"));
    fs::write(directory.path().join("materialize.yaml"), change(file("materialize.yaml"))).unwrap();
    fs::write(directory.path().join("materializes.crd.yaml"), file("materializes.crd.yaml")).unwrap();
    directory
}

#[test]
fn kinds_check_explains_or_refuses() {
    let fine = pointsman(&[
        "kinds",
        "check",
        "crates/core/kinds/materialize",
        "examples/kinds/elasticsearch/elasticsearch.yaml",
    ])
    .data();
    for line in [
        "crates/core/kinds/materialize/materialize.yaml: Materialize.materialize.cloud is fine\n",
        "  v1alpha1 <-> v1alpha2\n    drop spec.inPlaceRollout\n",
        "    moveIntoMap spec.environmentdIamRoleArn <-> spec.serviceAccountAnnotations[\"eks.amazonaws.com/role-arn\"]\n",
        "  rollout hash of spec at v1alpha2, recipe bbd6820073e0, forced by annotation materialize.cloud/force-rollout\n",
        "examples/kinds/elasticsearch/elasticsearch.yaml: Elasticsearch.elasticsearch.k8s.elastic.co is fine\n",
    ] {
        assert!(fine.contains(line), "{fine}");
    }
    let bad = directory(|text| text.replace("drop: spec.inPlaceRollout", "drop: spec.inPlaceRolout"));
    let path = bad.path().to_str().unwrap();
    let error = pointsman(&["kinds", "check", path]).refusal(1);
    let line = 1 + read("crates/core/kinds/materialize/materialize.yaml")
        .lines()
        .position(|line| line.contains("drop: spec.inPlaceRollout"))
        .unwrap();
    assert!(
        error.contains(&format!("error: {path}/materialize.yaml:{line}: spec.inPlaceRolout: the older version has no \"inPlaceRolout\" there, did you mean \"inPlaceRollout\"?\n")),
        "{error}"
    );
    assert!(error.ends_with(" in 1 of 1 definition\n"), "{error}");
    assert!(!error.contains('\u{1b}'));
    let error = pointsman(&["kinds", "check", "manifests/examples/v1alpha1.yaml"]).refusal(1);
    assert!(error.contains(":4: kind is \"Materialize\", this build reads \"KindDefinition\"\n"), "{error}");
    assert!(pointsman(&["kinds", "check"]).refusal(2).contains("<FILE>..."));
}

#[test]
fn own_definitions_replace_embedded_ones() {
    let own = directory(|text| text.replace("  - spec.consoleReplicas\n", ""));
    let path = own.path().to_str().unwrap();
    let table = pointsman(&["kinds", "-o", "wide", "--kinds", path]).data();
    assert_eq!(table.matches("Materialize ").count(), 1);
    assert!(table.contains(&format!("{path}/materialize.yaml")), "{table}");
    let hash = |args: &[&str]| {
        pointsman(&[&["hash", "-f", "tests/data/fixtures/every-optional-field.yaml"], args].concat()).data()
    };
    assert_ne!(hash(&["--kinds", path]), hash(&[]));
    // Also for `serve`.
    let error = pointsman(&["serve", "--dev", "--kinds", "gone"]).refusal(1);
    assert!(error.contains("failed to read gone"), "{error}");
}

#[test]
fn unusable_kinds_directories_are_refused() {
    let twice = directory(|text| text);
    fs::copy(twice.path().join("materialize.yaml"), twice.path().join("other.yaml")).unwrap();
    let path = twice.path().to_str().unwrap();
    let error = pointsman(&["kinds", "--kinds", path]).refusal(1);
    assert!(error.contains("other.yaml: Materialize.materialize.cloud is defined in"), "{error}");

    // Another group has a kind of the same name.
    let both = directory(|text| text.replace("name: materialize\n", "name: balloon\n"));
    let other = fs::read_to_string(both.path().join("materialize.yaml")).unwrap();
    fs::write(both.path().join("other.yaml"), other.replace("materializes.crd.yaml", "others.crd.yaml")).unwrap();
    let crd = fs::read_to_string(both.path().join("materializes.crd.yaml")).unwrap();
    let crd = crd.replace("group: materialize.cloud", "group: example.com");
    let crd = crd.replace("name: materializes.materialize.cloud", "name: materializes.example.com");
    fs::write(both.path().join("others.crd.yaml"), crd).unwrap();
    let error = pointsman(&["kinds", "--kinds", both.path().to_str().unwrap()]).refusal(1);
    let expected = "other.yaml: Materialize.example.com has the name \"balloon\", and so has \
                    Materialize.materialize.cloud in";
    assert!(error.contains(expected) && error.contains("give one of the two another `name:`"), "{error}");

    let broken = directory(|text| text.replace("steps:", "setps:"));
    let path = broken.path().to_str().unwrap();
    let error =
        pointsman(&["hash", "--kinds", path, "-f", "tests/data/fixtures/v1alpha2-force-rollout.yaml"]).refusal(1);
    assert!(
        error.contains(&format!("{path}/materialize.yaml:")) && error.contains("did you mean \"steps\"?"),
        "{error}"
    );

    let crowded = directory(|text| format!("{text}---\nkind: Other\n"));
    let error = pointsman(&["kinds", "--kinds", crowded.path().to_str().unwrap()]).refusal(1);
    assert!(error.contains("materialize.yaml: a file holds exactly one definition"), "{error}");
}

#[test]
fn built_in_kinds_can_be_excluded() {
    let own = ["--kinds", "tests/data/kinds", "--no-built-in"];
    let listed = pointsman(&[&["kinds"][..], &own].concat());
    assert!(listed.stdout.contains("Widget") && !listed.stdout.contains("built in"), "{}", listed.stdout);
    let object = read("manifests/examples/v1alpha2.yaml");
    let answer = with_stdin(&[&["hash"][..], &own].concat(), object.as_bytes()).refusal(1);
    assert!(answer.contains("no definition of materialize.cloud/v1alpha2 Materialize; known kinds:"), "{answer}");
    assert_eq!(pointsman(&["kinds", "--no-built-in"]).code, 2);
}

#[test]
fn kinds_use_kubectl_names() {
    for name in
        ["materialize", "Materializes", "materializes.materialize.cloud", "materialize.v1alpha1.materialize.cloud"]
    {
        let answer = pointsman(&["kinds", "show", name]);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{name}");
    }
    let answer = pointsman(&["kinds", "show", "materialise"]).refusal(2);
    assert!(
        answer.starts_with("error: unknown kind \"materialise\", did you mean \"materialize\"?; known kinds: "),
        "{answer}"
    );
    // Of three letters, two are too many for a typo.
    let answer = pointsman(&["kinds", "show", "mat"]).refusal(2);
    assert!(answer.starts_with("error: unknown kind \"mat\"; known kinds: "), "{answer}");
}

/// A replacing kind is checked, shown and tried like a conversion between versions.
#[test]
fn replacing_kind_is_checked_and_tried() {
    let args = ["kinds", "check", "--try", "3", "--time", "5m", "examples/kinds/mattermost/mattermost.yaml"];
    // Three trials miss some operations. The output lists them, with exit code 0.
    let answer = pointsman(&args);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let said = answer.stdout;
    assert!(said.contains("clusterinstallations.v1alpha1 becomes mattermosts.v1beta1"), "{said}");
    assert!(said.contains("move spec.minio.externalURL <-> spec.fileStore.external.url"), "{said}");
    assert!(said.contains(" laws passed in "), "{said}");
    let listed = json(&pointsman(&["kinds", "-o", "json", "--kinds", "examples/kinds/mattermost"]).data());
    let mattermost = listed.as_array().unwrap().iter().find(|kind| kind["name"] == "mattermost").unwrap();
    assert_eq!(mattermost["replaces"]["kind"], "ClusterInstallation");
    assert_eq!(mattermost["replaces"]["facts"], serde_json::json!(["externalDatabase"]));
}

/// A directory with the CRD of the advice tests and a definition.
fn quays() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("quays.crd.yaml"), read("tests/data/advice/quays.crd.yaml")).unwrap();
    let definition = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: quays.crd.yaml\nsteps:\n- from: v1\n  to: v2\n  \
                      operations:\n  - rename: {from: spec.team, to: spec.teamName}\n  - rename: {from: spec.count, to: \
                      spec.berths}\n  - rename: {from: status.count, to: status.berths}\n";
    fs::write(dir.path().join("quays.yaml"), definition).unwrap();
    dir
}

#[test]
fn crd_next_to_definition_is_skipped() {
    let dir = quays();
    let [crd, definition] = ["quays.crd.yaml", "quays.yaml"].map(|name| dir.path().join(name).display().to_string());
    let answer = pointsman(&["kinds", "check", "--try", "1", &crd, &definition]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("Quay.port.example.org is fine"), "{}", answer.stdout);
    pointsman(&["kinds", "check", &crd]).refusal(1);
}

#[test]
fn lost_crd_paths_are_warned_of() {
    let dir = quays();
    let definition = dir.path().join("quays.yaml").display().to_string();
    let warnings = pointsman(&["kinds", "check", "--try", "0", &definition]).stderr;
    let column = "v2: printer column \"Group\" reads .spec.team, and v2 has no such field: no \"team\" at spec.team";
    assert!(warnings.contains(column), "{warnings}");
    for subject in ["selectable field", "scale.specReplicasPath", "scale.statusReplicasPath"] {
        assert!(warnings.contains(&format!("v2: {subject} reads")), "{warnings}");
    }
    let kinds = dir.path().display().to_string();
    let crd = dir.path().join("quays.crd.yaml").display().to_string();
    let found = pointsman(&["doctor", "--kinds", &kinds, "-f", &crd]);
    assert_eq!(found.stdout.matches("has no such field").count(), 4, "{}{}", found.stdout, found.stderr);
    assert_eq!(found.code, 1);
}

#[test]
fn page_for_users_names_every_change() {
    let page = pointsman(&["kinds", "docs", "run", "--kinds", "tests/data/kinds"]).data();
    assert!(page.starts_with("# Versions of Run\n\n`Run.example.com` has the versions `v1`, `v2`."), "{page}");
    for row in [
        "| v1 | v2 | change |",
        "| `spec.taskSpec.steps[*].resources` | `spec.taskSpec.steps[*].computeResources` | renamed |",
        "| `spec.taskSpec.steps[*].comment` | – | removed |",
        "| `spec.tier` | `metadata.labels[\"example.com/tier\"]` | moved |",
    ] {
        assert!(page.lines().any(|line| line == row), "{row}\n{page}");
    }
}

/// Revisions are files, or paths at a revision of git.
#[test]
fn revisions_are_compared() {
    let dir = TempDir::new().unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(dir.path()).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    for file in ["widgets.yaml", "widgets.crd.yaml"] {
        fs::copy(format!("tests/data/kinds/{file}"), dir.path().join(file)).unwrap();
    }
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "a"]);
    let compare = |args: &[&str]| {
        let binary = env!("CARGO_BIN_EXE_pointsman");
        let output = Command::new(binary).current_dir(dir.path()).args(["kinds", "compare"]).args(args).output();
        let output = output.unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    assert_eq!(compare(&["main:widgets.yaml", "widgets.yaml"]), (0, "OK: no changes\n".to_owned()));
    let crd = read("tests/data/kinds/widgets.crd.yaml");
    let changed = crd.replace("description: Name of the host, without the port.", "maxLength: 9");
    fs::write(dir.path().join("widgets.crd.yaml"), changed).unwrap();
    let (code, text) = compare(&["main:widgets.crd.yaml", "widgets.crd.yaml"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.starts_with("NOT SAFE: 1 breaking change\nIMPACT     VERSION   FIELD       CHANGE\n"), "{text}");
    assert!(
        text.contains("\nbreaking   v2        spec.host   maxLength is stricter: writes of other values"),
        "{text}"
    );
    let (code, text) = compare(&["main:widgets.crd.yaml", "widgets.crd.yaml", "-o", "json"]);
    assert_eq!((code, &json(&text)["field"]), (1, &serde_json::json!("spec.host")));
    let loose = crd.replace("type: integer", "type: number");
    fs::write(dir.path().join("widgets.crd.yaml"), loose).unwrap();
    let (code, text) = compare(&["main:widgets.crd.yaml", "widgets.crd.yaml"]);
    assert!(code == 0 && text.starts_with("OK: no breaking changes, "), "{text}");
    assert_eq!(compare(&["main:widgets.crd.yaml", "widgets.crd.yaml", "--fail-on", "risky"]).0, 1);
    // A CRD in a cluster has a conversion, and the file of a definition has none.
    let converted = crd.replace("  scope: Namespaced\n", "  scope: Namespaced\n  conversion: {strategy: Webhook}\n");
    fs::write(dir.path().join("cluster.yaml"), converted).unwrap();
    let (code, text) = compare(&["cluster.yaml", "main:widgets.crd.yaml"]);
    assert!(code == 1 && text.contains("Advice: apply the output of `pointsman crd` instead"), "{text}");
    let (code, text) = compare(&["main:gone.yaml", "widgets.crd.yaml"]);
    assert!(code == 1 && text.contains("failed to read main:gone.yaml: fatal: path"), "{text}");
    fs::write(dir.path().join("pod.yaml"), "kind: Pod\n").unwrap();
    let (code, text) = compare(&["pod.yaml", "widgets.crd.yaml"]);
    assert!(code == 1 && text.contains("pod.yaml: no document has `kind: CustomResourceDefinition`"), "{text}");
}

/// A file without a status does not show the versions of stored objects.
#[test]
fn stored_versions_decide_removal() {
    let dir = TempDir::new().unwrap();
    let version = |name: &str, is_used: bool| {
        let schema = serde_json::json!({"openAPIV3Schema": {"type": "object"}});
        serde_json::json!({"name": name, "served": is_used, "storage": is_used, "schema": schema})
    };
    let crd = |versions: Vec<Value>, stored: Value| {
        let names = serde_json::json!({"plural": "boats", "singular": "boat", "kind": "Boat"});
        let spec =
            serde_json::json!({"group": "example.com", "names": names, "scope": "Namespaced", "versions": versions});
        let status = serde_json::json!({"storedVersions": stored});
        serde_json::json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.example.com"}, "spec": spec, "status": status,
        })
    };
    let new = dir.path().join("new.json");
    fs::write(&new, crd(vec![version("v2", true)], Value::Null).to_string()).unwrap();
    for (stored, verdict) in [
        (Value::Null, "OK: no breaking changes, 1 risky"),
        (serde_json::json!(["v2"]), "OK: 1 safe change"),
        (serde_json::json!(["v1", "v2"]), "NOT SAFE: 1 breaking change"),
    ] {
        let old = dir.path().join("old.json");
        fs::write(&old, crd(vec![version("v1", false), version("v2", true)], stored).to_string()).unwrap();
        let answer = pointsman(&["kinds", "compare", old.to_str().unwrap(), new.to_str().unwrap()]);
        assert!(answer.stdout.starts_with(verdict), "{}", answer.stdout);
    }
}
