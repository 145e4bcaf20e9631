//! The exact result of each operation.

use pointsman_core::webhook::FactValue;
use serde_json::{Value, json};

use super::{as_json, definition, deployment, patch, replaces, with_mutations};

/// Checks the Pod after an operation, and after repeating the operation.
#[track_caller]
fn makes(operation: &str, pod: &Value, wanted: &Value) {
    let webhook = with_mutations(&definition(&format!("[{operation}]"), "[]"));
    let object = deployment("kcm", pod);
    let made = replaces(&webhook, FactValue::False, &object);
    assert_eq!(made["spec"]["template"]["spec"], *wanted, "{operation}");
    assert_eq!(replaces(&webhook, FactValue::False, &made), made, "{operation} once more");
}

fn command(words: &[&str]) -> Value {
    json!({"containers": [{"name": "kcm", "command": words}]})
}

#[test]
fn flags_are_set_where_they_stand() {
    let external = "{flag: {name: --cloud-provider, value: external}}";
    for (before, after) in [
        (&["kcm"][..], &["kcm", "--cloud-provider=external"][..]),
        (&["kcm", "--cloud-provider=aws", "--v=2"], &["kcm", "--cloud-provider=external", "--v=2"]),
        (&["kcm", "--cloud-provider", "aws", "--v=2"], &["kcm", "--cloud-provider", "external", "--v=2"]),
        (&["kcm", "--cloud-provider", "--v=2"], &["kcm", "--cloud-provider=external", "--v=2"]),
        (
            &["kcm", "--cloud-provider=aws", "--v=2", "--cloud-provider=gce"],
            &["kcm", "--cloud-provider=external", "--v=2"],
        ),
        (&["kcm", "--cloud-provider-x=aws"], &["kcm", "--cloud-provider-x=aws", "--cloud-provider=external"]),
        (&["kcm", "-", "--cloud-provider", "-"], &["kcm", "-", "--cloud-provider", "external"]),
        // The program that owns these flags is unknown.
        (&["tini", "--", "kcm"], &["tini", "--", "kcm"]),
        (&["/bin/sh", "-ec", "kcm", "--cloud-provider=aws"], &["/bin/sh", "-ec", "kcm", "--cloud-provider=aws"]),
    ] {
        makes(external, &command(before), &command(after));
    }
    makes("{flag: {name: --lead}}", &command(&["kcm", "--lead=false"]), &command(&["kcm", "--lead"]));
    makes("{flag: {name: --lead}}", &command(&["kcm", "--lead=true", "x"]), &command(&["kcm", "--lead=true", "x"]));
    let behind = json!({"containers": [{"name": "kcm", "command": ["kcm"], "args": ["--", "x"]}]});
    let made = json!({"containers": [{"name": "kcm", "command": ["kcm"], "args": ["--v=2", "--", "x"]}]});
    makes("{flag: {name: --v, value: 2}}", &behind, &made);
    let privileged = "{flag: {name: --allow-privileged, value: 'true'}}";
    makes(privileged, &command(&["--allow-privileged", "kcm"]), &command(&["--allow-privileged=true", "kcm"]));
    makes(privileged, &command(&["--allow-privileged", "false"]), &command(&["--allow-privileged", "true"]));
    makes("{flag: {name: --v, value: 2}}", &command(&["kcm"]), &command(&["kcm", "--v=2"]));
    // Numbers are values, not flags.
    for value in ["0", "1", "2"] {
        let wanted = command(&["kcm", "--v", value, "--x"]);
        makes(&format!("{{flag: {{name: --v, value: {value}}}}}"), &command(&["kcm", "--v", "4", "--x"]), &wanted);
    }
    makes(privileged, &command(&["--allow-privileged", "0"]), &command(&["--allow-privileged", "true"]));
}

