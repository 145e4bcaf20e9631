//! Valid fields of a StagedRollout, and the errors for invalid fields.

use pointsman_rollout::{GateDescription, Rollout, WaveSide, gate_descriptions, read_rollout, rolled_kind};

use crate::kinds::{KINDS, define};

const ROLLOUT: &str = "\
apiVersion: pointsman.dev/v1
kind: StagedRollout
metadata: {name: databases-2-17}
spec:
  kind: database
  from: 2.16.0
  to: 2.17.0
  selector: {namespaces: [lake], labels: frozen notin (true)}
  order: {by: metadata.labels.tier, values: [small, large]}
  waves:
  - {name: canary, selector: {labels: rollout=canary}, maxInFlight: 1, soak: 30m, after: approval}
  - {name: rest, maxInFlight: 10%}
  windows:
  - {days: [mon-thu], from: 09:00, to: 16:00, zone: Asia/Tokyo}
  freeze:
  - {resources: [deployments.apps, services], operations: [CREATE, DELETE], namespaces: [lake], labels: app=databases}
  prioritizedObjects: [lake/database]
  maxUnhealthy: 2
  timeout: 20m
  onFailure: Undo
  acceptedRisks: [no-way-back]
  takeOver: false
  paused: false
  direction: Forward
";

fn read(text: &str) -> Result<Rollout, String> {
    read_rollout("rollout.yaml", text, &KINDS[0]).map_err(|bad| bad.to_string())
}

#[test]
fn document_round_trips() {
    let rollout = read(ROLLOUT).unwrap();
    assert_eq!((rollout.name(), rollout.from(), rollout.to()), ("databases-2-17", Some("2.16.0"), "2.17.0"));
    assert_eq!(rollout.waves().collect::<Vec<_>>(), ["canary", "rest"]);
    assert!(
        rollout.requires_approval("canary", WaveSide::After) && !rollout.requires_approval("rest", WaveSide::After)
    );
    assert_eq!(rolled_kind("rollout.yaml", ROLLOUT).unwrap(), "database");
    let waits: Vec<String> = gate_descriptions(&rollout).iter().map(GateDescription::words).collect();
    assert_eq!(waits, ["after canary: 30m go by, an approval"]);
    // The minimal document.
    read("{apiVersion: pointsman.dev/v1, kind: StagedRollout, metadata: {name: a}, spec: {kind: database, to: 2.17.0, waves: [{name: a}]}}")
        .unwrap();
}

/// Checks the error for a StagedRollout with one part replaced.
#[track_caller]
fn is_told(instead_of: &str, said: &str, message: &str) {
    assert!(ROLLOUT.contains(instead_of), "{instead_of}");
    match read(&ROLLOUT.replacen(instead_of, said, 1)) {
        Ok(_) => assert_eq!(message, "ok", "{said}"),
        Err(error) => assert!(error.contains(message), "{said}: {error}"),
    }
}

