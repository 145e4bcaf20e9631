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
