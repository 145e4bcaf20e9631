//! Edge cases in which a careless conversion loses data: one small definition each, with its expected result.

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Value, json};

/// A kind `Thing` with versions `v1` and `v2`, these `spec` properties, and a step with these operations.
fn load(older: &str, newer: &str, operations: &str) -> Result<Kind, BadDefinition> {
    let version = |name: &str, spec: &str, storage: bool| {
        let spec: Value = serde_saphyr::from_str(spec).unwrap();
        let spec = match spec.get("properties") {
            Some(_) => spec,
            None => json!({"properties": spec}),
        };
        let mut object = json!({"type": "object"});
        object.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
                "spec": object,
            }}},
        })
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [version("v1", older, true), version("v2", newer, false)],
        },
    });
    let indented: String = operations.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: crd.yaml\nsteps:\n- from: v1\n  to: v2\n  operations:\n{indented}"
    );
    Kind::load("thing.yaml", &text, &mut |_| Ok(crd.to_string()))
}

struct Thing(Webhook);

fn thing(older: &str, newer: &str, operations: &str) -> Thing {
    let kind = load(older, newer, operations).unwrap_or_else(|bad| panic!("{bad}"));
    Thing(Webhook::new(vec![kind], Metadata::Full).unwrap())
}

impl Thing {
    /// Converts a complete object to the other version.
    fn convert(&self, object: &Value) -> Value {
        let to = if object["apiVersion"] == "example.com/v1" { "v2" } else { "v1" };
        let text = self.0.convert(&object.to_string(), to).unwrap().text;
        serde_json::from_str(&text).unwrap()
    }

    /// Round trip: nothing is lost, nothing is added. Returns the object in the other version.
    fn comes_home(&self, version: &str, spec: Value) -> Value {
        let object = object(version, spec);
        let there = self.convert(&object);
        let home = self.convert(&there);
        assert_eq!(home["spec"], object["spec"], "by way of {there}");
        let annotations = home["metadata"].get("annotations");
        assert_eq!(annotations, None, "by way of {there}");
        there
    }
}

fn object(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Thing",
        "metadata": {"name": "a", "namespace": "b", "uid": "c"}, "spec": spec,
    })
}

const STRING: &str = "{type: string}";

#[test]
fn numbers_survive_server_spelling() {
    let thing = thing("{port: {type: number}}", "{port: {type: string}}", "- type: spec.port");
    for text in ["1.10", "1e400", "007", "-0", "1E2", "0.1"] {
        let there = thing.comes_home("v2", json!({"port": text}));
        // The API server's reading of the response must equal the value of later comparisons.
        if let Some(number) = there["spec"].get("port") {
            let mut again = there.clone();
            again["spec"]["port"] = serde_json::from_str(&number.to_string()).unwrap();
            assert_eq!(thing.convert(&again)["spec"]["port"], text);
        }
    }
    let large = thing.convert(&object("v2", json!({"port": "18446744073709551615"})));
    assert_eq!(thing.convert(&large)["spec"]["port"], "18446744073709551615");
    let beyond = thing.convert(&object("v2", json!({"port": format!("1{}", "0".repeat(309))})));
    assert_eq!(beyond["spec"].get("port"), None, "Go cannot decode it, so it is never answered");
}

#[test]
fn field_survives_under_own_name() {
    let older = "{size: {type: string}, image: {type: string}, owner: {type: string}}";
    let newer = "
size: {type: object, properties: {value: {type: integer}}}
image: {type: object, properties: {repository: {type: string}, tag: {type: string}}}
owner: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {name: {type: string}}}";
    let operations = "
- type: {from: spec.size, to: spec.size.value}
- split: {field: spec.image, into: [spec.image.repository, spec.image.tag], separator: \":\"}
- move: {from: spec.owner, to: spec.owner.name}";
    let thing = thing(older, newer, operations.trim());
    for spec in
        [json!({"size": "007"}), json!({"image": "a:b"}), json!({"image": "a"}), json!({"owner": "bob"}), json!({})]
    {
        thing.comes_home("v1", spec);
    }
    for spec in [
        json!({"size": {}}),
        json!({"owner": {}}),
        json!({"owner": {"team": "x"}}),
        json!({"owner": {"name": "bob", "team": "x"}}),
        json!({"image": {"tag": "v1"}}),
        json!({"image": {"repository": "a"}}),
        json!({"image": {"repository": "a:b", "tag": "c"}}),
        json!({"size": {"value": 7}}),
    ] {
        thing.comes_home("v2", spec);
    }
}

