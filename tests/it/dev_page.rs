//! The page of `serve --dev`, with and without a browser.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::opened;
use crate::serve::Dev;

const KINDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kinds");

const WIDGET: &str = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {hostPort: 'a:080'}}";

fn dev(dir: &TempDir) -> (Dev, String) {
    let dev = Dev::start(dir.path(), &["--kinds", KINDS]);
    let page = dev.page();
    (dev, page)
}

fn curl(args: &[&str]) -> String {
    let output = Command::new("curl").args(["--silent", "--show-error"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn tried(page: &str, question: &Value) -> Value {
    let kind = "Content-Type: application/json";
    let answer = curl(&["-H", kind, "--data", &question.to_string(), &format!("{page}/try")]);
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn input_is_converted_explained_validated() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    let answer = tried(&page, &json!({"text": WIDGET, "to": "v2"}));
    let object = &answer["objects"][0];
    assert_eq!((&object["from"], &object["to"]), (&json!("v1"), &json!("v2")));
    let converted = object["converted"].as_str().unwrap();
    assert!(
        converted.contains("pointsman.dev/kept-v1") && converted.ends_with("  host: a\n  port: 80\n"),
        "{converted}"
    );
    let change =
        ["split", "spec.hostPort: \"a:080\"", "spec.host: \"a\", spec.port: 80", "kept for the conversion back"];
    assert_eq!(object["changes"], json!([change]));
    assert_eq!((&object["wayBack"], &object["validate"]), (&json!([]), &json!(["allowed"])));

    // An unknown version falls back to the next one; an object that the schema refuses is denied.
    let wrong = WIDGET.replace("'a:080'", "7");
    let answer = tried(&page, &json!({"text": format!("{WIDGET}\n---\n{wrong}"), "to": "v9"}));
    let judged = [0, 1].map(|index| answer["objects"][index]["validate"][0].clone());
    assert_eq!((&answer["objects"][0]["to"], judged), (&json!("v2"), [json!("allowed"), json!("denied")]));
}

#[test]
fn invalid_input_is_reported() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    for (question, said) in [
        (json!({"text": "a: b: c", "to": "v2"}), "input:1: document 1: "),
        (json!({"text": "{apiVersion: v1, kind: Pod}", "to": "v2"}), "no definition of v1 Pod"),
        (
            json!({"text": WIDGET.replace("/v1", "/v7"), "to": "v2"}),
            "\"v7\" is no version of Widget; known versions: v1, v2",
        ),
        (json!({"text": "just a text", "to": "v2"}), "not an object"),
        (json!([]), "not a question: "),
    ] {
        let answer = tried(&page, &question);
        let error = answer["errors"][0].as_str().unwrap();
        assert!(error.contains(said), "{error}");
        assert_eq!(answer["objects"], json!([]));
    }
    assert_eq!(tried(&page, &json!({"text": "", "to": ""})), json!({"objects": [], "errors": []}));
    let file = dir.path().join("large.json");
    fs::write(&file, json!({"text": "#".repeat((256 << 10) + 1), "to": "v2"}).to_string()).unwrap();
    let large = format!("@{}", file.display());
    let answer = curl(&["-H", "Content-Type: application/json", "--data", &large, &format!("{page}/try")]);
    assert!(answer.contains("input: at most 256 KiB of objects"), "{answer}");
    // At any depth.
    for depth in [60, 90, 127, 200, 10_000] {
        let deep = format!("spec: {}{}", "[".repeat(depth), "]".repeat(depth));
        let answer = tried(&page, &json!({"text": deep, "to": "v2"}));
        assert!(answer["errors"][0].is_string(), "{depth}: {answer}");
    }
}

/// Each kind has a sample object, and the sample converts.
#[test]
fn every_sample_can_be_tried() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    let answer: Value = serde_json::from_str(&curl(&[&format!("{page}/kinds")])).unwrap();
    assert_eq!(answer["version"], env!("CARGO_PKG_VERSION"));
    let kinds = answer["kinds"].as_array().unwrap();
    for kind in kinds {
        assert!(kind["definition"].as_str().unwrap().contains("kind: KindDefinition"), "{kind}");
    }
    let built_in: Vec<bool> = kinds.iter().map(|kind| kind["kind"] == "Materialize.materialize.cloud").collect();
    assert!(!built_in[0] && built_in.iter().rev().take(2).any(|it| *it), "served kinds come first");
    let versions = kinds.iter().flat_map(|kind| kind["versions"].as_array().unwrap());
    let samples: Vec<&str> = versions.map(|version| version["sample"].as_str().unwrap()).collect();
    assert!(samples.len() > 10, "{kinds:?}");
    let answer = tried(&page, &json!({"text": samples.join("---\n"), "to": ""}));
    assert_eq!(answer["errors"], json!([]));
    for object in answer["objects"].as_array().unwrap() {
        assert_eq!(object["wayBack"], json!([]), "{object}");
    }
}

/// An edited definition is compiled with the CRD of its kind, and tried. It is not served.
#[test]
fn edited_definition_is_checked_and_used() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    let definition = fs::read_to_string(format!("{KINDS}/widgets.yaml")).unwrap();
    let ask = |definition: &str| {
        tried(&page, &json!({"text": WIDGET, "to": "v2", "kind": "Widget.example.com", "definition": definition}))
    };
    let (head, _) = definition.split_once("  - split").unwrap();
    let answer = ask(&format!("{head}  - drop: spec.hostPort\n  - add: spec.host\n  - add: spec.port\n"));
    assert_eq!(answer["problems"], Value::Null, "{answer}");
    assert_eq!(answer["objects"][0]["changes"][0][0], "drop", "{answer}");
    let answer = ask(&definition.replace("[spec.host,", "[spec.hots,"));
    let problems = answer["problems"].as_array().unwrap();
    let is_typo = |problem: &&Value| problem["message"].as_str().unwrap().contains("did you mean \"host\"?");
    let typo = problems.iter().find(is_typo).unwrap();
    assert_eq!((&typo["line"], &typo["severity"]), (&json!(9), &json!("error")));
    assert_eq!(answer["objects"], json!([]));
    // The page reads no other file.
    let answer = ask(&definition.replace("widgets.crd.yaml", "../../../Cargo.toml"));
    let problem = answer["problems"][0]["message"].as_str().unwrap();
    assert!(problem.contains("the page reads only the CRD of the served definition"), "{problem}");
    // The built-in definitions have CRDs of their own.
    let built_in = pointsman_core::definition::embedded_text("materialize").unwrap();
    let kind = "Materialize.materialize.cloud";
    let answer = tried(&page, &json!({"text": "", "to": "", "kind": kind, "definition": built_in}));
    assert_eq!(answer["problems"], Value::Null, "{answer}");
    let answer = tried(&page, &json!({"text": WIDGET, "to": "v2"}));
    assert!(answer["objects"][0]["converted"].as_str().unwrap().contains("port: 80"), "{answer}");
}