#[test]
fn unknown_field_names_its_line() {
    for (instead_of, said, message) in [
        ("  to: 2.17.0", "  too: 2.17.0", "rollout.yaml:7: unknown key \"too\", did you mean \"to\"?"),
        ("  to: 2.17.0\n", "", "the key \"to\" is missing"),
        ("maxUnhealthy: 2", "maxUnhealthy: few", "expected an integer"),
        ("paused: false", "paused: soon", "expected true or false"),
        ("paused: false", "paused: \"false\"", "expected true or false"),
        ("paused: false", "paused: \"yes\"", "expected true or false"),
        ("kind: StagedRollout", "kind: Rol", "rollout.yaml:2: kind is \"Rol\", and must be \"StagedRollout\""),
        ("pointsman.dev/v1", "pointsman.dev/v2", "apiVersion is \"pointsman.dev/v2\", and must be"),
        ("databases-2-17", "Databases", "metadata.name: \"Databases\" is no name of a StagedRollout"),
        ("  to: 2.17.0", "  to: 2.16.0", "from and to are both \"2.16.0\": no object would move"),
        ("  to: 2.17.0", "  to: new", "to: \"new\" is no version, and the definition has an upgrade path"),
        ("  to: 2.17.0", "  to: a b", "to: \"a b\" can be no value of the label example.com/controller-version"),
        ("frozen notin (true)", "frozen notin (true", "a bracket is not closed"),
        ("frozen notin (true)", "example.com/controller-version=2", "which the rollout changes: use `from` instead"),
        ("rollout=canary", "rollout=", "ok"),
        ("selector: {labels: rollout=canary}, ", "", "canary selects every object, so rest gets none"),
        (
            "name: rest, ",
            "name: rest, selector: {labels: a=b}, ",
            "the last wave, rest, must select all remaining objects",
        ),
        ("name: rest", "name: canary", "rollout.yaml:12: waves: two waves have the name \"canary\""),
        ("name: rest", "name: The rest", "\"The rest\" is no name: use lower case letters"),
        ("maxInFlight: 10%}", "maxInFlight: 10%, after: approval}", "rest is the last wave"),
        ("maxInFlight: 1,", "maxInFlight: 0,", "waves: canary: maxInFlight is a number from 1 to 256 or a part"),
        ("soak: 30m", "soak: 30", "waves: canary: soak: \"30\" is not a duration"),
        (
            "after: approval",
            "after: aproval",
            "rollout.yaml:11: waves: canary: after: \"aproval\" is unknown, did you mean \"approval\"?",
        ),
        ("timeout: 20m", "timeout: soon", "timeout: \"soon\" is not a duration"),
        ("timeout: 20m", "timeout: 0", "timeout: 0s is no longer than an object has to be healthy"),
        ("onFailure: Undo", "onFailure: Und", "onFailure: \"Und\" is unknown, did you mean \"Undo\"?"),
        ("direction: Forward", "direction: Up", "direction: \"Up\" is unknown. Known values: Forward, Undo, Abort"),
        (
            "by: metadata.labels.tier",
            "by: status.tier",
            "order.by: database has no field status.tier in its newest version",
        ),
        ("[no-way-back]", "[no-way-bak]", "acceptedRisks: \"no-way-bak\" is an unknown risk, did you mean"),
        ("  waves:", "  window: []\n  waves:", "unknown key \"window\", did you mean \"windows\"?"),
        ("from: 09:00", "from: soon", "rollout.yaml:14: windows: \"soon\" is no time of the day"),
        (
            "[lake/database]",
            "[lake/database/a]",
            "prioritizedObjects: \"lake/database/a\" is not an object: write NAMESPACE/NAME",
        ),
        ("[lake/database]", "[\"\"]", "prioritizedObjects: \"\" is not an object"),
        ("[lake/database]", "[database]", "ok"),
        ("[mon-thu]", "[mon-fry]", "windows: \"mon-fry\" is no day: use mon, tue"),
        ("  from:", "  workflow: controler-version\n  from:", "did you mean \"controller-version\"?"),
    ] {
        is_told(instead_of, said, message);
    }
}

#[test]
fn workflows_do_not_hold() {
    for (instead_of, said, message) in [
        ("paused: false", "paused: false\n  hold: soon", "expected true or false"),
        ("paused: false", "paused: false\n  hold: true", "ok"),
        (
            "  from:",
            "  workflow: rewrite\n  hold: true\n  from:",
            "hold: protects the version label, and workflows change no label",
        ),
    ] {
        is_told(instead_of, said, message);
    }
}

#[test]
fn impossible_gate_names_its_line() {
    for (instead_of, said, message) in [
        ("soak: 30m, after: approval", "after: [approval, wait: 30m]", "ok"),
        ("soak: 30m, after: approval", "after: {wait: 30m}", "ok"),
        (
            "after: approval",
            "after: [approval, wait: 30m]",
            "waves: canary: soak and `wait` of `after` are the same setting",
        ),
        ("after: approval", "after: []", "waves: canary: after: is empty: remove the key, or use approval, checks"),
        ("after: approval", "after: [approval, approval]", "waves: canary: after: approval occurs twice"),
        ("after: approval", "after: checks", "after: checks: the definition of database has none under checks.start"),
        ("after: approval", "before: checks", "before: checks: the definition of database has none under checks.start"),
        ("after: approval", "before: approval", "ok"),
        ("after: approval", "before: {wait: 10m}", "canary: before: wait: the first wave has no earlier wave"),
        ("after: approval", "befor: approval", "unknown key \"befor\", did you mean \"before\"?"),
        ("maxInFlight: 10%}", "maxInFlight: 10%, before: [approval, wait: 10m], after: {wait: 1h}}", "ok"),
        (
            "maxInFlight: 10%}",
            "maxInFlight: 10%, before: {wait: soon}}",
            "rest: before: wait: \"soon\" is not a duration",
        ),
    ] {
        is_told(instead_of, said, message);
    }
}

#[test]
fn foreign_document_is_refused() {
    assert!(read("").unwrap_err().contains("is empty"));
    let other = "apiVersion: v1\nkind: ConfigMap\ndata: {}\n";
    assert_eq!(read(other).unwrap_err(), "rollout.yaml:2: kind is \"ConfigMap\", and must be \"StagedRollout\"");
    assert!(read("kind: StagedRollout\n").unwrap_err().contains("the key \"apiVersion\" is missing"));
    assert!(read(&format!("{ROLLOUT}---\n{ROLLOUT}")).unwrap_err().contains("the file has another document here"));
    let none = ROLLOUT.lines().filter(|line| !line.contains("- {name")).collect::<Vec<_>>().join("\n");
    let none = none.replace("  waves:", "  waves: []");
    assert!(read(&none).unwrap_err().contains("waves: the list is empty"));
}

