//! Refused definitions of mutations, and their messages.

use pointsman_core::definition::{Definition, MutatedKind, json_schema};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::Map;

use super::definition;

#[track_caller]
fn said(text: &str) -> String {
    match MutatedKind::load("mutations.yaml", text) {
        Ok(_) => "fine".to_owned(),
        Err(bad) => bad.to_string(),
    }
}

#[test]
fn impossible_operations_are_refused() {
    for (operations, wanted) in [
        (
            "[{flag: {name: cloud, value: x}}]",
            "flag: \"cloud\" is no flag: write only the name, with its dashes, such as --cloud",
        ),
        ("[{flag: {name: --a=b}}]", "such as --a"),
        ("[{flag: {name: --a, value: [1]}}]", "flag --a: the value must be a string"),
        ("[{flagEntries: {name: --g, entries: {}}}]", "flagEntries --g: has no entries"),
        ("[{flagEntries: {name: --g, entries: {A: 'a,b'}}}]", "the value of A contains a comma"),
        ("[{flagEntries: {name: --g, entries: [A, A]}}]", "A occurs twice"),
        ("[{noFlagEntries: {name: --g, entries: ['A=true']}}]", "\"A=true\" is no name of an entry"),
        (
            "[{item: {list: volumes, value: {secret: {}}}}]",
            "item volumes: its value has no \"name\", the key of the item",
        ),
        ("[{noItem: {list: volumes, value: {name: x}}}]", "must be the value of \"name\""),
        ("[{set: {field: status.phase, value: x}}]", "a mutation cannot change status.phase"),
        ("[{set: {field: metadata.name, value: x}}]", "a mutation cannot change metadata.name"),
        ("[{unset: metadata}]", "a mutation cannot change metadata:"),
        ("[{unset: metadata.labels.a.b}]", "a mutation cannot change metadata.labels.a.b"),
        ("[{set: {field: metadata.labels.a, value: true}}]", "metadata.labels.a is a text: write \"true\", in quotes"),
        ("[{item: {list: metadata.labels.a, value: {name: x}}}]", "item: metadata.labels.a is a text, and no list"),
        ("[{set: {field: 'a..b', value: x}}]", "an empty name"),
        ("[{flags: {name: --a}}]", "unknown operation \"flags\", did you mean \"flag\"?"),
    ] {
        let said = said(&definition(operations, "[]"));
        assert!(said.starts_with("mutations.yaml:7: ") && said.contains(wanted), "{operations}: {said}");
    }
}

#[test]
fn operations_that_are_against_each_other() {
    let clash = |one: &str, two: &str| said(&definition(&format!("[{one}, {two}]"), "[]"));
    for (one, two) in [
        ("{flag: {name: --a, value: x}}", "{noFlag: --a}"),
        ("{flag: {name: --a, value: x}}", "{flag: {of: main, name: --a, value: y}}"),
        ("{flag: {name: --a, value: x}}", "{flagEntries: {name: --a, entries: [A]}}"),
        ("{flagEntries: {name: --a, entries: {A: 1}}}", "{flagEntries: {name: --a, entries: {A: 2}}}"),
        ("{flagEntries: {name: --a, entries: {A: 1}}}", "{noFlagEntries: {name: --a, entries: [A]}}"),
        ("{set: {field: spec.a, value: {}}}", "{unset: spec.a.b}"),
        ("{unset: spec.a.b}", "{set: {field: spec.a, value: {}}}"),
        ("{set: {field: spec.a, value: 1}}", "{set: {field: spec.a, value: 2}}"),
        ("{item: {list: volumes, value: {name: x}}}", "{noItem: {list: volumes, value: x}}"),
    ] {
        let said = clash(one, two);
        assert!(said.contains("contradict each other: keep one of the two"), "{one} {two}: {said}");
    }
    for (one, two) in [
        ("{flag: {of: one, name: --a, value: x}}", "{noFlag: {of: two, name: --a}}"),
        ("{flagEntries: {name: --a, entries: {A: 1}}}", "{flagEntries: {name: --a, entries: {B: 2}}}"),
        ("{noItem: {list: volumes, value: y}}", "{item: {list: volumes, value: {name: x}}}"),
        ("{set: {field: spec.a, value: 1}}", "{set: {field: spec.b, value: 2}}"),
    ] {
        assert_eq!(clash(one, two), "fine");
    }
    // Different values before and after are the purpose of mutations.
    assert_eq!(said(&definition("[{flag: {name: --a}}]", "[{noFlag: --a}]")), "fine");
}

