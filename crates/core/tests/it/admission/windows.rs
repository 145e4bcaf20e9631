//! Allowed upgrade paths: Materialize's window of images and Elasticsearch's path, compared with oracles based on the
//! operators' own rules.

use pointsman_core::webhook::{Endpoint, Enforcement, Webhook};
use semver::Version;
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::{elasticsearch, embedded, plain, with};

/// The operator's own rule: a tag must start with `v`, `--` means `+`; an image without a version is always allowed. No
/// downgrades. From 26 on one major version at a time; from 0.x one minor version at a time. Exceptions: 0.130 to
/// 0.147, and to 26 only from 0.147.20 on or 0.164 on.
fn window(active: &str, next: &str) -> bool {
    let tag = |image: &str| {
        let (_, tag) = image.rsplit_once(':')?;
        let mut version = Version::parse(&tag.strip_prefix('v')?.replace("--", "+")).ok()?;
        version.build = semver::BuildMetadata::EMPTY;
        Some(version)
    };
    let (Some(active), Some(next)) = (tag(active), tag(next)) else {
        return true;
    };
    if next < active {
        return false;
    }
    match (active.major, next.major) {
        (0, 0) => (active.minor, next.minor) == (130, 147) || next.minor <= active.minor + 1,
        (0, 26) => active.minor >= 164 || (active.minor == 147 && active.patch >= 20),
        (0, _) => false,
        _ => next.major <= active.major + 1,
    }
}

fn upgraded(webhook: &Webhook, version: &str, active: &str, next: &str) -> Answer {
    let old = json!({
        "apiVersion": format!("materialize.cloud/{version}"), "kind": "Materialize", "metadata": {"name": "m"},
        "spec": {"environmentdImageRef": active, "backendSecretName": "s"},
        "status": {"lastCompletedRolloutEnvironmentdImageRef": active},
    });
    let new = with(&old, "/spec/environmentdImageRef", json!(next));
    ask(webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)))
}

/// Image tags: releases, release candidates, builds, and texts without a version.
const TAGS: &[&str] = &[
    "v0.26.0",
    "v0.27.0",
    "v0.128.0",
    "v0.130.0",
    "v0.130.9",
    "v0.131.0",
    "v0.146.3",
    "v0.147.0",
    "v0.147.19",
    "v0.147.20-rc.1",
    "v0.147.20",
    "v0.147.21--dev.1",
    "v0.148.0",
    "v0.163.9",
    "v0.164.0-dev.0",
    "v0.164.0",
    "v0.165.0",
    "v0.999.0",
    "v26.0.0-rc.1",
    "v26.0.0-rc.2",
    "v26.0.0-dev.0--main.gabc",
    "v26.0.0",
    "v26.0.0--one",
    "v26.0.0--two",
    "v26.12.3",
    "v27.0.0-rc.1",
    "v27.0.0",
    "v27.4.1",
    "v28.0.0-alpha.1",
    "v28.0.0",
    "latest",
    "26.0.0",
    "v26",
    "v26.0",
    "unstable-abc",
    "v0.147.20--dev--x",
    "vv26.0.0",
    "",
];

const UNTAGGED: &[&str] = &[
    "materialize/environmentd",
    "localhost:5000/environmentd",
    "localhost:5000/mz/environmentd:v26.1.0",
    "mz@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
];

#[test]
fn image_upgrades_follow_the_operator() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let images = TAGS.iter().map(|tag| format!("materialize/environmentd:{tag}"));
    let images: Vec<String> = images.chain(UNTAGGED.iter().map(ToString::to_string)).collect();
    let (mut pairs, mut refused) = (0, 0);
    for active in &images {
        for next in &images {
            // Allowed upgrades are tested in both versions; one version is enough for refusals.
            let versions = ["v1alpha2", "v1alpha1"].into_iter();
            for version in versions.take(if window(active, next) && active != next { 2 } else { 1 }) {
                let answer = upgraded(&webhook, version, active, next);
                assert_eq!(answer.allowed, window(active, next), "{active} to {next}: {answer:?}");
                pairs += 1;
                refused += u32::from(!answer.allowed);
                if !answer.allowed {
                    assert_eq!(answer.causes[0].0, "spec.environmentdImageRef");
                }
            }
        }
    }
    println!("{pairs} pairs, {refused} refused");
    assert!(pairs > 2_000 && refused > 500);
}