#[test]
fn impossible_freeze_names_its_line() {
    for (instead_of, said, message) in [
        ("[deployments.apps, services]", "[]", "rollout.yaml:16: freeze: resources is empty: add at least one"),
        (
            "deployments.apps",
            "\"*\"",
            "freeze: \"*\" would freeze resources that the rollout, its controllers and the cluster need",
        ),
        ("deployments.apps", "\"*.apps\"", "name each resource, such as deployments.apps"),
        ("deployments.apps", "apps/deployments", "\"apps/deployments\" is no resource: write the plural and the group"),
        ("deployments.apps", "deployments.apps/status", "subresources such as status are never frozen"),
        ("deployments.apps", "Deployment", "\"Deployment\" is no resource"),
        ("deployments.apps", "deployments.", "\"deployments.\" is no resource"),
        ("deployments.apps", "databases.example.com", "ok"),
        (
            "deployments.apps",
            "stagedrollouts.pointsman.dev",
            "freeze: stagedrollouts.pointsman.dev: then the rollout could not be paused or undone",
        ),
        ("deployments.apps", "leases.coordination.k8s.io", "its controllers and its runner renew Leases"),
        (
            "deployments.apps",
            "subjectaccessreviews.authorization.k8s.io",
            "the API server evaluates no policy for this resource",
        ),
        ("[CREATE, DELETE]", "[]", "freeze: operations is empty: remove the key for all operations"),
        ("[CREATE, DELETE]", "[CREAT]", "operations: \"CREAT\" is unknown, did you mean \"CREATE\"?"),
        (
            "[CREATE, DELETE]",
            "[CONNECT]",
            "operations: \"CONNECT\" is unknown. Known operations: CREATE, UPDATE, DELETE",
        ),
        ("operations:", "operation:", "unknown key \"operation\", did you mean \"operations\"?"),
        (
            "namespaces: [lake], labels: app",
            "namespaces: [], labels: app",
            "freeze: namespaces is empty: remove the key",
        ),
        ("namespaces: [lake], labels: app", "namespaces: [A], labels: app", "\"A\" is no name of a namespace"),
        ("labels: app=databases", "atLeast: latest", "rollout.yaml:16: freeze: atLeast: \"latest\" is no version"),
        ("labels: app=databases", "atMost: \"\"", "freeze: atMost: \"\" is no version"),
        ("labels: app=databases", "atLeast: 2.16.0, atMost: v2.17", "ok"),
        ("labels: app=databases", "labels: app in (databases", "freeze: labels: selector"),
    ] {
        is_told(instead_of, said, message);
    }
}

/// The controllers write to the moved objects.
#[test]
fn rollout_cannot_freeze_own_objects() {
    let frozen = |operations: &str| {
        let text = ROLLOUT.replacen("deployments.apps", "databases.example.com", 1);
        read(&text.replacen("operations: [CREATE, DELETE], ", operations, 1))
    };
    read(ROLLOUT).unwrap();
    frozen("operations: [DELETE], ").unwrap();
    for operations in ["operations: [UPDATE, DELETE], ", ""] {
        let error = frozen(operations).unwrap_err();
        assert!(error.contains("databases.example.com: the rollout would block itself"), "{error}");
    }
}

#[test]
fn all_errors_are_reported_together() {
    let error = read(&ROLLOUT.replace("timeout: 20m", "timeout: soon").replace("maxInFlight: 10%", "maxInFlight: x"))
        .unwrap_err();
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn kind_without_health_is_refused() {
    let kind = define("").unwrap();
    let error = read_rollout("rollout.yaml", ROLLOUT, &kind).unwrap_err().to_string();
    assert!(error.contains("add a `health` block"), "{error}");
}

#[test]
fn irreversible_rollout_needs_acceptance() {
    let one_way = "{all: {rules: [{from: \"*\", step: minor}]}}";
    let kind = define(&format!(
        "admission: {{versionPath: all, paths: {one_way}}}\nhealth: {{all: [{{condition: Ready}}]}}\n"
    ));
    let way_back = |text: &str| read_rollout("rollout.yaml", text, kind.as_ref().unwrap()).unwrap().way_back();
    assert_eq!(way_back(ROLLOUT), Ok(()), "it is accepted");
    let error = way_back(&ROLLOUT.replace("  acceptedRisks: [no-way-back]\n", "")).unwrap_err();
    assert!(error.starts_with("no way back: no downgrade from 2.17.0 to 2.16.0 is allowed"), "{error}");
    assert!(error.ends_with("acceptedRisks: [no-way-back]"), "{error}");
}
