//! Our definition converts a ClusterInstallation like the operator of Mattermost, field by field. The expected result
//! is restated here from `ConvertToMM` of its commit 07a736bb (`mattermost-operator
//! controllers/mattermost/clusterinstallation/conversion.go`).

use pointsman_core::definition::Kind;
use pointsman_core::laws::{Dictionary, Make, ObjectSource};
use pointsman_core::webhook::{Facts, Metadata, OtherKind, ReplaceError, Webhook};
use serde_json::{Map, Value, json};

const NEW: OtherKind<'_> = OtherKind { group: "installation.mattermost.com", kind: "Mattermost", version: None };

fn mattermost() -> Kind {
    let file = |name: &str| {
        std::fs::read_to_string(format!("{}/../../examples/kinds/mattermost/{name}", env!("CARGO_MANIFEST_DIR")))
    };
    let text = file("mattermost.yaml").unwrap();
    Kind::load("mattermost.yaml", &text, &mut |name| file(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// True if that operator accepts the object.
fn is_taken(spec: &Value) -> bool {
    ["blueGreen", "canary"].iter().all(|form| spec[form]["enable"] != true)
}

/// That operator's result for a spec, with an external database or without.
fn theirs(spec: &Value, is_external: bool) -> Value {
    const SAME: [&str; 13] = [
        "size",
        "image",
        "version",
        "mattermostEnv",
        "ingressName",
        "ingressAnnotations",
        "useIngressTLS",
        "useServiceLoadBalancer",
        "serviceAnnotations",
        "resourceLabels",
        "imagePullPolicy",
        "elasticSearch",
        "replicas",
    ];
    let named = |of: &Value, names: &[&str]| -> Map<String, Value> {
        let all = names.iter().filter_map(|name| Some(((*name).to_owned(), of.get(*name)?.clone())));
        all.filter_map(|(name, value)| Some((name.clone(), if name == "replicas" { replicas(&value)? } else { value })))
            .collect()
    };
    let mut made = named(spec, &SAME);
    made.insert("licenseSecret".to_owned(), spec["mattermostLicenseSecret"].clone());
    made.insert("scheduling".to_owned(), named(spec, &["resources", "nodeSelector", "affinity"]).into());
    made.insert("probes".to_owned(), named(spec, &["livenessProbe", "readinessProbe"]).into());
    let minio = &spec["minio"];
    let store = if is_set(&minio["externalURL"]) {
        json!({"external": {"url": minio["externalURL"], "bucket": minio["externalBucket"], "secret": minio["secret"]}})
    } else {
        json!({"operatorManaged": named(minio, &["storageSize", "replicas", "resources"])})
    };
    made.insert("fileStore".to_owned(), store);
    let database = &spec["database"];
    let database = if is_set(&database["secret"]) && is_external {
        json!({"external": {"secret": database["secret"]}})
    } else {
        const OWN: [&str; 11] = [
            "type",
            "storageSize",
            "replicas",
            "resources",
            "initBucketURL",
            "backupSchedule",
            "backupURL",
            "backupRemoteDeletePolicy",
            "backupSecretName",
            "backupRestoreSecretName",
            "version",
        ];
        json!({"operatorManaged": named(database, &OWN)})
    };
    made.insert("database".to_owned(), database);
    made.into()
}

fn is_set(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.is_empty())
}

/// `None` if a ClusterInstallation sets no count.
fn replicas(count: &Value) -> Option<Value> {
    count.as_i64().filter(|count| *count != 0).map(|count| json!(count.max(0)))
}

/// Removes values that Go omits, because its structs do not distinguish them.
fn as_go_says(value: Value) -> Value {
    let is_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, as_go_says(value)));
            Value::Object(members.filter(|(_, value)| !is_nothing(value)).collect())
        }
        Value::Array(items) => items.into_iter().map(as_go_says).collect(),
        other => other,
    }
}

#[test]
fn installations_convert_like_their_operator() {
    let versions = mattermost().take_conversion().unwrap().into_versions();
    let (webhook, words) = (Webhook::new(vec![mattermost()], Metadata::Full).unwrap(), Dictionary::default());
    let older = versions.versions().next().unwrap().to_owned();
    let source = ObjectSource::new(&versions, &older, &words).unwrap();
    let (mut alike, mut refused) = (0, 0);
    for seed in 0..600 {
        // A number too large for all of its fields never reaches that operator.
        let made = serde_json::from_str::<Value>(&source.make(Make::Pruned, &webhook, seed).to_text());
        let Ok(made) = made else { continue };
        let spec = made["spec"].clone();
        let object = json!({
            "apiVersion": "mattermost.com/v1alpha1", "kind": "ClusterInstallation",
            "metadata": {"name": "chat", "namespace": "talk"}, "spec": spec,
        });
        for is_external in [true, false] {
            let facts: Facts = [("externalDatabase", if is_external { "true" } else { "false" })].into_iter().collect();
            match webhook.convert_kind(&object.to_string(), NEW, &facts) {
                Ok((converted, _)) => {
                    assert!(is_taken(&spec), "seed {seed}: {spec:#}");
                    let ours: Value = serde_json::from_str(&converted.text).unwrap();
                    let [ours, theirs] = [ours["spec"].clone(), theirs(&spec, is_external)].map(as_go_says);
                    assert_eq!(ours, theirs, "seed {seed}, externalDatabase={is_external}: {spec:#}");
                    alike += 1;
                }
                Err(ReplaceError::Refused { message }) => {
                    assert!(!is_taken(&spec), "seed {seed}: {message}: {spec:#}");
                    refused += 1;
                }
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
    }
    assert!(alike > 300 && refused > 30, "{alike} alike, {refused} refused");
}
