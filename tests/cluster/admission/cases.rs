//! Specs of Materialize that violate or touch a rule.

#![allow(clippy::too_many_lines, reason = "a table")]

use serde_json::{Value, json};

use crate::controllers::NIL;

/// Fields added to a valid spec, before and after an update. `None` before means a creation.
pub(crate) struct Case {
    pub(crate) before: Option<Value>,
    pub(crate) after: Value,
}

const ID: &str = "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77";
const OTHER: &str = "00c0ffee-7f2b-4b8e-9d55-2f6f3c1b0a77";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut created = |after: Value| cases.push(Case { before: None, after });
    for replicas in [json!(-1), json!(0), json!(1), json!(-2147483648), json!(null)] {
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
    let mut updated = |before: Value, after: Value| cases.push(Case { before: Some(before), after });
    for before in id_spellings() {
        for after in id_spellings() {
            updated(json!({"environmentId": before}), json!({"environmentId": after}));
        }
    }
    // Violations that existed before and stay unchanged.
    let bare = json!({"consoleExternalCertificateSpec": {"duration": "1d"}, "balancerdReplicas": -1});
    let with = |more: Value| {
        let mut spec = bare.clone();
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    updated(bare.clone(), bare.clone());
    updated(bare.clone(), with(json!({"consoleReplicas": 1})));
    updated(bare.clone(), with(json!({"consoleReplicas": -1})));
    updated(bare.clone(), with(json!({"balancerdReplicas": -2})));
    updated(bare.clone(), with(json!({"balancerdReplicas": 2})));
    updated(bare.clone(), with(json!({"consoleExternalCertificateSpec": {"duration": "2d"}})));
    updated(bare.clone(), with(json!({"consoleExternalCertificateSpec": {"duration": "1d", "renewBefore": "1h"}})));
    updated(
        bare.clone(),
        with(json!({"consoleExternalCertificateSpec": {"duration": "1d", "dnsNames": ["a"], "issuerRef": issuer}})),
    );
    updated(bare.clone(), with(json!({"consoleExternalCertificateSpec": {"duration": "1h", "dnsNames": ["a"]}})));
    updated(bare.clone(), with(json!({"consoleExternalCertificateSpec": null})));
    let none = json!({"consoleExternalCertificateSpec": null});
    updated(none.clone(), json!({"consoleExternalCertificateSpec": {"duration": "1h"}}));
    updated(json!({}), json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"]}}));
    let whole = json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"], "issuerRef": issuer}});
    updated(whole.clone(), json!({"consoleExternalCertificateSpec": {"dnsNames": ["a"]}}));
    updated(whole.clone(), json!({"consoleExternalCertificateSpec": {"dnsNames": [], "issuerRef": issuer}}));
    updated(whole.clone(), none);
    updated(whole, json!({}));
    cases
}

fn id_spellings() -> Vec<Value> {
    let more = [ID.to_uppercase(), ID.replace('-', ""), format!("urn:uuid:{ID}"), format!("{{{ID}}}")];
    let nil = [NIL.to_owned(), NIL.replace('-', "")];
    let all = [ID.to_owned(), OTHER.to_owned()].into_iter().chain(more).chain(nil);
    all.map(Value::from).chain([Value::Null]).collect()
}
