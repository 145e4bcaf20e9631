//! The dashboard uses existing metrics and labels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::helm::{CHART, root};

/// Labels from Prometheus, of histogram buckets, and of targets in `by`.
const ADDED: [&str; 4] = ["instance", "le", "namespace", "pod"];

/// The metrics with their labels in docs/reference.md.
fn documented() -> BTreeMap<String, Vec<String>> {
    let reference = fs::read_to_string(root().join("docs/reference.md")).unwrap();
    let table = reference.split("## Metrics").nth(1).unwrap().split("\n## ").next().unwrap();
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    let mut metrics: BTreeMap<String, Vec<String>> =
        cells.map(|cells| (words(cells[0]).remove(0), words(cells[1]))).collect();
    let process = table.split("## ").next().unwrap();
    let process = process.split('`').filter(|word| word.starts_with("process_"));
    metrics.extend(process.map(|name| (name.to_owned(), Vec::new())));
    metrics
}

fn dashboard() -> Value {
    let text = fs::read_to_string(root().join(CHART).join("files/dashboard.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn panels() -> Vec<Value> {
    let panels = dashboard()["panels"].as_array().unwrap().clone();
    panels.into_iter().filter(|panel| panel["type"] != "row").collect()
}

/// The words of an expression: names of metrics, labels and functions.
fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

#[test]
fn dashboard_shows_exactly_all_metrics() {
    let documented = documented();
    let mut shown = BTreeSet::new();
    for panel in panels() {
        let title = &panel["title"];
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let metric = |word: &&str| word.starts_with("pointsman_") || word.starts_with("process_");
            let mut labels: BTreeSet<&str> = ADDED.into();
            for word in words(expression).filter(metric) {
                let name = word.strip_suffix("_bucket").unwrap_or(word);
                let known = documented.get(name).unwrap_or_else(|| panic!("{title}: there is no metric {name}"));
                labels.extend(known.iter().map(String::as_str));
                shown.insert(name.to_owned());
            }
            let named = expression.split("by (").skip(1).flat_map(|rest| words(rest.split(')').next().unwrap()));
            let legend = target["legendFormat"].as_str().unwrap();
            let legend = legend.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap());
            for label in named.chain(legend) {
                assert!(labels.contains(label), "{title}: no label {label} in {expression}");
            }
        }
    }
    let hidden = |name: &&String| name.starts_with("pointsman_") && !shown.contains(*name);
    let missing: Vec<&String> = documented.keys().filter(hidden).collect();
    assert!(missing.is_empty(), "not on the dashboard: {missing:?}");
}

#[test]
fn panels_have_titles_without_overlap() {
    let mut taken = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard()["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: an id twice");
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("x") + side("w") <= 24, "{title}");
        for place in
            (side("y")..side("y") + side("h")).flat_map(|y| (side("x")..side("x") + side("w")).map(move |x| (x, y)))
        {
            let other = taken.insert(place, title);
            assert!(other.is_none(), "{title} covers {other:?}");
        }
    }
    for panel in panels() {
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{}", panel["title"]);
    }
}
