//! The rules that a CRD can say and the rules of /validate are the same: for each object both accept or both deny.

use serde_json::{Value, json};

use crate::controllers::NIL;
use crate::scenario::Scenario;
use crate::support::scene::{CRDS, JSON, Scene};
use crate::support::side_by_side::{A, SideBySide};
use hyper::Method;

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("the_schema_and_the_webhook_agree", agree)
        .materialize()
        .newest()];

/// What is added to a good spec, before an update and after it. Nothing before means a creation.
struct Case {
    before: Option<Value>,
    after: Value,
}

const ID: &str = "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77";
const OTHER: &str = "00c0ffee-7f2b-4b8e-9d55-2f6f3c1b0a77";

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut created = |after: Value| {
        cases.push(Case {
            before: None,
            after,
        })
    };
    for replicas in [
        json!(-1),
        json!(0),
        json!(1),
        json!(-2147483648),
        json!(null),
    ] {
        created(json!({"balancerdReplicas": replicas}));
        created(json!({"consoleReplicas": replicas}));
    }
    for id in id_spellings() {
        created(json!({"environmentId": id}));
    }
    let issuer = json!({"name": "ca", "kind": "Issuer"});
    let certificates = [
        json!({}),
        json!({"dnsNames": ["a.example.com"]}),
        json!({"issuerRef": issuer}),
        json!({"dnsNames": [], "issuerRef": issuer}),
        json!({"dnsNames": null, "issuerRef": issuer}),
        json!({"dnsNames": ["a.example.com"], "issuerRef": null}),
        json!({"dnsNames": ["a.example.com"], "issuerRef": {"name": ""}}),
        json!({"dnsNames": [""], "issuerRef": issuer}),
        json!({"dnsNames": ["a.example.com"], "issuerRef": issuer}),
        json!(null),
    ];
    for certificate in certificates {
        for field in ["balancerd", "console", "internal"] {
            let name = if field == "internal" {
                "internalCertificateSpec"
            } else {
                &format!("{field}ExternalCertificateSpec")
            };
            created(json!({name: certificate}));
        }
    }
    let durations = [
        "1d",
        "",
        "1h30m",
        "-5s",
        "0",
        "2160h",
        "1.5h",
        ".5h",
        "1.h",
        ".h",
        "+1h",
        "--1h",
        "1",
        "00",
        "0h",
        "h",
        "1h ",
        " 1h",
        "1H",
        "1µs",
        "1μs",
        "1ms2ns",
        "1h1h",
        "1..5h",
        "1,5h",
        "infinity",
        "1e3s",
        "9223372036s",
        "9999999999999999h",
        "\n1h",
        "1h\n",
    ];
    for duration in durations {
        for field in ["duration", "renewBefore"] {
            created(
                json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"], "issuerRef": issuer, field: duration}}),
            );
        }
    }
    let mut updated = |before: Value, after: Value| {
        cases.push(Case {
            before: Some(before),
            after,
        })
    };
    for before in id_spellings() {
        for after in id_spellings() {
            updated(
                json!({"environmentId": before}),
                json!({"environmentId": after}),
            );
        }
    }
    // What was wrong before and is left alone.
    let bare =
        json!({"consoleExternalCertificateSpec": {"duration": "1d"}, "balancerdReplicas": -1});
    let with = |more: Value| {
        let mut spec = bare.clone();
        spec.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        spec
    };
    updated(bare.clone(), bare.clone());
    updated(bare.clone(), with(json!({"consoleReplicas": 1})));
    updated(bare.clone(), with(json!({"consoleReplicas": -1})));
    updated(bare.clone(), with(json!({"balancerdReplicas": -2})));
    updated(bare.clone(), with(json!({"balancerdReplicas": 2})));
    updated(
        bare.clone(),
        with(json!({"consoleExternalCertificateSpec": {"duration": "2d"}})),
    );
    updated(
        bare.clone(),
        with(json!({"consoleExternalCertificateSpec": {"duration": "1d", "renewBefore": "1h"}})),
    );
    updated(
        bare.clone(),
        with(
            json!({"consoleExternalCertificateSpec": {"duration": "1d", "dnsNames": ["a"], "issuerRef": issuer}}),
        ),
    );
    updated(
        bare.clone(),
        with(json!({"consoleExternalCertificateSpec": {"duration": "1h", "dnsNames": ["a"]}})),
    );
    updated(
        bare.clone(),
        with(json!({"consoleExternalCertificateSpec": null})),
    );
    let none = json!({"consoleExternalCertificateSpec": null});
    updated(
        none.clone(),
        json!({"consoleExternalCertificateSpec": {"duration": "1h"}}),
    );
    updated(
        json!({}),
        json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"]}}),
    );
    let whole = json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"], "issuerRef": issuer}});
    updated(
        whole.clone(),
        json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"]}}),
    );
    updated(
        whole.clone(),
        json!({"consoleExternalCertificateSpec": {"dnsNames": [], "issuerRef": issuer}}),
    );
    updated(whole.clone(), none);
    updated(whole, json!({}));
    cases
}

