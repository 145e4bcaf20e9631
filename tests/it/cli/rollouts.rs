use super::*;

#[test]
fn controller_lease_uses_version() {
    for (version, name) in [
        ("2.16.0", "elastic-operator-leader-v2-16-0"),
        ("2.16.1", "elastic-operator-leader-v2-16-1"),
        ("3", "elastic-operator-leader-v3"),
    ] {
        let lease =
            |more: &[&str]| pointsman(&[&["rollout", "lease", "--kinds", ELASTICSEARCH][..], more].concat()).data();
        assert_eq!(lease(&["elasticsearches", version]), format!("{name}\n"));
        let told = json(&lease(&["elasticsearch", version, "-o", "json"]));
        assert_eq!(told, serde_json::json!({"namespace": "elastic-system", "name": name}));
    }
    let error = pointsman(&["rollout", "lease", "materialize", "26.12.0"]).refusal(1);
    assert_eq!(error, "error: the definition of materialize names no Lease: add `lease` under `admission`\n");
    pointsman(&["rollout", "lease", "materialize", "a b"]).refusal(2);
    let error = pointsman(&["rollout", "lease", "materialise", "1"]).refusal(2);
    assert!(error.contains("did you mean \"materialize\"?"), "{error}");
}

const ROLLOUT: &str = "
apiVersion: pointsman.dev/v1
kind: StagedRollout
metadata: {name: eck-2-17}
spec:
  kind: elasticsearch
  from: 2.16.0
  to: 2.17.0
  waves: [{name: all}]
";

/// The printed rights of a rollout match those of the page.
#[test]
fn printed_rights_match_documentation() {
    let role =
        yaml(&with_stdin(&["rollout", "rights", "--kinds", ELASTICSEARCH, "-f", "-"], ROLLOUT.as_bytes()).data());
    let page = std::fs::read_to_string("docs/rollouts.md").unwrap();
    let documented = page.split("```yaml\n").find(|block| block.contains("{name: pointsman-rollout}")).unwrap();
    let documented = yaml(documented.split("```").next().unwrap());
    let sorted = |role: &Value| {
        let mut rules: Vec<Value> = role["rules"].as_array().unwrap().clone();
        for rule in &mut rules {
            rule["verbs"].as_array_mut().unwrap().sort_by_key(Value::to_string);
        }
        rules.sort_by_key(Value::to_string);
        rules
    };
    assert_eq!(sorted(&role), sorted(&documented));
}

/// If owner references are guarded, only the `adopt` step needs more rights.
#[test]
fn guarded_owners_need_more_rights() {
    let rollout = "
apiVersion: pointsman.dev/v1
kind: StagedRollout
metadata: {name: mm}
spec: {kind: mattermost, workflow: migrate, from: v1alpha1, to: v1beta1, acceptedRisks: [old-object], waves: [{name: all}]}
";
    let rules = |more: &[&str]| {
        let own = ["rollout", "rights", "-f", "-", "--kinds", "examples/kinds/mattermost"];
        let role = yaml(&with_stdin(&[&own, more].concat(), rollout.as_bytes()).data());
        role["rules"].as_array().unwrap().clone()
    };
    let (free, guarded) = (rules(&[]), rules(&["--guarded-owners"]));
    let verbs = |rules: &[Value], plural: &str| {
        let rule = rules.iter().find(|rule| rule["resources"][0] == plural);
        rule.map_or(Value::Null, |rule| rule["verbs"].clone())
    };
    for owner in ["mattermosts/finalizers", "clusterinstallations/finalizers"] {
        assert_eq!(
            (verbs(&free, owner), verbs(&guarded, owner)),
            (Value::Null, serde_json::json!(["update"])),
            "{owner}"
        );
    }
    assert_eq!(verbs(&free, "services"), serde_json::json!(["list", "patch"]));
    assert_eq!(verbs(&guarded, "services"), serde_json::json!(["delete", "list", "patch"]));
    // No step runs a Job or has a template.
    assert_eq!(verbs(&free, "configmaps"), Value::Null);
}

#[test]
fn frozen_resources_print_as_policies() {
    let with = |freeze: &str, more: &[&str]| {
        let args = ["rollout", "policies", "--kinds", ELASTICSEARCH, "-f", "-"];
        with_stdin(&[&args, more].concat(), format!("{ROLLOUT}{freeze}").as_bytes())
    };
    let freeze = "  freeze: [{resources: [deployments.apps]}]\n";
    let printed = with(freeze, &[]).data();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&printed).unwrap();
    let title = |document: &Value| format!("{} {}", document["kind"], document["metadata"]["name"]);
    assert_eq!(
        documents.iter().map(title).collect::<Vec<_>>(),
        [
            "\"ValidatingAdmissionPolicy\" \"pointsman-freeze.eck-2-17\"",
            "\"ValidatingAdmissionPolicyBinding\" \"pointsman-freeze.eck-2-17\""
        ]
    );
    assert!(printed.contains("system:serviceaccount:pointsman-system:pointsman-rollout"), "{printed}");
    let list = json(&with(freeze, &["-o", "json", "--service-account", "flux/rollouts"]).data());
    assert!(list["items"][0].to_string().contains("system:serviceaccount:flux:rollouts"), "{list}");
    let error = with("", &[]).refusal(1);
    assert!(error.contains("rollout eck-2-17 freezes no resource: add `freeze`"), "{error}");
    let error = with("  freeze: [{resources: [\"*\"]}]\n", &[]).refusal(1);
    assert!(error.contains("stdin:10: freeze: \"*\" would freeze"), "{error}");
    // Without a name or a file, with both, or without a service account.
    pointsman(&["rollout", "policies"]).refusal(2);
    pointsman(&["rollout", "policies", "eck-2-17", "-f", "-"]).refusal(2);
    with(freeze, &["--service-account", "rollouts"]).refusal(2);
}