#[test]
fn denials_name_an_allowed_next_hop() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    for (active, next, hop) in [
        ("v0.130.0", "v26.0.0", Some("0.147.20")),
        ("v0.147.19", "v26.0.0", Some("0.147.20")),
        ("v26.3.0", "v28.0.0", Some("27.0.0")),
        ("v0.128.0", "v0.130.0", Some("0.129.0")),
        ("v26.1.0", "v26.0.0", None),
    ] {
        let image = |tag: &str| format!("materialize/environmentd:{tag}");
        let answer = upgraded(&webhook, "v1alpha2", &image(active), &image(next));
        let (from, to) = (&active[1..], &next[1..]);
        let words = match hop {
            Some(hop) => format!("no upgrade from {from} to {to} is allowed; first move to {hop}"),
            None => format!("no downgrade from {from} to {to} is allowed, and no path over other versions is known"),
        };
        assert!(answer.message.ends_with(&words), "{}", answer.message);
        if let Some(hop) = hop {
            assert!(window(&image(active), &image(&format!("v{hop}"))));
        }
    }
}

#[test]
fn upgrades_start_from_the_running_version() {
    let webhook = plain(embedded("materialize"), Enforcement::Enforce);
    let object = |image: &str, status: Value| {
        json!({"apiVersion": "materialize.cloud/v1alpha2", "kind": "Materialize", "metadata": {"name": "m"},
            "spec": {"environmentdImageRef": format!("mz:{image}"), "backendSecretName": "s"}, "status": status})
    };
    let judge = |old: &Value, new: &Value| ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(old), Some(new)));
    // Nothing has run yet: a mistyped image may be corrected to any image.
    for nothing in [
        Value::Null,
        json!({}),
        json!({"lastCompletedRolloutEnvironmentdImageRef": null}),
        json!({"lastCompletedRolloutEnvironmentdImageRef": ""}),
    ] {
        assert!(judge(&object("v29.0.0", nothing.clone()), &object("v26.0.0", nothing)).allowed);
    }
    let running = json!({"lastCompletedRolloutEnvironmentdImageRef": "mz:v26.0.0"});
    // An upgrade that has not happened may be reverted, regardless of its distance.
    assert!(judge(&object("v27.0.0", running.clone()), &object("v26.0.0", running.clone())).allowed);
    assert!(!judge(&object("v26.0.0", running.clone()), &object("v28.0.0", running.clone())).allowed);
    // The status in an update is not the running version: a manifest has no status.
    assert!(!judge(&object("v26.0.0", running.clone()), &object("v28.0.0", Value::Null)).allowed);
    let lie = json!({"lastCompletedRolloutEnvironmentdImageRef": "mz:v27.9.0"});
    assert!(!judge(&object("v26.0.0", running.clone()), &object("v28.0.0", lie.clone())).allowed);
    // A status change under an unchanged image is not refused.
    let moved = judge(&object("v26.0.0", running), &object("v26.0.0", lie));
    assert!(moved.allowed, "{moved:?}");
}

/// Elastic's operator: no downgrade of the desired version without the annotation. A major version requires the last
/// minor version before it. The running version is the lowest version of the cluster, or the desired version if
/// unknown.
fn elastic(status: &str, before: &str, wanted: &str, back: bool) -> bool {
    let read = |text: &str| Version::parse(text).ok();
    let (Some(before), Some(wanted)) = (read(before), read(wanted)) else {
        return true;
    };
    let running = read(status).unwrap_or_else(|| before.clone());
    if (wanted < before || wanted < running) && !back {
        return false;
    }
    let least = match wanted.major {
        7 => Version::new(7, 0, 0),
        8 => Version::new(7, 17, 0),
        9 => Version::new(8, 18, 0),
        _ => return wanted <= running,
    };
    running >= least
}

#[test]
fn elasticsearch_follows_its_upgrade_path() {
    let webhook = plain(elasticsearch(), Enforcement::Enforce);
    let versions = [
        "6.8.23", "7.0.0", "7.16.3", "7.17.0", "7.17.29", "8.0.0", "8.17.9", "8.18.0", "8.19.3", "9.0.0", "9.2.1",
        "10.0.0",
    ];
    let (mut pairs, mut refused) = (0, 0);
    for status in ["", "7.16.3", "7.17.29", "8.17.9", "8.18.0", "9.0.0"] {
        for before in versions {
            for wanted in versions {
                for back in [None, Some("true"), Some("false")] {
                    let mut old = json!({"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch", "metadata": {"name": "e"},
                        "spec": {"version": before}, "status": {"version": status}});
                    if let Some(back) = back {
                        old["metadata"]["annotations"] =
                            json!({"eck.k8s.elastic.co/disable-downgrade-validation": back});
                    }
                    let new = with(&old, "/spec/version", json!(wanted));
                    let answer = ask(&webhook, Endpoint::Validate, &review("UPDATE", Some(&old), Some(&new)));
                    let expected = before == wanted || elastic(status, before, wanted, back == Some("true"));
                    assert_eq!(answer.allowed, expected, "{status:?} runs, {before} to {wanted}, {back:?}: {answer:?}");
                    pairs += 1;
                    refused += u32::from(!answer.allowed);
                }
            }
        }
    }
    println!("{pairs} combinations, {refused} refused");
    assert!(pairs > 2_000 && refused > 500);
}