/// A location written in two ways is one location.
#[test]
fn conflicting_operations_are_refused() {
    let clash = |one: &str, two: &str| {
        let there = said(&definition(&format!("[{one}, {two}]"), "[]"));
        assert_eq!(there == "fine", said(&definition(&format!("[{two}, {one}]"), "[]")) == "fine", "{one} {two}");
        there
    };
    let flag = "{flag: {of: c, name: --b, value: x}}";
    for (one, two) in [
        ("{set: {field: hostNetwork, value: true}}", "{set: {field: spec.template.spec.hostNetwork, value: false}}"),
        ("{set: {field: hostNetwork, value: true}}", "{unset: spec.template}"),
        ("{item: {list: volumes, value: {name: x}}}", "{noItem: {list: spec.template.spec.volumes, value: x}}"),
        (flag, "{set: {of: c, field: args, value: [--a]}}"),
        ("{flag: {name: --b, value: x}}", "{set: {of: c, field: command, value: [--a]}}"),
        (flag, "{unset: {of: c, field: args}}"),
        ("{noFlag: --b}", "{set: {of: c, field: args, value: [--b=x]}}"),
        (flag, "{item: {list: containers, value: {name: c, args: [--a]}}}"),
        (flag, "{item: {list: spec.template.spec.initContainers, value: {name: c, args: null}}}"),
        (flag, "{item: {list: containers, key: image, value: {image: i, args: [--a]}}}"),
        (flag, "{set: {field: containers, value: [{name: c}]}}"),
        (flag, "{set: {field: spec.template, value: {spec: {containers: [{name: c}]}}}}"),
        ("{set: {of: c, field: a.b, value: 1}}", "{item: {list: containers, value: {name: c, a: {b: 2}}}}"),
        ("{unset: {of: c, field: a}}", "{item: {list: containers, value: {name: c, a: {b: 2}}}}"),
    ] {
        let said = clash(one, two);
        assert!(said.contains("contradict each other: keep one of the two"), "{one} {two}: {said}");
    }
    for (one, two) in [
        ("{set: {field: hostNetwork, value: true}}", "{set: {field: spec.template.spec.hostNetwork, value: true}}"),
        ("{set: {field: hostNetwork, value: true}}", "{set: {field: spec.hostNetwork, value: false}}"),
        (flag, "{item: {list: containers, value: {name: c, image: i}}}"),
        (flag, "{item: {list: containers, value: {name: d, args: [--a]}}}"),
        (flag, "{set: {of: d, field: args, value: [--a]}}"),
        (flag, "{unset: {of: c, field: command}}"),
        (flag, "{unset: initContainers}"),
        (flag, "{noItem: {list: containers, value: d}}"),
        ("{noFlag: --b}", "{set: {of: c, field: args, value: [--a]}}"),
        ("{flag: {name: --b}}", "{set: {field: initContainers, value: [{name: c}]}}"),
        ("{set: {of: c, field: a.b, value: 1}}", "{item: {list: containers, value: {name: c, a: {c: 2}}}}"),
    ] {
        assert_eq!(clash(one, two), "fine", "{one} {two}");
    }
}

#[test]
fn mutations_that_cannot_be() {
    let fine = definition("[{noFlag: --a}]", "[]");
    let changed = |from: &str, to: &str| {
        assert!(fine.contains(from), "{from}");
        said(&fine.replace(from, to))
    };
    for (from, to, wanted) in [
        ("name: moved", "name: Moved", "mutation Moved: the name must have lower-case letters"),
        ("label: moved", "label: 'a b'", "fact: \"a b\" is no key of a label or an annotation"),
        (", label: moved", "", "fact: takes one of `annotation`, `label` and `field`"),
        ("label: moved", "label: moved, field: a", "takes one of"),
        ("'{namespace}'", "'{shoot}'", "\"{shoot}\" is no name; use {namespace} and {name} for those of the object"),
        ("namespaces,", "Namespaces,", "is no resource: write the plural and the group"),
        ("[{noFlag: --a}]", "[]", "mutation moved: has no operations"),
        ("group: apps", "group: Apps", "resource: \"Apps\" is no group"),
        ("kind: Deployment", "kind: deployment", "is no kind: a kind begins with a capital"),
        ("plural: deployments", "plural: Deployments", "is no plural"),
        ("version: v1, kind", "versions: v1, kind", "unknown key \"versions\", did you mean \"version\"?"),
        ("resource: {group", "crd: a.yaml\nresource: {group", "unknown key \"crd\""),
        ("kind: KindDefinition", "kind: KindDefinition\nname: [a]", "mutations.yaml:3"),
        ("/v1\n", "/v2\n", "apiVersion is \"pointsman.dev/v2\", this build reads"),
    ] {
        let said = changed(from, to);
        assert!(said.contains(wanted), "{to}: {said}");
    }
    let second = "- name: other\n  failurePolicy: Ignore\n  fact: {resource: nodes, name: x, label: y}\n  onceTrue: [{noFlag: --b}]\n";
    let two = said(&format!("{fine}{second}"));
    assert!(two.contains("mutations moved and other may select the same objects") && two.contains(":9: "), "{two}");
    let apart = format!("{fine}{second}  names: [b]\n").replace("- name: moved", "- name: moved\n  names: [a]");
    assert_eq!(said(&apart), "fine");
    let twice = format!("{fine}{}", second.replace("other", "moved").replace("  failurePolicy: Ignore\n", ""));
    assert!(said(&twice).contains("mutation moved: another mutation has this name"));
}