#[test]
fn shell_script_is_left_alone() {
    let flag = "{flag: {name: --new, value: 'yes'}}";
    let left = |words: &[&str]| makes(flag, &command(words), &command(words));
    for words in [
        &["/bin/bash", "-o", "pipefail", "-c", "exec x --new=a"][..],
        &["bash", "-euo", "pipefail", "-c", "x"],
        &["bash", "+x", "-c", "x"],
        &["bash", "+o", "posix", "-lc", "x"],
        &["bash", "--rcfile", "f", "-c", "x"],
        &["bash", "-co", "pipefail", "x"],
        &["env", "A=b", "sh", "-c", "x"],
        &["/bin/busybox", "sh", "-c", "x"],
        &["nice", "-n", "5", "/usr/bin/zsh", "-c", "x"],
        &["fish", "--command=x"],
        &["su", "postgres", "-c", "x"],
    ] {
        left(words);
    }
    // Here the words belong to one program.
    for words in [
        &["sh", "run.sh", "-c", "conf"][..],
        &["bash", "-o", "pipefail", "run.sh", "-c", "conf"],
        &["kcm", "-c", "conf"],
        &["sh", "-x", "run.sh"],
        &["kcm", "--shell=/bin/bash", "-c", "conf"],
        &["env", "SHELL=/bin/bash", "kcm", "-c", "conf"],
    ] {
        let after: Vec<&str> = words.iter().copied().chain(["--new=yes"]).collect();
        makes(flag, &command(words), &command(&after));
    }
}

#[test]
fn flag_is_added_after_flags() {
    let both = |args: &[&str]| json!({"containers": [{"name": "kcm", "command": ["kcm"], "args": args}]});
    makes("{flag: {name: --a, value: b}}", &both(&["--x=y"]), &both(&["--x=y", "--a=b"]));
    makes("{flag: {name: --x, value: b}}", &both(&["--x", "y"]), &both(&["--x", "b"]));
    let bare = json!({"containers": [{"name": "kcm"}]});
    makes("{flag: {name: --a, value: b}}", &bare, &json!({"containers": [{"name": "kcm", "args": ["--a=b"]}]}));
    // A program receives command and args as one list.
    let split = |value: &str| json!({"containers": [{"name": "kcm", "command": ["kcm", "--x"], "args": [value]}]});
    makes("{flag: {name: --x, value: b}}", &split("y"), &split("b"));
}

#[test]
fn flags_keep_their_values() {
    for (before, after) in [
        (&["kcm", "--cloud-config=/a", "--v=2"][..], &["kcm", "--v=2"][..]),
        (&["kcm", "--cloud-config", "/a", "--v=2"], &["kcm", "--v=2"]),
        (&["kcm", "--cloud-config", "--v=2", "--cloud-config=/b"], &["kcm", "--v=2"]),
        (&["kcm", "--cloud-config-x=/a"], &["kcm", "--cloud-config-x=/a"]),
    ] {
        makes("{noFlag: --cloud-config}", &command(before), &command(after));
    }
    makes("{noFlag: {name: --lead, switch: true}}", &command(&["kcm", "--lead", "x"]), &command(&["kcm", "x"]));
    let args = json!({"containers": [{"name": "kcm", "args": ["--cloud-config=/a"]}]});
    makes("{noFlag: --cloud-config}", &args, &json!({"containers": [{"name": "kcm"}]}));
}

