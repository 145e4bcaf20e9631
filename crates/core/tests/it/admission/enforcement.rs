//! The three modes, and the format of their messages.

use pointsman_core::webhook::{Endpoint, Enforcement, Settings};
use serde_json::json;

use super::apiserver::{ask, review};
use super::{gadget, load, plain, serving, version, with};

#[test]
fn audit_counts_warn_warns_enforce_denies() {
    let old = gadget("v1", &json!({"copies": 2, "level": "0"}));
    let new = with(&with(&old, "/spec/copies", json!(9)), "/spec/hostPort", json!("h:0"));
    let ask =
        |mode| ask(&plain(load("gadgets.yaml"), mode), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
    let (audit, warn, enforce) = (ask(Enforcement::Audit), ask(Enforcement::Warn), ask(Enforcement::Enforce));
    let about =
        |warnings: &[String]| warnings.iter().filter(|warning| warning.contains("spec.")).cloned().collect::<Vec<_>>();

    assert!(!enforce.allowed);
    assert_eq!((enforce.count("deny"), enforce.count("would_deny"), enforce.causes.len()), (2, 0, 2));
    assert!(enforce.audit.is_null());
    assert!(
        enforce.warnings.iter().any(|warning| warning.starts_with("this change starts a rollout")),
        "warnings travel with a denial"
    );

    assert!(audit.allowed);
    assert_eq!((audit.count("deny"), audit.count("would_deny")), (0, 2));
    assert!(about(&audit.warnings).is_empty(), "{:?}", audit.warnings);
    let text = "spec.copies: Invalid value: 9: must be less than or equal to 3";
    assert!(audit.audit["would-deny"].as_str().unwrap().contains(text), "{}", audit.audit);

    assert!(warn.allowed);
    assert_eq!((warn.count("deny"), warn.count("would_deny")), (0, 2));
    assert!(about(&warn.warnings).contains(&format!("not enforced yet: {text}")), "{:?}", warn.warnings);
    assert!(warn.audit["would-deny"].as_str().unwrap().contains(text));
    for verdict in enforce.verdicts.iter().chain(&audit.verdicts).chain(&warn.verdicts) {
        assert_eq!(&*verdict.kind, "gadget");
        let (rule, field) = verdict.rule.split_once(':').unwrap_or((&verdict.rule, "spec"));
        assert!(!rule.is_empty() && field.starts_with("spec"), "no label from user data: {}", verdict.rule);
    }
}

#[test]
fn hostile_values_do_not_break_answers() {
    let long = "\u{1F682}\r\n\t\u{85}\u{7f}\"".repeat(200);
    let old = gadget(
        "v1",
        &json!({"release": "1.0.0", "certificate": {"secretName": "s", "issuer": {"name": "i"}, "renewal": "1h"}}),
    );
    let mut new = with(&with(&old, "/spec/certificate/renewal", json!(long)), "/metadata/name", json!(long));
    new["spec"][&long] = json!(long);
    new["metadata"]["annotations"] = json!({"example.com/force": long});
    for mode in [Enforcement::Audit, Enforcement::Warn, Enforcement::Enforce] {
        // `ask` checks the format of every response.
        let answer =
            ask(&plain(load("gadgets.yaml"), mode), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
        assert_eq!(answer.allowed, mode != Enforcement::Enforce);
        let later = with(&new, "/spec/release", json!("1.1.0"));
        assert!(
            ask(&plain(load("gadgets.yaml"), mode), Endpoint::Validate, &review("UPDATE", Some(&new), Some(&later)))
                .allowed
        );
    }
}

#[test]
fn shadow_mode_only_counts() {
    let label = "/metadata/labels";
    let managed = |by: &str| json!({"example.com/managed-by-version": by});
    // Fewer than two copies are valid for 2.16, and too few for 2.17.
    let few = with(&gadget("v1", &json!({"copies": 1})), label, managed("2.16.0"));
    for enforcement in [Enforcement::Audit, Enforcement::Enforce, Enforcement::Warn] {
        let ask = |shadowed: &[&str], object: &serde_json::Value| {
            let settings = Settings {
                enforcement,
                shadowed: shadowed.iter().map(|text| version(text)).collect(),
                ..Settings::default()
            };
            let webhook = serving(load("gadgets.yaml"), Some("2.17.0"), settings);
            ask(&webhook, Endpoint::Validate, &review("CREATE", None, Some(object)))
        };
        let looked = ask(&["2.16.0"], &few);
        assert!(looked.allowed, "{enforcement:?}");
        assert_eq!(looked.count("would_deny"), 1);
        assert!(looked.warnings.is_empty(), "{:?}", looked.warnings);
        let told = looked.audit["would-deny"].as_str().unwrap();
        assert!(told.contains("spec.copies"), "{told}");
        assert_eq!(looked.flip, None);

        let good = ask(&["2.16.0"], &with(&few, "/spec/copies", json!(2)));
        assert!(good.allowed && good.verdicts.is_empty() && good.audit.is_null());

        // A configuration that sends other objects is wrong, and the response reports this.
        let away = ask(&["2.15.0"], &few);
        assert!(!away.allowed && away.message.contains("leads to the wrong server"), "{away:?}");
    }
}
