//! A kind is replaced by another kind: the laws between both, and the parts of an object that belong to one kind only.

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, Law, Survey, survey};
use pointsman_core::webhook::{Facts, Metadata, OtherKind, ReplaceError, Webhook};
use serde_json::{Value, json};

const DEFINITION: &str = include_str!("../../../../examples/kinds/mattermost/mattermost.yaml");

fn file(name: &str) -> std::io::Result<String> {
    std::fs::read_to_string(format!("{}/../../examples/kinds/mattermost/{name}", env!("CARGO_MANIFEST_DIR")))
}

fn mattermost() -> Kind {
    load(DEFINITION).unwrap_or_else(|error| panic!("{error}"))
}

fn load(text: &str) -> Result<Kind, BadDefinition> {
    Kind::load("mattermost.yaml", text, &mut file)
}

fn facts(external: &str) -> Facts {
    [("externalDatabase", external)].into_iter().collect()
}

const NEW: OtherKind<'_> = OtherKind { group: "installation.mattermost.com", kind: "Mattermost", version: None };
const OLD: OtherKind<'_> = OtherKind { group: "mattermost.com", kind: "ClusterInstallation", version: None };

fn webhook() -> Webhook {
    Webhook::new(vec![mattermost()], Metadata::Full).unwrap()
}

fn replaces(object: &Value, to: OtherKind<'_>, facts: &Facts) -> Result<Value, ReplaceError> {
    let (converted, _) = webhook().convert_kind(&object.to_string(), to, facts)?;
    Ok(serde_json::from_str(&converted.text).unwrap())
}

fn installation(spec: Value) -> Value {
    json!({
        "apiVersion": "mattermost.com/v1alpha1",
        "kind": "ClusterInstallation",
        "metadata": {"name": "chat", "namespace": "talk"},
        "spec": spec,
    })
}

/// The laws over both kinds as one kind with two versions. `/mutate` keeps the promise of `stale`, but never receives
/// an object that is being replaced.
fn judged(external: &str, seed: u64, cases: u64) -> Survey {
    let versions = mattermost().take_conversion().unwrap().into_versions();
    let webhook = Webhook::new(vec![versions], Metadata::Full).unwrap().knowing(facts(external));
    let (words, converted) = (Dictionary::default(), || {});
    let laws: Vec<Law> = LAWS.into_iter().filter(|law| law.name != "stale").collect();
    let mut options =
        CheckOptions { seed, cases, laws: &laws, words: &words, has_time: &mut || true, converted: &converted };
    survey(&webhook, &webhook.kinds()[0], &[], &mut options)
}

#[test]
fn replaced_kind_keeps_all_laws() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (seed, cases) = (number("POINTSMAN_SEED", 0), number("POINTSMAN_CASES", 150) / 10);
    let mut missing = Vec::new();
    for external in ["true", "false"] {
        let found = judged(external, seed, cases.max(1));
        let broken: Vec<String> = found.results.iter().filter_map(|it| Some(it.broken.as_ref()?.to_string())).collect();
        assert!(broken.is_empty(), "externalDatabase={external}: {} laws\n\n{}", broken.len(), broken.join("\n\n"));
        missing.push(found.unexercised);
    }
    let never: Vec<_> = missing[0].iter().filter(|what| missing[1].contains(what)).collect();
    // Few cases do not cover everything.
    assert!(cases < 100 || never.is_empty(), "{never:#?}");
}

