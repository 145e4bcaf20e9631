use serde_json::json as value;
use tempfile::TempDir;

use super::*;
use crate::browser::opened;

fn widgets(count: usize) -> Vec<u8> {
    let items = (0..count).map(|index| {
        value!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": { "name": format!("w{index}"), "namespace": "n" },
            "spec": { "hostPort": format!("host-{index}.example:80") },
        })
    });
    value!({ "apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>() }).to_string().into_bytes()
}

#[test]
fn plan_counts_round_trips_and_losses() {
    let kinds = ["--kinds", "tests/data/kinds"];
    let fine = with_stdin(&[&["plan", "-o", "json"][..], &kinds].concat(), &widgets(3));
    let report = json(&fine.data());
    assert_eq!(
        (&report["objects"], &report["counts"]["lost"], &report["counts"]["refused"]),
        (&value!(3), &value!(0), &value!(0))
    );
    assert_eq!(report["coldCache"]["conversions"], 3);
    assert_eq!((&report["items"][0]["findings"], &report["verdict"]), (&value!([]), &value!("ok")));
    let text = with_stdin(&[&["plan"][..], &kinds].concat(), &widgets(3)).data();
    assert!(text.starts_with("OK: 3 objects converted and back without loss\nsize of"), "{text}");

    // The object was stored before its schema, which requires a string.
    let answer = with_stdin(&[&["plan"][..], &kinds].concat(), widget("7").as_bytes());
    assert_eq!(answer.code, 1, "{}", answer.stdout);
    assert!(answer.stdout.contains("\n       1 change in a round trip (data loss)\n"), "{}", answer.stdout);
    assert!(answer.stdout.starts_with("NOT SAFE: conversion fails or loses a value for 1 of 1 object\n"));
    // Each line fits a terminal. Totals of 0 are in the wide output.
    let wide = with_stdin(&[&["plan", "-o", "wide"][..], &kinds].concat(), widget("7").as_bytes());
    let counts: Vec<&str> = wide.stdout.lines().filter(|line| line.starts_with("      ")).collect();
    assert!(counts.len() > 4 && counts.iter().all(|line| line.len() <= 80), "{counts:#?}");
    let lost = "\nw        v2   lost      spec.hostPort: 7 returns as absent\n";
    assert!(answer.stdout.contains(lost), "{}", answer.stdout);
    assert!(answer.stdout.contains("\nw        -    invalid   spec.hostPort "), "{}", answer.stdout);

    let answer = with_stdin(&[&["plan"][..], &kinds].concat(), widget("1e999").as_bytes());
    assert_eq!(answer.code, 1, "{}", answer.stdout);
    assert!(answer.stdout.contains("\n       1 cannot be converted: "), "{}", answer.stdout);
}

/// The model of the API server makes an empty list of the map. `convert` and `validate` refuse the object.
#[test]
fn plan_refuses_like_convert() {
    let object =
        r#"{"apiVersion":"example.com/v1alpha1","kind":"Proxy","metadata":{"name":"p"},"spec":{"routes":{"a":1}}}"#;
    for command in [&["plan"][..], &["convert", "--to", "v1beta1"], &["validate"]] {
        let args = [command, &["--kinds", "tests/data/kinds"]].concat();
        assert_eq!(with_stdin(&args, object.as_bytes()).code, 1, "{command:?}");
    }
}

fn widget(port: &str) -> String {
    let head = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}"#;
    format!("{head},\"spec\":{{\"hostPort\":{port}}}}}")
}

#[test]
fn plan_runs_controller_validation() {
    let object = read("tests/data/fixtures/v1alpha2-force-rollout.yaml");
    let args = ["plan", "-o", "json"];
    let without = json(&with_stdin(&args, object.as_bytes()).data());
    assert_eq!(without["controllerVersion"], Value::Null);
    let with = json(&with_stdin(&[&args[..], &["--controller-version", "2.17.0"]].concat(), object.as_bytes()).data());
    assert_eq!(with["controllerVersion"], "2.17.0");
    let judged = with_stdin(&["validate", "--as-flip", "--controller-version", "2.17.0"], object.as_bytes());
    assert_eq!(with["counts"]["denied"], u64::from(judged.code == 1));
}

#[test]
fn a_stale_stamp_is_a_rollout() {
    let stamped = pointsman(&["mutate", "-f", "manifests/examples/v1alpha2.yaml", "-o", "json"]).data();
    let mut object = yaml(&read("manifests/examples/v1alpha2.yaml"));
    for operation in json(&stamped)["patch"].as_array().unwrap() {
        if let Some(key) = operation["path"].as_str().unwrap().strip_prefix("/metadata/annotations/") {
            object["metadata"]["annotations"][key.replace("~1", "/")] = operation["value"].clone();
        }
    }
    let rollouts = |object: &Value| json(&with_stdin(&["plan", "-o", "json"], object.to_string().as_bytes()).data());
    assert_eq!(rollouts(&object)["counts"]["rollouts"], 0);
    object["spec"]["environmentdImageRef"] = "materialize/environmentd:v99.0.0".into();
    let report = rollouts(&object);
    assert_eq!(report["counts"]["rollouts"], 1, "{report}");
    assert_eq!(report["items"][0]["findings"][0]["what"], "rollouts");
}

#[test]
fn html_plan_is_self_contained() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("objects.json");
    std::fs::write(&file, widgets(10_000)).unwrap();
    let page = pointsman(&["plan", "--kinds", "tests/data/kinds", "-f", file.to_str().unwrap(), "-o", "html"]).data();
    assert_eq!(page.matches("<th scope=\"row\">n/w").count(), 10_000);
    assert!(page.contains("<title>Conversion plan: 10000 objects</title>"));
    for elsewhere in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
}

/// With Chromium: the fragment of the URL is the search text, so a link can select objects of a page.
#[test]
fn html_plan_searches_in_browser() {
    let directory = TempDir::new().unwrap();
    let (file, page) = (directory.path().join("objects.json"), directory.path().join("plan.html"));
    std::fs::write(&file, widgets(10_000)).unwrap();
    let plan = pointsman(&["plan", "--kinds", "tests/data/kinds", "-f", file.to_str().unwrap(), "-o", "html"]).data();
    std::fs::write(&page, plan).unwrap();
    let Some(shown) = opened(&format!("file://{}#n/w9999", page.display())) else { return };
    assert!(shown.contains(">1 of 10000 objects<"), "{shown}");
    assert_eq!(shown.matches("<tr data-state=\"fine\" hidden=\"\">").count(), 9_999);
    assert!(shown.contains("<p class=\"verdict good\">OK: 10000 objects"), "{shown}");
    assert!(shown.contains("<option value=\"fine\">fine (10000)</option>"), "{shown}");
}

#[test]
fn unrelated_plan_is_reported() {
    let other = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#;
    let error = with_stdin(&["plan"], other).refusal(1);
    assert!(error.contains("no definition of v1 ConfigMap; known kinds:"), "{error}");
    let mixed = pointsman(&["plan", "-f", "manifests/examples"]);
    assert_eq!((mixed.code, mixed.stderr.as_str()), (0, "1 object of other kinds passed over\n"));
    let error = pointsman(&["plan", "materialize", "--to", "v1alpah2", "--kubeconfig", "gone"]).refusal(2);
    assert!(error.contains("did you mean \"v1alpha2\"?"), "{error}");
}