#[test]
fn entries_of_a_list_with_commas() {
    let gates = "{flagEntries: {name: --gates, entries: {A: 'true', B: false}}}";
    for (before, after) in [
        (&["kcm"][..], &["kcm", "--gates=A=true,B=false"][..]),
        (&["kcm", "--gates=C=true"], &["kcm", "--gates=C=true,A=true,B=false"]),
        (&["kcm", "--gates", "B=true,C=true"], &["kcm", "--gates", "B=false,C=true,A=true"]),
        (&["kcm", "--gates="], &["kcm", "--gates=A=true,B=false"]),
        (
            &["kcm", "--gates=A=false", "--gates=C=true,A=true"],
            &["kcm", "--gates=A=true", "--gates=C=true,A=true,B=false"],
        ),
        (&["kcm", "--gates=A=true, B=false"], &["kcm", "--gates=A=true, B=false"]),
    ] {
        makes(gates, &command(before), &command(after));
    }
    let without = "{noFlagEntries: {name: --gates, entries: [A, B]}}";
    for (before, after) in [
        (&["kcm", "--gates=A=true,C=true,B"][..], &["kcm", "--gates=C=true"][..]),
        (&["kcm", "--gates=A=true", "--x"], &["kcm", "--x"]),
        (&["kcm", "--gates", "A=true", "--x"], &["kcm", "--x"]),
        (&["kcm", "--gates=AA=true"], &["kcm", "--gates=AA=true"]),
    ] {
        makes(without, &command(before), &command(after));
    }
    let plugins = "{flagEntries: {name: --plugins, entries: [Label]}}";
    makes(plugins, &command(&["kcm", "--plugins=Node"]), &command(&["kcm", "--plugins=Node,Label"]));
}

#[test]
fn items_of_lists() {
    let pod = |volumes: Value| json!({"containers": [{"name": "kcm"}], "volumes": volumes});
    let cloud = json!({"name": "cloud", "secret": {"secretName": "s", "defaultMode": 420}});
    let (logs, tmp) = (json!({"name": "logs", "emptyDir": {}}), json!({"name": "tmp", "emptyDir": {}}));
    let no_cloud = "{noItem: {list: volumes, key: name, value: cloud}}";
    makes(no_cloud, &pod(json!([logs, cloud, tmp])), &pod(json!([logs, tmp])));
    makes(no_cloud, &pod(json!([logs])), &pod(json!([logs])));
    makes(no_cloud, &pod(json!([cloud])), &json!({"containers": [{"name": "kcm"}]}));
    let item = "{item: {list: volumes, value: {name: cloud, secret: {secretName: s}}}}";
    makes(item, &pod(json!([logs, cloud])), &pod(json!([logs, cloud])));
    let other = json!({"name": "cloud", "secret": {"secretName": "t", "defaultMode": 420}});
    makes(item, &pod(json!([other, logs])), &pod(json!([cloud, logs])));
    let added = json!({"name": "cloud", "secret": {"secretName": "s"}});
    makes(item, &pod(json!([logs])), &pod(json!([logs, added])));
    makes(item, &json!({"containers": [{"name": "kcm"}]}), &pod(json!([added])));
    // A null member is removed, and of two items with the same key both are changed.
    let source = "{item: {list: volumes, value: {name: cloud, emptyDir: {}, secret: null}}}";
    let empty = json!({"name": "cloud", "emptyDir": {}});
    makes(source, &pod(json!([cloud, logs, cloud])), &pod(json!([empty, logs, empty])));
    makes(source, &pod(json!([logs])), &pod(json!([logs, empty])));
    let mounts = |mounts: Value| json!({"containers": [{"name": "kcm", "volumeMounts": mounts}]});
    let mount = "{noItem: {of: kcm, list: volumeMounts, key: mountPath, value: /etc}}";
    makes(mount, &mounts(json!([{"mountPath": "/etc"}, {"mountPath": "/x"}])), &mounts(json!([{"mountPath": "/x"}])));
}