#[test]
fn removed_block_stays_removed() {
    let thing = thing(
        "{backup: {type: object, properties: {legacy: {type: string}, days: {type: integer}}}}",
        "{backup: {type: object, properties: {days: {type: integer}}}}",
        "- drop: spec.backup.legacy",
    );
    let mut there = thing.comes_home("v1", json!({"backup": {"legacy": "y", "days": 3}}));
    there["spec"].as_object_mut().unwrap().remove("backup");
    assert_eq!(thing.convert(&there)["spec"], json!({}));
    thing.comes_home("v1", json!({"backup": {"legacy": "y"}}));
    thing.comes_home("v1", json!({"backup": {}}));
}

#[test]
fn value_at_move_target_is_kept() {
    let thing = thing(
        "{m: {type: object, additionalProperties: {type: string}}}",
        "{m: {type: object, additionalProperties: {type: string}}}",
        "- rename: {from: spec.m.app, to: spec.m.application}",
    );
    for spec in [
        json!({"m": {"application": "b"}}),
        json!({"m": {"app": "a", "application": "b"}}),
        json!({"m": {"app": "a"}}),
        json!({"m": {}}),
    ] {
        thing.comes_home("v1", spec.clone());
        thing.comes_home("v2", spec);
    }
}

#[test]
fn items_with_equal_keys_keep_values() {
    let item = |fields: &str| {
        format!(
            "{{mounts: {{type: array, items: {{type: object, required: [name], properties: {{name: {STRING}, path: {STRING}{fields}}}}}}}}}"
        )
    };
    let thing = thing(
        &item(", comment: {type: string}"),
        &item(""),
        "- each: {in: spec.mounts, operations: [{drop: comment}]}",
    );
    let mounts = json!([
        {"name": "a", "path": "/1", "comment": "one"},
        {"name": "a", "path": "/2", "comment": "two"},
        {"name": "b", "path": "/3"},
    ]);
    let there = thing.comes_home("v1", json!({"mounts": mounts}));
    let mut shuffled = there.clone();
    shuffled["spec"]["mounts"].as_array_mut().unwrap().reverse();
    let expected = json!([mounts[2], mounts[1], mounts[0]]);
    assert_eq!(thing.convert(&shuffled)["spec"]["mounts"], expected);
    let mut deleted = there;
    deleted["spec"]["mounts"].as_array_mut().unwrap().remove(0);
    assert_eq!(thing.convert(&deleted)["spec"]["mounts"], json!([mounts[1], mounts[2]]));
}

#[test]
fn edited_item_keeps_other_values() {
    let item = |fields: &str| {
        format!("{{rules: {{type: array, items: {{type: object, properties: {{path: {STRING}{fields}}}}}}}}}")
    };
    let thing =
        thing(&item(", comment: {type: string}"), &item(""), "- each: {in: spec.rules, operations: [{drop: comment}]}");
    let rules = json!([{"path": "/1", "comment": "one"}, {"path": "/2", "comment": "two"}]);
    let mut there = thing.comes_home("v1", json!({"rules": rules}));
    there["spec"]["rules"][1]["path"] = json!("/9");
    let expected = json!([rules[0], {"path": "/9", "comment": "two"}]);
    assert_eq!(thing.convert(&there)["spec"]["rules"], expected);
}

