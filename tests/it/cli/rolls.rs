use super::*;

#[test]
fn the_lease_of_a_controller_is_named_by_its_version() {
    for (version, name) in [
        ("2.16.0", "elastic-operator-leader-v2-16-0"),
        ("2.16.1", "elastic-operator-leader-v2-16-1"),
        ("3", "elastic-operator-leader-v3"),
    ] {
        assert_eq!(pointsman(&["roll", "lease", "elasticsearches", version]).data(), format!("{name}\n"));
        let told = json(&pointsman(&["roll", "lease", "elasticsearch", version, "-o", "json"]).data());
        assert_eq!(told, serde_json::json!({"namespace": "elastic-system", "name": name}));
    }
    let error = pointsman(&["roll", "lease", "materialize", "26.12.0"]).refusal(1);
    assert_eq!(error, "error: the definition of materialize names no Lease: give it `lease` under `admission`\n");
    pointsman(&["roll", "lease", "elasticsearch", "a b"]).refusal(2);
    let error = pointsman(&["roll", "lease", "elasticsearhc", "1"]).refusal(2);
    assert!(error.contains("did you mean \"elasticsearch\"?"), "{error}");
}

const ROLL: &str = "
apiVersion: pointsman.dev/v1
kind: Roll
metadata: {name: eck-2-17}
spec:
  kind: elasticsearch
  from: 2.16.0
  to: 2.17.0
  waves: [{name: all}]
";

#[test]
fn what_a_roll_freezes_is_printed_as_policies() {
    let with = |freeze: &str, more: &[&str]| {
        with_stdin(&[&["roll", "policies", "-f", "-"], more].concat(), format!("{ROLL}{freeze}").as_bytes())
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
    assert!(printed.contains("system:serviceaccount:pointsman-system:pointsman-roll"), "{printed}");
    let list = json(&with(freeze, &["-o", "json", "--service-account", "flux/rolls"]).data());
    assert!(list["items"][0].to_string().contains("system:serviceaccount:flux:rolls"), "{list}");
    let error = with("", &[]).refusal(1);
    assert!(error.contains("roll eck-2-17 freezes nothing: give it `freeze`"), "{error}");
    let error = with("  freeze: [{resources: [\"*\"]}]\n", &[]).refusal(1);
    assert!(error.contains("stdin:10: freeze: \"*\" would freeze"), "{error}");
    // Neither a name nor a file, both, or no service account.
    pointsman(&["roll", "policies"]).refusal(2);
    pointsman(&["roll", "policies", "eck-2-17", "-f", "-"]).refusal(2);
    with(freeze, &["--service-account", "rolls"]).refusal(2);
}
