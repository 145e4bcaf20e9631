//! The workbench in a browser: the keyboard alone, errors, dropped files, widths and colours.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use crate::browser::Tab;
use crate::serve::Dev;

const KINDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kinds");

const WIDGET: &str = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {hostPort: 'a:080'}\n";

/// The workbench with the kind of widgets, converted once.
fn opened(dir: &TempDir) -> Option<(Dev, Tab)> {
    let dev = Dev::start(dir.path(), &["--kinds", KINDS]);
    let mut tab = Tab::open(&format!("{}#kind=Widget.example.com", dev.page()))?;
    verdict_is(&mut tab, OK);
    Some((dev, tab))
}

/// Presses Tab up to an element that meets a condition of `it`. Editors on the way let it pass.
fn tab_to(tab: &mut Tab, condition: &str) {
    for _ in 0..40 {
        tab.press("Tab", false);
        if tab.value(&format!("(it => {condition})(document.activeElement)")) == json!(true) {
            return;
        }
    }
    panic!("no element by Tab: {condition}");
}

fn verdict_is(tab: &mut Tab, verdict: &str) {
    tab.wait_for(&format!("document.getElementById('verdict').textContent === {}", json!(verdict)));
}

fn text_of(editor: &str) -> String {
    format!("document.querySelector('#{editor} .cm-content').innerText")
}

fn editor_has(tab: &mut Tab, editor: &str, text: &str) {
    tab.wait_for(&format!("{}.includes({})", text_of(editor), json!(text)));
}

const OK: &str = "OK: v1 to v2 and back without loss; /validate allows it";
const WRONG_DEFINITION: &str = "BLOCKED: the definition has errors";
const WRONG_OBJECT: &str = "BLOCKED: the object has errors";

const OBJECT: &str = "(it.ariaLabel ?? '').startsWith('Object')";
const DEFINITION: &str = "(it.ariaLabel ?? '').startsWith('Definition')";

#[test]
fn keyboard_alone_converts_there_and_back() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    tab_to(&mut tab, OBJECT);
    tab.replace_text(WIDGET);
    editor_has(&mut tab, "result", "port: 80");
    tab_to(&mut tab, "it.textContent === 'Convert back'");
    tab.press("Enter", false);
    editor_has(&mut tab, "result", "hostPort: a:080");
    // The search of the editor: a browser finds only the lines in sight.
    tab_to(&mut tab, DEFINITION);
    tab.press("f", true);
    tab.wait_for("document.activeElement.name === 'search'");
}

#[test]
fn error_leads_to_its_line() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    tab_to(&mut tab, DEFINITION);
    tab.replace_text("apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: widgets.crd.yaml\nsteps:\n- from: v1\n");
    verdict_is(&mut tab, WRONG_DEFINITION);
    tab.wait_for("document.body.classList.contains('stale')");
    assert_eq!(tab.value("document.querySelectorAll('#definition .cm-lint-marker-error').length > 0"), json!(true));
    tab_to(&mut tab, "it.closest('#problems') !== null");
    let line = tab.value("Number(document.activeElement.textContent.match(/^line ([0-9]+): /)[1])");
    tab.press("Enter", false);
    let lines = "[...document.querySelectorAll('#definition .cm-line')]";
    let active = format!("{lines}.findIndex(it => it.classList.contains('cm-activeLine')) + 1");
    assert_eq!(tab.value(&active), line);
    assert_eq!(tab.value(&format!("(it => {DEFINITION})(document.activeElement)")), json!(true));
}

#[test]
fn verdict_follows_the_object() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    tab_to(&mut tab, OBJECT);
    for (text, verdict) in [
        ("apiVersion: [", WRONG_OBJECT),
        (WIDGET, OK),
        (&WIDGET.replace("'a:080'", "7"), "NOT SAFE: findings in the round trip of a"),
    ] {
        tab.replace_text(text);
        verdict_is(&mut tab, verdict);
    }
}

#[test]
fn dropped_file_is_loaded() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    // The editor below the pointer does not take the file as text.
    let definition = fs::read_to_string(format!("{KINDS}/widgets.yaml")).unwrap();
    let dropped = dir.path().join("dropped.yaml");
    fs::write(&dropped, format!("# dropped\n{definition}")).unwrap();
    let before = tab.value(&text_of("object"));
    tab.drop_file(&dropped, "#object .cm-content");
    editor_has(&mut tab, "definition", "# dropped");
    tab.drop_file(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")), "#object .cm-content");
    verdict_is(&mut tab, "BLOCKED: the file is not used");
    thread::sleep(Duration::from_millis(500));
    assert_eq!(tab.value(&text_of("object")), before);
    // A CRD gets a draft.
    let crd = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kinds/kueue-localqueue/crd.yaml");
    tab.drop_file(Path::new(crd), "#definition .cm-content");
    tab.wait_for("document.getElementById('kind').value === 'LocalQueue.kueue.x-k8s.io'");
    tab.wait_for("document.getElementById('verdict').textContent.startsWith('OK: ')");
}

/// axe-core checks results and errors at three widths and in both colours. No part is wider than the window.
#[test]
fn every_width_and_colour_is_accessible() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    let mut found = Vec::new();
    for (text, verdict) in [(WIDGET, OK), ("apiVersion: [", WRONG_OBJECT)] {
        tab_to(&mut tab, OBJECT);
        tab.replace_text(text);
        editor_has(&mut tab, "result", "host: a");
        verdict_is(&mut tab, verdict);
        for width in [390, 800, 1440] {
            for colours in ["light", "dark"] {
                tab.emulate(width, colours);
                let findings = tab.accessibility_findings();
                if findings != json!([]) {
                    found.push(format!("{width} {colours}: {findings}"));
                }
                assert_eq!(tab.value("document.documentElement.scrollWidth <= innerWidth"), json!(true), "{width}");
            }
        }
    }
    assert_eq!(found, [""; 0]);
}