#[test]
fn item_at_reused_position_gets_nothing() {
    let item = |fields: &str| {
        format!("{{rules: {{type: array, items: {{type: object, properties: {{path: {STRING}{fields}}}}}}}}}")
    };
    let thing =
        thing(&item(", comment: {type: string}"), &item(""), "- each: {in: spec.rules, operations: [{drop: comment}]}");
    let rules = json!([{"path": "/1", "comment": "one"}, {"path": "/2"}, {"path": "/3"}]);
    let mut there = thing.comes_home("v1", json!({"rules": rules}));
    let edited = json!([{"path": "/2"}, {"path": "/3"}, {"path": "/9"}]);
    there["spec"]["rules"] = edited.clone();
    assert_eq!(thing.convert(&there)["spec"]["rules"], edited, "the first was removed and another one put at the end");
}

#[test]
fn similar_items_keep_own_values() {
    let item = |fields: &str| {
        format!("{{rules: {{type: array, items: {{type: object, properties: {{path: {STRING}{fields}}}}}}}}}")
    };
    let thing =
        thing(&item(", comment: {type: string}"), &item(""), "- each: {in: spec.rules, operations: [{drop: comment}]}");
    let rules = json!([{"path": "/1", "comment": "one"}, {"path": "/2"}, {"path": "/1"}]);
    let mut there = thing.comes_home("v1", json!({"rules": rules}));
    there["spec"]["rules"][0]["path"] = json!("/9");
    let expected = json!([{"path": "/9", "comment": "one"}, {"path": "/2"}, {"path": "/1"}]);
    assert_eq!(thing.convert(&there)["spec"]["rules"], expected);
}

#[test]
fn items_become_objects_and_scalars_again() {
    let objects =
        "{pools: {type: array, items: {type: object, properties: {name: {type: string}, weight: {type: integer}}}}}";
    let strings = "{pools: {type: array, items: {type: string}}}";
    let thing =
        thing(strings, objects, "- each: {in: spec.pools, operations: [{move: {from: ., to: name}}, {add: weight}]}");
    thing.comes_home("v1", json!({"pools": ["a", "b"]}));
    thing.comes_home("v2", json!({"pools": [{"name": "a", "weight": 3}, {"name": "b"}]}));
    thing.comes_home("v2", json!({"pools": [{"weight": 3}, {"name": "b"}, {}]}));
}

#[test]
fn unrepresentable_item_is_kept_whole() {
    let ports = |kind: &str| format!("{{ports: {{type: array, items: {{type: {kind}, nullable: true}}}}}}");
    for kind in ["integer", "number"] {
        let thing = thing(&ports("string"), &ports(kind), "- each: {in: spec.ports, operations: [{type: .}]}");
        let there = thing.comes_home("v1", json!({"ports": ["http", "80", "x", null, "443"]}));
        assert_eq!(there["spec"]["ports"], json!([80, null, 443]), "values without a place do not become null");
    }
}

#[test]
fn unsplittable_value_is_kept() {
    let thing = thing(
        "{hostPort: {type: string}}",
        "{host: {type: string, nullable: true}, port: {type: integer, nullable: true}}",
        "- split: {field: spec.hostPort, into: [spec.host, spec.port], separator: \":\"}",
    );
    for spec in [
        json!({"host": null, "port": 1}),
        json!({"host": "a", "port": null}),
        json!({"port": 1}),
        json!({"host": "a:1"}),
        json!({"host": null}),
    ] {
        thing.comes_home("v2", spec);
    }
    for spec in [json!({"hostPort": "a:01"}), json!({"hostPort": "a"}), json!({"hostPort": ":"})] {
        thing.comes_home("v1", spec);
    }
}

#[test]
fn one_sided_status_is_kept() {
    let thing = thing(
        "{phase: {type: string}}",
        "{state: {type: object, properties: {phase: {type: string}, seen: {type: integer}}}}",
        "- move: {from: spec.phase, to: spec.state.phase}\n- add: spec.state.seen",
    );
    for spec in [
        json!({"state": {"phase": "x", "seen": 3}}),
        json!({"state": {"seen": 3}}),
        json!({"state": {}}),
        json!({"state": null}),
        json!({"state": {"phase": "x"}}),
    ] {
        thing.comes_home("v2", spec);
    }
    // A client that deletes all visible parts deletes the whole field.
    let mut there = thing.comes_home("v2", json!({"state": {"phase": "x", "seen": 3}}));
    there["spec"].as_object_mut().unwrap().remove("phase");
    let home = thing.convert(&there);
    assert_eq!(home["spec"].get("state").and_then(|state| state.get("phase")), None);
}