#[test]
fn fields() {
    let webhook = with_mutations(&definition(
        "[{set: {field: spec.strategy, value: {type: Recreate}}}, {set: {field: 'metadata.labels[\"a.b/c\"]', value: x}}, \
         {set: {field: hostNetwork, value: true}}, {set: {of: kcm, field: resources.limits.cpu, value: 1}}]",
        "[{unset: spec.strategy}, {unset: {of: kcm, field: resources.limits}}]",
    ));
    let object = deployment("kcm", &json!({"containers": [{"name": "kcm", "resources": null}]}));
    let before = replaces(&webhook, FactValue::False, &object);
    assert_eq!(before["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(before["metadata"]["labels"], json!({"a.b/c": "x"}));
    let pod = &before["spec"]["template"]["spec"];
    assert_eq!(
        *pod,
        json!({"containers": [{"name": "kcm", "resources": {"limits": {"cpu": 1}}}], "hostNetwork": true})
    );
    let after = replaces(&webhook, FactValue::True, &before);
    assert!(after["spec"].get("strategy").is_none());
    assert_eq!(after["spec"]["template"]["spec"]["containers"][0]["resources"], json!({}));
    // A value of another type is not replaced.
    let mut odd = object;
    odd["metadata"]["labels"] = json!(["x"]);
    assert_eq!(replaces(&webhook, FactValue::False, &odd)["metadata"]["labels"], json!(["x"]));
}

#[test]
fn which_container_is_meant() {
    let named = |names: &[&str]| -> Value {
        let all: Vec<Value> = names.iter().map(|name| json!({"name": name, "args": []})).collect();
        json!({"containers": all, "initContainers": [{"name": "init", "args": []}]})
    };
    let touched = |operation: &str, names: &[&str]| -> Vec<String> {
        let webhook = with_mutations(&definition(&format!("[{operation}]"), "[]"));
        let patch = patch(&webhook, FactValue::False, &deployment("kcm", &named(names)).to_string(), None);
        patch
            .into_iter()
            .map(|operation| operation.path.trim_start_matches("/spec/template/spec/").to_owned())
            .collect()
    };
    let own = "{flag: {name: --a}}";
    assert_eq!(touched(own, &["vpn", "kcm"]), ["containers/1/args/0"]);
    assert_eq!(touched(own, &["vpn"]), ["containers/0/args/0"], "the only one");
    assert_eq!(touched(own, &["vpn", "proxy"]), [""; 0], "the affected item is ambiguous");
    assert_eq!(touched("{flag: {of: vpn, name: --a}}", &["kcm", "vpn"]), ["containers/1/args/0"]);
    assert_eq!(touched("{flag: {of: init, name: --a}}", &["kcm"]), ["initContainers/0/args/0"]);
    assert_eq!(touched("{flag: {of: other, name: --a}}", &["kcm"]), [""; 0]);
}

#[test]
fn patch_is_minimal() {
    let webhook = with_mutations(&definition(
        "[{flag: {name: --a, value: b}}, {noItem: {list: volumes, value: cloud}}, {flagEntries: {name: --g, entries: {A: 'true'}}}]",
        "[]",
    ));
    // Numbers and spellings that a library would change.
    let object = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kcm", "generation": 1e21},
        "spec": {"x": 1.0, "template": {"spec": {"containers": [{"name": "kcm",
            "command": [ "k\u0063m", "--a=x", "--g=B=true" ], "n": 9007199254740993}],
        "volumes": [{"name": "logs"}, {"name": "cloud"}]}}}}"#;
    let patch = as_json(&patch(&webhook, FactValue::False, object, None));
    assert_eq!(
        patch,
        json!([
            {"op": "replace", "path": "/spec/template/spec/containers/0/command/1", "value": "--a=b"},
            {"op": "replace", "path": "/spec/template/spec/containers/0/command/2", "value": "--g=B=true,A=true"},
            {"op": "remove", "path": "/spec/template/spec/volumes/1"},
        ])
    );
}

#[test]
fn hostile_command_line_is_bounded() {
    let webhook = with_mutations(&definition("[{noFlag: --a}]", "[]"));
    let words = vec!["--a=b"; 20_000];
    let patch = patch(&webhook, FactValue::False, &deployment("kcm", &command(&words)).to_string(), None);
    assert_eq!(as_json(&patch), json!([{"op": "remove", "path": "/spec/template/spec/containers/0/command"}]));
}