/// The running versions of objects in files: with and without lists, and with a StagedRollout among the objects.
#[test]
fn file_versions_print_every_format() {
    let own = ["--kinds", "tests/data/hosts", "-f", "tests/data/hosts/fleet.yaml"];
    let told = |args: &[&str]| pointsman(&[&["rollout", "versions", "host"][..], args, &own].concat());
    let table = "VERSION   TARGET   STATE\nv1.16.4   False    partial\nv1.17.1   True     partial\nv1.18.1   False    unavailable\n";
    assert_eq!(told(&[]).data(), table);
    assert_eq!(told(&["-o", "name"]).data(), "v1.16.4\nv1.17.1\nv1.18.1\n");
    let wide = told(&["-o", "wide"]).data();
    assert!(
        wide.contains("\nv1.17.1   True     partial       1         v1.16.4                       PATCH.Y   PATCH.Z\n"),
        "{wide}"
    );
    let one = serde_json::json!({
        "version": "v1.17.1", "target": true, "state": "partial", "upgrade_from": ["v1.16.4"], "downgrade_to": [],
        "applied_patches": ["PATCH.Y"], "available_patches": ["PATCH.Z"], "objects": 1,
    });
    assert_eq!(json(&told(&["1.17.1", "-o", "json"]).data()), one);
    let all = json(&told(&["-o", "json"]).data());
    assert_eq!((&all["versions"][1], &all["objects"], &all["unread"]["count"]), (&one, &4.into(), &0.into()));
    assert!(told(&["v1.17.1", "-o", "yaml"]).data().contains("state: partial\n"));
    let error = told(&["v1.19.0"]).refusal(1);
    assert!(
        error.contains("version \"v1.19.0\" of host is unknown; known versions: v1.16.4, v1.17.1, v1.18.1"),
        "{error}"
    );
}

#[test]
fn unversioned_objects_are_counted() {
    let object =
        "apiVersion: example.com/v1\nkind: Host\nmetadata: {name: a, namespace: site}\nspec: {personality: worker}\n";
    let two = format!("{object}status: {{kubelet: v1.16.4}}\n---\n{object}");
    let args = ["rollout", "versions", "hosts", "--kinds", "tests/data/hosts", "-f", "-"];
    let answer = with_stdin(&args, two.as_bytes());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("v1.16.4   False    partial\n"), "{}", answer.stdout);
    let said = "warning: the running version of 1 of 2 objects is unknown, so no version is active: site/a: status.kubelet is not set\n";
    assert_eq!(answer.stderr, said);
    // An object that is unreadable in the newest version, and a value that is no object.
    for (text, said) in [("[1]", "not an object"), ("kind: Host\n", "no apiVersion")] {
        let answer = with_stdin(&args, text.as_bytes());
        assert!(answer.code == 1 && answer.stderr.contains(said), "{text}: {}", answer.stderr);
    }
}

/// The message precedes any call, and omits a possible password.
#[test]
fn invalid_prometheus_address_is_redacted() {
    for (address, said) in [
        ("http://amy:secret@prometheus:9090", "--prometheus: an address must not contain a user or a password"),
        ("prometheus:9090/secret", "--prometheus: an address must begin with http:// or https://"),
        ("http://prometheus/?token=secret", "--prometheus: the address must end with a path"),
    ] {
        for command in [
            &["run", "eck-2-17"][..],
            &["plan", "-f", "-"],
            &["start", "-f", "-"],
            &["objects", "eck-2-17"],
            &["prioritize", "eck-2-17", "a/b"],
        ] {
            let args = [&["rollout"], command, &["--kinds", ELASTICSEARCH, "--prometheus", address]].concat();
            let error = with_stdin(&args, ROLLOUT.as_bytes()).refusal(2);
            assert!(error.contains(said) && !error.contains("secret"), "{args:?}: {error}");
        }
    }
    let help = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(["rollout", "run", "--help"])
        .env("POINTSMAN_PROMETHEUS", "http://amy:secret@prometheus:9090")
        .output()
        .unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains("secret"));
}