/// Upstream's own conversion of each field: an old spec, the new spec, and the required fact.
fn table() -> Vec<(Value, Value, &'static str)> {
    let replicas = |count: i64| json!({"ingressName": "chat.example", "replicas": count});
    let minio = json!({"externalURL": "s3", "externalBucket": "b", "secret": "s", "storageSize": "5Gi", "replicas": 4});
    let own = json!({"storageSize": "5Gi", "replicas": 0, "secret": "s", "externalURL": ""});
    let database = json!({"type": "mysql", "secret": "db", "storageSize": "9Gi", "replicas": -2, "version": "8"});
    let managed = json!({"type": "mysql", "storageSize": "9Gi", "replicas": 0, "version": "8"});
    vec![
        (replicas(-1), replicas(0), "true"),
        (replicas(0), json!({"ingressName": "chat.example"}), "true"),
        (replicas(3), replicas(3), "true"),
        (
            json!({"ingressName": "a", "mattermostLicenseSecret": "l", "resources": {"limits": {"cpu": 1}},
                "nodeSelector": {"a": "b"}, "affinity": {"c": {}}, "livenessProbe": {"p": 1}, "readinessProbe": {"q": 2}}),
            json!({"ingressName": "a", "licenseSecret": "l", "probes": {"livenessProbe": {"p": 1},
                "readinessProbe": {"q": 2}}, "scheduling": {"resources": {"limits": {"cpu": 1}},
                "nodeSelector": {"a": "b"}, "affinity": {"c": {}}}}),
            "true",
        ),
        (
            json!({"ingressName": "a", "size": "100users", "image": "i", "version": "1", "useIngressTLS": true,
                "elasticSearch": {"host": "h", "username": "u", "password": "p"}, "mattermostEnv": [{"name": "A"}]}),
            json!({"ingressName": "a", "size": "100users", "image": "i", "version": "1", "useIngressTLS": true,
                "elasticSearch": {"host": "h", "username": "u", "password": "p"}, "mattermostEnv": [{"name": "A"}]}),
            "true",
        ),
        (
            json!({"ingressName": "a", "minio": minio}),
            json!({"ingressName": "a", "fileStore": {"external": {"url": "s3", "bucket": "b", "secret": "s"}}}),
            "true",
        ),
        (
            json!({"ingressName": "a", "minio": own}),
            json!({"ingressName": "a", "fileStore": {"operatorManaged": {"storageSize": "5Gi"}}}),
            "true",
        ),
        (
            json!({"ingressName": "a", "database": database}),
            json!({"ingressName": "a", "database": {"external": {"secret": "db"}}}),
            "true",
        ),
        (
            json!({"ingressName": "a", "database": database}),
            json!({"ingressName": "a", "database": {"operatorManaged": managed}}),
            "false",
        ),
        (
            json!({"ingressName": "a", "blueGreen": {"enable": false, "productionDeployment": "blue"},
                "canary": {"deployment": {"name": "c"}}, "migrate": true}),
            json!({"ingressName": "a"}),
            "true",
        ),
    ]
}

/// The new object matches, and the old object is restored.
#[test]
fn replacement_matches_the_table() {
    for (older, newer, external) in table() {
        let old = installation(older.clone());
        let new = replaces(&old, NEW, &facts(external)).unwrap();
        assert_eq!(new["apiVersion"], "installation.mattermost.com/v1beta1");
        assert_eq!(new["kind"], "Mattermost");
        assert_eq!(new["spec"], newer, "{older}");
        // The way back needs no fact.
        for known in [facts(external), Facts::default()] {
            let home = replaces(&new, OLD, &known).unwrap();
            assert_eq!(home["spec"], older, "{new}");
            assert_eq!(replaces(&home, NEW, &facts(external)).unwrap()["spec"], newer);
        }
    }
}

#[test]
fn impossible_replacement_has_a_reason() {
    for (form, reason) in [("blueGreen", "blue/green deployments"), ("canary", "canary deployments")] {
        let object = installation(json!({"ingressName": "a", form: {"enable": true}}));
        let refused = replaces(&object, NEW, &Facts::default()).unwrap_err();
        assert!(matches!(refused, ReplaceError::Refused { .. }), "{refused:?}");
        assert!(refused.to_string().starts_with(reason), "{refused}");
        let off = installation(json!({"ingressName": "a", form: {"enable": false}}));
        replaces(&off, NEW, &Facts::default()).unwrap();
    }
    let other = OtherKind { group: "", kind: "Pod", version: None };
    let none = replaces(&installation(json!({"ingressName": "a"})), other, &Facts::default()).unwrap_err();
    assert!(matches!(none, ReplaceError::NoWay { .. }), "{none:?}");
    let mut incomplete = installation(json!({"ingressName": "a"}));
    incomplete["metadata"]["annotations"] = json!({"pointsman.dev/incomplete": "pointsman.dev/kept-v1"});
    let lacks = replaces(&incomplete, NEW, &Facts::default()).unwrap_err();
    assert!(matches!(lacks, ReplaceError::Incomplete { .. }), "{lacks:?}");
    let large = installation(json!({"ingressName": "a", "blueGreen": {"productionDeployment": "x".repeat(300_000)}}));
    let large = replaces(&large, NEW, &Facts::default()).unwrap_err();
    assert!(matches!(large, ReplaceError::TooLarge { .. }), "{large:?}");
}

#[test]
fn missing_fact_is_named() {
    let asks =
        replaces(&installation(json!({"ingressName": "a", "database": {"secret": "db"}})), NEW, &Facts::default());
    let asks = asks.unwrap_err().to_string();
    for part in ["spec.database.secret: ", "externalDatabase", "the Secret db", "DB_CONNECTION_STRING", "--fact"] {
        assert!(asks.contains(part), "{part}: {asks}");
    }
    // Without a Secret name there is no lookup.
    for database in [json!({"type": "mysql"}), json!({"type": "mysql", "secret": ""})] {
        let object = installation(json!({"ingressName": "a", "database": database}));
        let new = replaces(&object, NEW, &Facts::default()).unwrap();
        assert_eq!(new["spec"]["database"], json!({"operatorManaged": {"type": "mysql"}}));
    }
}

