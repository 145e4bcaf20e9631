//! An object that changes its controller version: the old version may refuse the change, and so may the new version.

use pointsman_core::webhook::{Endpoint, Flip, Settings};
use serde_json::{Value, json};

use super::apiserver::{ask, review};
use super::matrix::{A, B, MALFORMED, UNKNOWN, labelled};
use super::{data, embedded, gadget, load, serving, version, with};

#[test]
fn flips_are_refused_during_promotion() {
    let controllers = |own: &str| {
        serving(
            embedded("materialize"),
            Some(own),
            Settings { served: vec![version(A), version(B)], ..Settings::default() },
        )
    };
    let promoting: Value = serde_saphyr::from_str(&data("fixtures/rollout-promoting.yaml")).unwrap();
    let settled: Value = serde_saphyr::from_str(&data("fixtures/rollout-completed.yaml")).unwrap();
    let label = "/metadata/labels/materialize.cloud~1controller-version";
    for (object, may) in [(promoting, false), (settled, true)] {
        let (old, new) = (with(&object, label, json!(A)), with(&object, label, json!(B)));
        let left = ask(&controllers(A), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
        assert_eq!(left.allowed, may, "{left:?}");
        assert_eq!(left.flip, Some(if may { Flip::Left } else { Flip::LeaveRefused }));
        if !may {
            assert_eq!(left.code, 422);
            assert_eq!(left.causes[0].0, "metadata.labels[materialize.cloud/controller-version]");
            assert!(left.message.contains("2.16.0 is promoting this object: wait until the rollout is completed"));
        }
        let entered = ask(&controllers(B), Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
        // Both servers are called at the same time. An object that A refuses has not entered B, and A counts the
        // refusal.
        assert_eq!((entered.allowed, entered.flip), (true, may.then_some(Flip::Entered)));
        // Other changes of an object during a promotion are checked by the rules, independent of the label.
        assert!(
            ask(
                &controllers(A),
                Endpoint::Validate,
                &review("UPDATE", Some(&old), Some(&with(&old, "/metadata/labels/x", json!("y"))))
            )
            .allowed
        );
    }
}

#[test]
fn flips_off_the_path_are_refused() {
    let c = "2.18.0";
    let base = gadget("v2", &json!({"replicas": 2}));
    let flip = |own: &str, served: &[&str], old: &str, new: &str, more: fn(&Value) -> Value| {
        let settings = Settings { served: served.iter().map(|text| version(text)).collect(), ..Settings::default() };
        let webhook = serving(load("gadgets.yaml"), Some(own), settings);
        let (old, new) = (more(&labelled(&base, Some(old))), more(&labelled(&base, Some(new))));
        ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)))
    };
    let same = |object: &Value| object.clone();
    let far = flip(c, &[A, B, c], A, c, same);
    assert_eq!((far.allowed, far.flip, far.code), (false, Some(Flip::EnterRefused), 422));
    assert_eq!(
        far.message,
        "Gadget.example.com \"g\" is invalid: metadata.labels[example.com/managed-by-version]: Invalid value: \"2.18.0\": \
         no upgrade from 2.16.0 to 2.18.0 is allowed; first move to 2.17.0"
    );
    // A to B and back to A: 2.17.0 allows a downgrade to 2.16.0. 2.18.0 allows none.
    assert!(flip(B, &[A, B], A, B, same).allowed);
    assert!(flip(A, &[A, B], B, A, same).allowed);
    let back = flip(B, &[A, B, c], c, B, same);
    assert!(!back.allowed && back.message.contains("no downgrade from 2.18.0 to 2.17.0"), "{}", back.message);
    // The opt-out annotation turns the refusal into a warning.
    let out = flip(c, &[A, B, c], A, c, |object| {
        with(object, "/metadata/annotations/example.com~1any-controller", json!("true"))
    });
    assert!(out.allowed && out.warnings[0].contains("not enforced because of annotation example.com/any-controller"));
    // A version without a server is no starting version: its objects are adopted.
    assert!(flip(B, &[A, B], UNKNOWN, B, same).allowed, "repair from an unknown version");
    assert!(flip(B, &[], UNKNOWN, B, same).allowed, "the upgrade path alone allows a repair");
    assert!(flip(B, &[A, B], MALFORMED, B, same).allowed);
    assert!(flip(B, &[A, B], "", B, same).allowed);
    // Versions are compared as text: another spelling is another version without a server.
    assert!(flip(B, &[A, B], "v2.17.0", B, same).allowed);
}