#[test]
fn mutations_that_are_against_each_other() {
    let two = |one: &str, other: &str, selects: &str| {
        let second =
            format!("- name: other\n  fact: {{resource: nodes, name: x, label: y}}\n{selects}  onceTrue: [{other}]\n");
        said(&format!("{}{second}", definition(&format!("[{one}]"), "[]")))
    };
    let (set, label) = ("{flag: {name: --a, value: x}}", "{set: {field: metadata.labels.role, value: x}}");
    let clash = two(set, "{noFlag: --a}", "");
    assert!(
        clash.contains("mutations moved and other: `")
            && clash.contains("contradict each other: combine the two in one mutation"),
        "{clash}"
    );
    assert_eq!(two(set, "{noFlag: --b}", ""), "fine");
    let host = |field: &str, value: &str| format!("{{set: {{field: {field}, value: {value}}}}}");
    let clash = two(&host("spec.template.spec.hostNetwork", "true"), &host("hostNetwork", "false"), "");
    assert!(clash.contains("contradict each other: combine the two in one mutation"), "{clash}");
    let selected = two(label, "{noFlag: --b}", "  labels: role=x\n");
    assert!(selected.contains("changes a label that mutation other selects by"), "{selected}");
    let own = definition(&format!("[{label}]"), "[]").replace("  fact:", "  labels: role\n  fact:");
    assert!(said(&own).contains("changes a label that mutation moved selects by"), "{}", said(&own));
}

#[test]
fn leftover_item_members_are_refused() {
    let items = |after: &str| {
        let before = "[{item: {list: volumes, value: {name: x, configMap: {name: y}}}}]";
        said(&definition(before, &format!("[{{item: {{list: volumes, value: {after}}}}}]")))
    };
    let left = items("{name: x, emptyDir: {}}");
    assert!(
        left.contains("sets \"configMap\", and `onceTrue` omits this member") && left.contains("write configMap: null"),
        "{left}"
    );
    assert_eq!(items("{name: x, emptyDir: {}, configMap: null}"), "fine");
    assert_eq!(items("{name: z, emptyDir: {}}"), "fine");
    let before = "[{item: {list: volumes, value: {name: x, configMap: {name: y}}}}]";
    let other = "[{item: {list: spec.template.spec.volumes, value: {name: x, emptyDir: {}}}}]";
    let left = said(&definition(before, other));
    assert!(left.contains("sets \"configMap\", and `onceTrue` omits this member"), "{left}");
}

#[test]
fn definition_has_one_purpose() {
    let load = |text: &str| Definition::load("d.yaml", text, &mut |_| Ok(String::new()));
    assert!(matches!(load(&definition("[{noFlag: --a}]", "[]")), Ok(Definition::Mutations(_))));
    let text = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\nmutations: []\n";
    assert!(load(text).unwrap_err().to_string().contains("the key \"resource\" is missing"));
    let schema = json_schema(Map::new());
    let sorts = schema["anyOf"].as_array().unwrap();
    assert_eq!(sorts.len(), 2);
}

#[test]
fn kind_has_mutations_once() {
    let mutated = |text: &str| MutatedKind::load("mutations.yaml", text).unwrap();
    let text = definition("[{noFlag: --a}]", "[]");
    let webhook = || Webhook::new(Vec::new(), Metadata::Identity).unwrap();
    let twice =
        webhook().with_mutations(vec![mutated(&text), mutated(&text.replace("\nresource:", "\nname: b\nresource:"))]);
    let said = twice.unwrap_err().to_string();
    assert_eq!(said, "Deployment.apps is defined twice, as \"deployment\" and as \"b\": remove one");
    let mutated = mutated(&text);
    assert!(["Deployment", "deployments", "deployments.apps"].iter().all(|name| mutated.is_called(name)));
    assert_eq!(mutated.mutations().collect::<Vec<_>>(), ["moved"]);
    assert_eq!(mutated.facts().len(), 1);
}