fn id_spellings() -> Vec<Value> {
    let more = [
        ID.to_uppercase(),
        ID.replace('-', ""),
        format!("urn:uuid:{ID}"),
        format!("{{{ID}}}"),
    ];
    let nil = [NIL.to_owned(), NIL.replace('-', "")];
    let all = [ID.to_owned(), OTHER.to_owned()]
        .into_iter()
        .chain(more)
        .chain(nil);
    all.map(Value::from).chain([Value::Null]).collect()
}

/// Whether a write passed, and what was said.
type Verdict = (bool, String);

fn agree(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let with_rules = scene.printed_crd(&["--storage", old]);
    let without = scene.printed_crd(&["--storage", old, "--no-rules"]);
    assert_ne!(with_rules, without);
    scene.install(&without);
    let cases = cases();
    // What is there before is there before the rules.
    let mut known = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let taken = case.before.as_ref().is_none_or(|before| {
            ["schema", "webhook"].iter().all(|by| {
                [old, new].iter().all(|version| {
                    let object = object(scene, version, &name(by, version, number), before);
                    scene.create(version, &object).is_ok()
                })
            })
        });
        known.push(taken);
    }
    replace_crd(scene, &with_rules, false);
    let by_schema = write_all(scene, "schema", &cases, &known);
    replace_crd(scene, &without, true);
    let servers = SideBySide::start(scene, &[A], &[]);
    servers.register("none");
    let by_webhook = write_all(scene, "webhook", &cases, &known);
    let mut differing = Vec::new();
    let (mut accepted, mut denied) = (0, 0);
    for ((what, schema), (_, webhook)) in by_schema.iter().zip(&by_webhook) {
        if schema.0 == webhook.0 {
            if schema.0 { accepted += 1 } else { denied += 1 }
        } else {
            differing.push(format!(
                "{what}\n  schema:  {schema:?}\n  webhook: {webhook:?}"
            ));
        }
    }
    let left_out = known.iter().filter(|known| !**known).count();
    println!(
        "{accepted} accepted by both, {denied} denied by both, {left_out} that no schema takes"
    );
    assert!(
        differing.is_empty(),
        "{} of {} differ:\n{}",
        differing.len(),
        by_schema.len(),
        differing.join("\n")
    );
    assert!(accepted > 50 && denied > 50);
}

fn name(by: &str, version: &str, number: usize) -> String {
    format!("{by}-{version}-{number}")
}

fn object(scene: &Scene<'_>, version: &str, name: &str, more: &Value) -> Value {
    let mut object = scene.object(version, name);
    let spec = object["spec"].as_object_mut().unwrap();
    spec.remove("environmentId");
    spec.extend(more.as_object().unwrap().clone());
    object
}

fn write_all(
    scene: &Scene<'_>,
    by: &str,
    cases: &[Case],
    known: &[bool],
) -> Vec<(String, Verdict)> {
    let mut verdicts = Vec::new();
    for (number, case) in cases
        .iter()
        .enumerate()
        .filter(|(number, _)| known[*number])
    {
        for version in [scene.sample.old, scene.sample.new] {
            let name = name(by, version, number);
            let mut object = object(scene, version, &name, &case.after);
            let answer = match &case.before {
                None => scene.create(version, &object),
                Some(_) => {
                    object["metadata"]["resourceVersion"] =
                        scene.get(version, &name).ok()["metadata"]["resourceVersion"].clone();
                    scene.update(version, &name, &object)
                }
            };
            assert!(answer.is_ok() || answer.code == 422, "{}", answer.message());
            let before = case
                .before
                .as_ref()
                .map_or("created".to_owned(), |before| format!("{before} to"));
            verdicts.push((
                format!("{version} {before} {}", case.after),
                (answer.is_ok(), answer.message()),
            ));
        }
    }
    verdicts
}

/// Replaces the CRD, and waits until its rules are in force or no longer are.
fn replace_crd(scene: &Scene<'_>, crd: &Value, accepts: bool) {
    let path = format!("{CRDS}/{}", scene.crd_name());
    let mut crd = crd.clone();
    crd["metadata"]["resourceVersion"] =
        scene.call_get(&path)["metadata"]["resourceVersion"].clone();
    scene
        .call(Method::PUT, &path, Some((JSON, crd.to_string())))
        .ok();
    for version in [scene.sample.old, scene.sample.new] {
        let probe = object(scene, version, "probe", &json!({"balancerdReplicas": -1}));
        let path = format!("{}?dryRun=All", scene.all(version));
        scene.eventually(|| (scene.post(&path, &probe).is_ok() == accepts).then_some(()));
    }
}