#[test]
fn server_defaults_are_not_kept() {
    let thing = thing(
        "{port: {type: integer, default: 80}, mode: {type: string, default: a}, net: {type: object, default: {}, properties: {x: {type: string, default: z}}}}",
        "{net2: {type: object, properties: {port: {type: integer}}}, mode: {type: string}}",
        "- move: {from: spec.port, to: spec.net2.port}\n- drop: spec.net\naccept:\n- {path: \"**\", difference: default, reason: each shows its own}",
    );
    let there = thing.comes_home("v2", json!({}));
    assert_eq!(there["spec"], json!({"port": 80, "mode": "a", "net": {"x": "z"}}), "as v1 is read");
}

#[test]
fn out_of_bounds_kept_value_returns() {
    let thing = thing(
        "{size: {type: integer, maximum: 100}, image: {type: string}}",
        "{image: {type: string}}",
        "- drop: spec.size",
    );
    let mut there = thing.comes_home("v1", json!({"size": 500, "image": "a"}));
    there["spec"]["image"] = json!("b");
    assert_eq!(thing.convert(&there)["spec"], json!({"size": 500, "image": "b"}));
}

/// A field that another version cannot represent would break every write of the object, also of its status.
#[test]
fn number_beyond_format_is_kept() {
    let number = |format: &str| format!("{{d: {{type: {format}}}}}");
    for (schema, fits, beyond) in [
        ("integer, format: int32", "2147483647", "3000000000"),
        ("integer, format: int32", "-2147483648", "-2147483649"),
        ("integer, format: int64", "9223372036854775807", "99999999999999999999"),
        ("number, format: float", "1e38", "1e39"),
    ] {
        let thing = thing(&number(schema), &number("string"), "- type: spec.d");
        let there = thing.comes_home("v2", json!({"d": fits}));
        assert!(there["spec"]["d"].is_number(), "{schema}: {there}");
        assert_eq!(thing.comes_home("v2", json!({"d": beyond}))["spec"], json!({}), "{schema}");
    }
    let parts = "{host: {type: string}, port: {type: integer, format: int32}}";
    let operations = "- split: {field: spec.at, into: [spec.host, spec.port], separator: \":\"}";
    let thing = thing("{at: {type: string}}", parts, operations);
    assert_eq!(thing.comes_home("v1", json!({"at": "a:80"}))["spec"], json!({"host": "a", "port": 80}));
    assert!(thing.comes_home("v1", json!({"at": "a:3000000000"}))["spec"]["port"].is_null());
}

#[test]
fn forged_non_integer_is_dropped() {
    for (schema, number) in
        [("{type: integer}", "1e21"), ("{x-kubernetes-int-or-string: true}", "18446744073709551616")]
    {
        let thing = thing(
            &format!("{{size: {schema}, image: {STRING}}}"),
            &format!("{{image: {STRING}}}"),
            "- drop: spec.size",
        );
        let mut there = thing.comes_home("v1", json!({"size": 9_007_199_254_740_993_i64, "image": "a"}));
        let kept = |number: &str| json!(format!("{{\"fields\":{{\"spec.size\":{{\"value\":{number}}}}}}}"));
        assert_eq!(there["metadata"]["annotations"]["pointsman.dev/kept-v1"], kept("9007199254740993"));
        there["metadata"]["annotations"]["pointsman.dev/kept-v1"] = kept(number);
        assert_eq!(thing.convert(&there)["spec"], json!({"image": "a"}), "a typed client fails a list for {number}");
    }
}

#[test]
fn forged_item_is_dropped() {
    let list = |item: &str| format!("{{list: {{type: array, items: {{type: {item}}}}}}}");
    let thing = thing(&list("string"), &list("integer"), "- each: {in: spec.list, operations: [{type: .}]}");
    let mut there = thing.comes_home("v1", json!({"list": ["1", "x"]}));
    let kept = &mut there["metadata"]["annotations"]["pointsman.dev/kept-v1"];
    let forged = kept.as_str().unwrap().replace("\"x\"", "null");
    assert_ne!(forged, kept.as_str().unwrap());
    *kept = json!(forged);
    assert_eq!(thing.convert(&there)["spec"], json!({"list": ["1"]}));
}

