use super::expect::{HEAD, crd, step};
use crate::definition::kind::Kind;

/// Receivers with lists of configurations of three kinds. Only `more` are fields of each configuration.
fn receivers(more: &str) -> String {
    let configs = format!(
        "{{type: array, items: {{type: object, properties: {{name: {{type: string}}, http: {{type: object, properties: \
         {{proxy: {{type: string}}{more}}}}}}}}}}}"
    );
    format!(
        "properties: {{items: {{type: array, items: {{type: object, properties: {{mailConfigs: {configs}, chatConfigs: \
         {configs}, others: {configs}}}}}}}, timeout: {{type: string}}, retryTimeout: {{type: string}}}}"
    )
}

fn operations_of(operations: &str, older: &str, newer: &str) -> Vec<String> {
    let definition = format!("{HEAD}steps:\n- from: v1\n  to: v2\n  operations:\n{operations}");
    let kind = Kind::load("thing.yaml", &definition, &mut |_| Ok(crd(older, newer)));
    let mut steps = kind.unwrap_or_else(|bad| panic!("{bad}")).steps();
    steps.remove(0).operations
}

#[test]
fn pattern_is_an_operation_per_place() {
    let older = receivers(", insecure: {type: boolean}");
    let one = operations_of(
        "  - drop: items.items[*].*Configs[*].http.insecure\n  - drop: items.items[*].others[*].http.*\n"
            .replace("items.items", "spec.items")
            .as_str(),
        &older,
        &receivers(""),
    );
    let each = |list: &str| format!("      - each: {{in: {list}, operations: [{{drop: http.insecure}}]}}\n");
    let written = format!(
        "  - each:\n      in: spec.items\n      operations:\n{}{}{}",
        each("chatConfigs"),
        each("mailConfigs"),
        each("others")
    );
    assert_eq!(one, operations_of(&written, &older, &receivers("")));
}

#[test]
fn pattern_covers_lists_and_fields_of_both_versions() {
    let same = receivers("");
    let bounded = same.replace("imeout: {type: string}", "imeout: {type: string, minLength: 1}");
    let blank = "  - blank: {field: spec.*imeout, spellings: ['']}\n";
    let written =
        "  - blank: {field: spec.retryTimeout, spellings: ['']}\n  - blank: {field: spec.timeout, spellings: ['']}\n";
    assert_eq!(operations_of(blank, &same, &bounded), operations_of(written, &same, &bounded));
    let renamed = same.replace("proxy", "proxyUrl");
    let each = "  - each: {in: 'spec.items[*].*', operations: [{rename: {from: http.proxy, to: http.proxyUrl}}]}\n";
    assert_eq!(operations_of(each, &same, &renamed).len(), 7);
}

#[test]
fn pattern_without_a_place_is_refused() {
    let same = receivers("");
    step(
        &same,
        &same,
        "  - drop: spec.items[*].*Configs[*].http.proxy\n",
        "thing.yaml:8: spec.items[*].*Configs[*].http.proxy: no field of only the older version matches the pattern",
    );
    step(
        &same,
        &same,
        "  - blank: {field: spec.no*, spellings: [a]}\n",
        "thing.yaml:8: spec.no*: no field of both versions matches the pattern",
    );
    step(
        &same,
        &same,
        "  - drop: spec.items.**\n",
        "thing.yaml:8: spec.items.**: no field of only the older version matches the pattern",
    );
}