#[test]
fn only_identity_is_carried() {
    let mut old = installation(json!({"ingressName": "a", "replicas": -2}));
    old["metadata"] = json!({
        "name": "chat", "namespace": "talk", "uid": "u", "resourceVersion": "7", "generation": 2,
        "creationTimestamp": "2021-01-01T00:00:00Z", "finalizers": ["a/b"], "ownerReferences": [{"uid": "x"}],
        "managedFields": [], "labels": {"team": "a"},
        "annotations": {
            "note": "mine",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "pointsman.dev/rollout": "{}",
            "pointsman.dev/kept-v1": r#"{"fields":{"spec.x":{"value":1}}}"#,
        },
    });
    old["status"] = json!({"state": "stable"});
    let new = replaces(&old, NEW, &Facts::default()).unwrap();
    assert_eq!(
        new["metadata"],
        json!({
            "name": "chat", "namespace": "talk", "labels": {"team": "a"},
            "annotations": {
                "note": "mine",
                "pointsman.dev/kept-clusterinstallations.v1": r#"{"fields":{"spec.x":{"value":1}}}"#,
                "pointsman.dev/kept-clusterinstallations.v1alpha1": r#"{"fields":{"spec.replicas":{"value":-2,"became":0}}}"#,
            },
        })
    );
    assert!(new.get("status").is_none());
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert_eq!(
        home["metadata"],
        json!({
            "name": "chat", "namespace": "talk", "labels": {"team": "a"},
            "annotations": {"note": "mine", "pointsman.dev/kept-v1": r#"{"fields":{"spec.x":{"value":1}}}"#},
        })
    );
    assert_eq!(home["spec"], old["spec"]);
}

/// An edit of the current form counts, and values kept for the other form stay kept.
#[test]
fn edit_of_replacement_survives_undo() {
    let minio = json!({"externalURL": "s3", "storageSize": "5Gi"});
    let mut new = replaces(&installation(json!({"ingressName": "a", "minio": minio})), NEW, &Facts::default()).unwrap();
    new["spec"]["fileStore"]["external"]["url"] = json!("s4");
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert_eq!(home["spec"]["minio"], json!({"externalURL": "s4", "storageSize": "5Gi"}));
    new["spec"]["fileStore"] = json!({"operatorManaged": {"storageSize": "7Gi"}});
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert_eq!(home["spec"]["minio"], json!({"storageSize": "7Gi"}));
}

/// Values kept of a form that an object no longer has do not appear in the other form.
#[test]
fn kept_data_stays_with_its_kind() {
    let minio = json!({"externalURL": "s3", "storageSize": "5Gi", "replicas": 4});
    let mut new = replaces(&installation(json!({"ingressName": "a", "minio": minio})), NEW, &Facts::default()).unwrap();
    new["spec"].as_object_mut().unwrap().remove("fileStore");
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert!(matches!(home["spec"].get("minio"), None | Some(Value::Object(_))), "{home}");
    assert!(home["spec"].get("minio").is_none_or(|minio| *minio == json!({})), "{home}");

    let minio = json!({"storageSize": "5Gi", "secret": "old"});
    let mut new = replaces(&installation(json!({"ingressName": "a", "minio": minio})), NEW, &Facts::default()).unwrap();
    new["spec"]["fileStore"]["external"] = json!({"url": "s3"});
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert_eq!(home["spec"]["minio"], json!({"externalURL": "s3", "storageSize": "5Gi"}));

    let database = json!({"secret": "db", "type": "mysql"});
    let old = installation(json!({"ingressName": "a", "database": database}));
    let new = replaces(&old, NEW, &facts("true")).unwrap();
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert_eq!(home["spec"]["database"], database);
    let again = replaces(&home, NEW, &facts("false")).unwrap();
    assert_eq!(again["spec"]["database"], json!({"operatorManaged": {"type": "mysql"}}));
}

/// A ClusterInstallation treats 0 replicas as unset, so 0 replicas become another number there.
#[test]
fn zero_replicas_differ_from_absent() {
    let mut new = replaces(&installation(json!({"ingressName": "a"})), NEW, &Facts::default()).unwrap();
    new["spec"]["replicas"] = json!(0);
    let home = replaces(&new, OLD, &Facts::default()).unwrap();
    assert_eq!(home["spec"]["replicas"], json!(-1));
    assert_eq!(replaces(&home, NEW, &Facts::default()).unwrap()["spec"]["replicas"], json!(0));
}

/// An object without a name still gets its name from the API server; its status may fail the conversion.
#[test]
fn names_parts_are_carried() {
    let mut old = installation(json!({"ingressName": "a"}));
    old["metadata"] = json!({"generateName": "chat-", "namespace": "talk"});
    assert_eq!(replaces(&old, NEW, &Facts::default()).unwrap()["metadata"], old["metadata"]);
    let refuse = "  - when: {field: status.state, is: reconciling}\n    message: wait until it is stable\n  facts:\n";
    let kind = load(&DEFINITION.replacen("  facts:\n", refuse, 1)).unwrap_or_else(|error| panic!("{error}"));
    let webhook = Webhook::new(vec![kind], Metadata::Full).unwrap();
    old["status"] = json!({"state": "reconciling"});
    let refused = webhook.convert_kind(&old.to_string(), NEW, &Facts::default()).unwrap_err();
    assert_eq!(refused.to_string(), "wait until it is stable");
}

#[test]
fn bad_replacement_names_its_line() {
    let said = |from: &str, to: &str| {
        assert!(DEFINITION.contains(from), "{from}");
        load(&DEFINITION.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let line = |text: &str| DEFINITION.lines().position(|line| line.contains(text)).unwrap() + 1;
    for (from, to, message) in [
        ("version: v1alpha1", "version: v1", "the CRD has no version \"v1\"; known versions: v1alpha1"),
        ("to: v1beta1", "to: v2", "the CRD has no version \"v2\"; known versions: v1beta1"),
        ("clusterinstallations.crd.yaml", "mattermosts.crd.yaml", "cannot replace itself"),
        ("fact: externalDatabase", "fact: externalDatabas", "did you mean \"externalDatabase\"?"),
        ("spec.blueGreen.enable, is", "spec.blueGreen.enabled, is", "the replaced kind has no \"enabled\" there"),
        ("secret: spec.database.secret", "secret: spec.database.secrets", "has no \"secrets\" there"),
        ("set: true", "set: true\n      is: x", "when: needs one of"),
        ("fact: externalDatabase\n", "fact: externalDatabase\n      is: maybe\n", "can never be \"maybe\""),
        (
            "  - clamp: {field: spec.replicas, min: 0, unset: [0], older: -1}\n",
            "  - clamp: {field: spec.replicas, min: 0, unset: [0]}\n",
            "is a valid value of the newer version: set its number in the older version with `older`",
        ),
        (
            "  - clamp: {field: spec.replicas, min: 0, unset: [0], older: -1}\n",
            "  - when: {fact: externalDatabase, operations: [clamp: {field: spec.replicas, min: 0}]}\n",
            "spec.replicas stays in place: without the condition, its value would be lost",
        ),
        (
            "  - drop: spec.migrate\n",
            "  - drop: spec.migrate\n  - when: {fact: externalDatabase, operations: [each: {in: spec.mattermostEnv, operations: []}]}\n",
            "put the `when` inside of the `each`",
        ),
        (
            "      - move: {from: spec.minio.externalBucket, to: spec.fileStore.external.bucket}\n",
            "      - when: {field: spec.minio.externalURL, is: \"\", operations: [move: {from: spec.minio.externalBucket, to: \
             spec.fileStore.external.bucket}]}\n",
            "no object can satisfy all conditions: spec.minio.externalURL is set, and",
        ),
        ("  - drop: spec.migrate\n", "", "spec.migrate: only the older version has the field"),
        ("  - add: spec.volumes\n", "", "spec.volumes: only the newer version has the field"),
        (
            "  - drop: spec.canary\n",
            "  - when: {fact: externalDatabase, operations: [drop: spec.canary]}\n",
            "move the operation out of the `when`",
        ),
    ] {
        let said = said(from, to);
        assert!(said.contains(message), "{message}\n{said}");
    }
    assert!(said("to: v1beta1", "to: v2").contains(&format!("mattermost.yaml:{}:", line("to: v1beta1"))));
    // Steps between versions have no facts.
    let steps = "steps:\n- {from: v1, to: v2, operations: [when: {fact: a, operations: [add: spec.x]}]}\n";
    let version = |name: &str, storage: bool, spec: Value| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": {"type": "object", "properties": spec}}}}})
    };
    let crd = json!({"kind": "CustomResourceDefinition", "spec": {"group": "example.com",
        "names": {"kind": "Boat", "plural": "boats"},
        "versions": [version("v1", false, json!({})), version("v2", true, json!({"x": {"type": "string"}}))]}});
    let head = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: boats.crd.yaml\n";
    let refused = Kind::from_crd(&format!("{head}{steps}"), &crd.to_string()).unwrap_err().to_string();
    assert!(refused.contains("is a fact, and conversion requests contain only the object"), "{refused}");
}