#[test]
fn list_name_identifies_no_item() {
    let list = |more: &str| {
        format!(
            "{{list: {{type: array, items: {{type: object, required: [name], properties: {{name: {{type: array, items: {STRING}}}{more}}}}}}}}}"
        )
    };
    let thing = thing(&list(", c: {type: string}"), &list(""), "- each: {in: spec.list, operations: [{drop: c}]}");
    let mut there = thing.comes_home("v1", json!({"list": [{"name": ["a", "b"], "c": "1"}]}));
    there["spec"]["list"][0]["name"] = json!(["a"]);
    assert_eq!(
        thing.convert(&there)["spec"],
        json!({"list": [{"name": ["a"], "c": "1"}]}),
        "it is edited, not another"
    );
}

#[test]
fn long_result_is_written_once() {
    let thing = thing("{a: {type: string}}", "{a: {type: array, items: {type: string}}}", "- wrap: spec.a");
    let (long, other) = ("x".repeat(10_000), "y".repeat(10_000));
    let mut there = thing.comes_home("v2", json!({"a": [long, "b"]}));
    let kept = there["metadata"]["annotations"]["pointsman.dev/kept-v2"].as_str().unwrap().len();
    assert!(kept < 10_100, "{kept} bytes");
    there["spec"]["a"] = json!(other);
    assert_eq!(thing.convert(&there)["spec"], json!({"a": [other]}), "an edit wins over a kept value with a digest");
}

#[test]
fn one_sided_option_is_carried() {
    let mode = |options: &str| format!("{{mode: {{type: string, enum: [{options}]}}, image: {STRING}}}");
    let older = mode("fast, slow").replace("{mode", "{b: {type: string}, mode");
    let operations = "- drop: spec.b\naccept:\n- {path: spec.mode, difference: enum, reason: slow is gone}";
    let thing = thing(&older, &mode("fast"), operations);
    // Clients of v2 read the value and may write it back unchanged: the API server validates only changes.
    let there = thing.comes_home("v1", json!({"mode": "slow", "image": "a"}));
    assert_eq!(there["spec"]["mode"], "slow");
}

#[test]
fn item_keys_move_with_parent() {
    let item = |outer: &str, fields: &str| {
        format!(
            "{{list: {{type: array, items: {{type: object, properties: {{{outer}: {{type: object, properties: {{name: {STRING}}}}}, v: {STRING}{fields}}}}}}}}}"
        )
    };
    let thing = thing(
        &item("meta", ", c: {type: string}"),
        &item("info", ""),
        "- each: {in: spec.list, key: meta.name, operations: [{rename: {from: meta, to: info}}, {drop: c}]}",
    );
    let list = json!([{"meta": {"name": "a"}, "c": "1"}, {"meta": {"name": "b"}, "c": "2"}]);
    let mut there = thing.comes_home("v1", json!({"list": list}));
    there["spec"]["list"].as_array_mut().unwrap().reverse();
    there["spec"]["list"][0]["v"] = json!("edited");
    let home = thing.convert(&there);
    assert_eq!(home["spec"]["list"][0]["c"], "2", "{home}");
}

#[test]
fn mixed_versions_do_not_nest() {
    let thing = thing("{a: {type: string}, b: {type: string}}", "{a: {type: string}}", "- drop: spec.b");
    let mut object = object("v1", json!({"a": "x", "b": "y"}));
    let mut sizes = Vec::new();
    for _ in 0..6 {
        let there = thing.convert(&object);
        sizes.push(there.to_string().len());
        object = there;
        // A tool reads at v2 and writes the result as v1.
        object["apiVersion"] = json!("example.com/v1");
        object["spec"]["b"] = json!("y");
    }
    assert!(sizes.iter().all(|size| *size <= sizes[1]), "{sizes:?}");
}
