//! The metrics of the API server about its conversion calls.

use std::collections::BTreeMap;

use hyper::Method;

use super::test_cluster::TestCluster;

/// Calls by result, such as `success` or `failure conversion_webhook_call_failure`.
pub(crate) fn calls(test_cluster: &TestCluster) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for line in page(test_cluster).lines() {
        let Some(rest) = line.strip_prefix("apiserver_conversion_webhook_request_total{") else {
            continue;
        };
        let result = format!("{} {}", label(rest, "result"), label(rest, "failure_type"));
        *calls.entry(result.trim().to_owned()).or_default() += value(rest);
    }
    calls
}

/// Conversions of one CRD: those that succeeded and those that did not.
pub(crate) fn of_crd(test_cluster: &TestCluster, crd: &str) -> (u64, u64) {
    by_crd(test_cluster).remove(crd).unwrap_or_default()
}

/// Successful and failed conversions of every CRD since the start.
pub(crate) fn by_crd(test_cluster: &TestCluster) -> BTreeMap<String, (u64, u64)> {
    let mut all = BTreeMap::<String, (u64, u64)>::new();
    for line in page(test_cluster).lines() {
        let name = "apiserver_crd_conversion_webhook_duration_seconds_count{";
        let Some(rest) = line.strip_prefix(name) else {
            continue;
        };
        let (good, bad) = all.entry(label(rest, "crd_name").to_owned()).or_default();
        match label(rest, "succeeded") {
            "true" => *good += value(rest),
            _ => *bad += value(rest),
        }
    }
    all
}

/// The sum of a metric over all series that have `label` in their labels.
pub(crate) fn sum(test_cluster: &TestCluster, name: &str, label: &str) -> f64 {
    let page = page(test_cluster);
    let series = page.lines().filter_map(|line| line.strip_prefix(name));
    let fitting = series.filter(|rest| rest.starts_with(['{', ' ']) && rest.contains(label));
    fitting.map(|rest| rest.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

fn page(test_cluster: &TestCluster) -> String {
    let answer = test_cluster.api.client.call(Method::GET, "/metrics", None);
    answer.ok().as_str().unwrap().to_owned()
}

fn label<'a>(line: &'a str, name: &str) -> &'a str {
    let start = line.find(&format!("{name}=\"")).map(|at| &line[at..]);
    start.and_then(|rest| rest.split('"').nth(1)).unwrap_or_default()
}

fn value(line: &str) -> u64 {
    line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
}
