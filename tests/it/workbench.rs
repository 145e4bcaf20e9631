//! The workbench in a browser: the keyboard alone, errors, dropped files, widths and colours.

use std::path::Path;

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
    tab.wait_for("document.getElementById('verdict').textContent.startsWith('OK: ')");
    Some((dev, tab))
}

/// Tab reaches an element that meets a condition of `it`, and leaves each editor on the way.
fn tab_to(tab: &mut Tab, condition: &str) {
    for _ in 0..40 {
        tab.press("Tab", false);
        if tab.value(&format!("(it => {condition})(document.activeElement)")) == json!(true) {
            return;
        }
    }
    panic!("no element by Tab: {condition}");
}

fn verdict_starts_with(tab: &mut Tab, start: &str) {
    tab.wait_for(&format!("document.getElementById('verdict').textContent.startsWith({})", json!(start)));
}

fn result_has(tab: &mut Tab, text: &str) {
    tab.wait_for(&format!("document.querySelector('#result .cm-content').innerText.includes({})", json!(text)));
}

const OBJECT: &str = "(it.ariaLabel ?? '').startsWith('Object')";
const DEFINITION: &str = "(it.ariaLabel ?? '').startsWith('Definition')";

#[test]
fn keyboard_alone_converts_there_and_back() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    tab_to(&mut tab, OBJECT);
    tab.type_instead(WIDGET);
    result_has(&mut tab, "port: 80");
    tab_to(&mut tab, "it.textContent === 'Convert back'");
    tab.press("Enter", false);
    result_has(&mut tab, "hostPort: a:080");
    // The search of the editor: a browser finds only the lines in sight.
    tab_to(&mut tab, DEFINITION);
    tab.press("f", true);
    tab.wait_for("document.activeElement.name === 'search'");
}

#[test]
fn errors_are_marked_and_lead_to_their_line() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    tab_to(&mut tab, DEFINITION);
    tab.type_instead("apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: widgets.crd.yaml\nsteps:\n- from: v1\n");
    verdict_starts_with(&mut tab, "BLOCKED: the definition has errors");
    tab.wait_for("document.body.classList.contains('stale')");
    assert_eq!(tab.value("document.querySelectorAll('#definition .cm-lint-marker-error').length > 0"), json!(true));
    tab_to(&mut tab, "it.closest('#problems') !== null");
    tab.press("Enter", false);
    assert_eq!(tab.value(&format!("(it => {DEFINITION})(document.activeElement)")), json!(true));
    tab_to(&mut tab, OBJECT);
    tab.type_instead("apiVersion: [");
    tab_to(&mut tab, "it.textContent === 'Reset'");
    tab.press("Enter", false);
    verdict_starts_with(&mut tab, "BLOCKED: the object has errors");
    tab_to(&mut tab, OBJECT);
    tab.type_instead(WIDGET);
    verdict_starts_with(&mut tab, "OK: ");
    // The schema refuses the object.
    tab.type_instead(&WIDGET.replace("'a:080'", "7"));
    tab.wait_for("!document.getElementById('verdict').textContent.startsWith('OK: v1 to v2 and back without loss; /validate allows')");
}

#[test]
fn dropped_crd_gets_a_draft() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    let crd = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kinds/kueue-localqueue/crd.yaml");
    tab.drop_file(Path::new(crd));
    tab.wait_for("document.getElementById('kind').value === 'LocalQueue.kueue.x-k8s.io'");
    verdict_starts_with(&mut tab, "OK: ");
    // The editor below the pointer does not take the file as text.
    let editors = "document.querySelectorAll('.cm-content')";
    let has_crd = format!("[...{editors}].some(it => it.innerText.includes('CustomResourceDefinition'))");
    assert_eq!(tab.value(&has_crd), json!(false));
    tab.drop_file(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")));
    tab.wait_for("document.getElementById('errors').textContent.includes('neither a CustomResourceDefinition nor')");
}

/// By axe-core, at three widths and in both colours, with results and with errors. Nothing is wider than the window.
#[test]
fn every_width_and_colour_is_accessible() {
    let dir = TempDir::new().unwrap();
    let Some((_dev, mut tab)) = opened(&dir) else { return };
    let mut found = Vec::new();
    for text in [WIDGET, "apiVersion: ["] {
        tab_to(&mut tab, OBJECT);
        tab.type_instead(text);
        verdict_starts_with(&mut tab, if text == WIDGET { "OK: " } else { "BLOCKED: " });
        for width in [390, 800, 1440] {
            for colours in ["light", "dark"] {
                tab.look(width, colours);
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