/// A CRD alone gets a draft of a definition, and a sample.
#[test]
fn crd_gets_a_draft() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    let crd = fs::read_to_string("examples/kinds/kueue-localqueue/crd.yaml").unwrap();
    let answer = tried(&page, &json!({"text": "", "to": "", "crd": crd}));
    let kind = &answer["kind"];
    assert_eq!(kind["kind"], "LocalQueue.kueue.x-k8s.io", "{answer}");
    let definition = kind["definition"].as_str().unwrap();
    let sample = kind["versions"][0]["sample"].as_str().unwrap();
    let answer = tried(&page, &json!({"text": sample, "to": "", "crd": crd, "definition": definition}));
    assert_eq!((answer["objects"].as_array().unwrap().len(), &answer["errors"]), (1, &json!([])), "{answer}");
    let answer = tried(&page, &json!({"text": "", "to": "", "crd": "kind: Pod"}));
    assert_eq!(answer["problems"][0]["severity"], "error", "{answer}");
}

/// With Chromium: the page shows the typed text in the fragment unchanged.
#[test]
fn browser_shows_results_while_typing() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    let typed = "apiVersion:+example.com/v1%0Akind:+Widget%0Ametadata:+{name:+a}%0Aspec:%0A++hostPort:+%3Cb%3Ea:080%0A";
    let Some(shown) = opened(&format!("{page}#to=v2&text={typed}")) else { return };
    for part in [
        "<code>spec.hostPort: \"&lt;b&gt;a:080\"</code>",
        "<td role=\"cell\" data-name=\"Entry\"><code>{\"value\":\"&lt;b&gt;a:080\",\"became\":[[\"&lt;b&gt;a\"],[80]]}</code></td>",
        "v2 and back to v1: no change.",
        "<option value=\"v2\">v2</option>",
        "Materialize.materialize.cloud</option>",
        "as served",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let text = without_tags(&shown);
    assert!(text.contains("host: &lt;b&gt;a") && text.contains("port: 80"), "{text}");
    // Allowed objects can have warnings.
    let typed = "apiVersion:+materialize.cloud/v1alpha1%0Akind:+Materialize%0Ametadata:+{name:+a}%0A";
    let spec = "spec:+{environmentdIamRoleArn:+r,+environmentdImageRef:+%22i:1%22,+backendSecretName:+s}%0A";
    let Some(shown) = opened(&format!("{page}#to=v1alpha2&text={typed}{spec}")) else { return };
    for part in ["<li class=\"good\">allowed</li>", "<li class=\"warn\">warning: spec.environmentdIamRoleArn is"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let Some(shown) = opened(&format!("{page}#text=%3Cb%3E")) else { return };
    assert!(shown.contains("<li class=\"bad\">input: not an object"), "{shown}");
}

/// With Chromium: a problem of a definition is shown with its line, and results are marked as old.
#[test]
fn browser_marks_problem_of_definition() {
    let dir = TempDir::new().unwrap();
    let (_dev, page) = dev(&dir);
    let definition = "apiVersion:+pointsman.dev/v1%0Akind:+KindDefinition%0Acrd:+widgets.crd.yaml%0Asteps:%0A-+from:+v1%0A++to:+v3%0A";
    let Some(shown) = opened(&format!("{page}#kind=Widget.example.com&definition={definition}")) else { return };
    for part in ["edited, not served: save it to a file", "<button class=\"bad\" type=\"button\">line 6: "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("<body class=\"stale\">"), "there is no old result: {shown}");
    let Some(shown) = opened(&format!("{page}#kind=Gone.example.com&text=x")) else { return };
    assert!(shown.contains("This server does not serve Gone.example.com: load its CRD"), "{shown}");
}

fn without_tags(html: &str) -> String {
    html.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect()
}

#[test]
fn there_is_no_page_without_dev() {
    let dir = TempDir::new().unwrap();
    drop(Dev::start(dir.path(), &[]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .current_dir(dir.path())
        .args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json"])
        .args(["--tls-cert-file", "certs/dev/tls.crt", "--tls-private-key-file", "certs/dev/tls.key"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok).filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let admin = lines.find_map(|line| line["admin"].as_str().map(str::to_owned)).unwrap_or_default();
    let status =
        |path: &str| curl(&["--output", "/dev/null", "--write-out", "%{http_code}", &format!("http://{admin}{path}")]);
    let found = ["/livez", "/dev", "/dev/kinds", "/dev/try"].map(status);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(found, ["200", "404", "404", "404"]);
}
