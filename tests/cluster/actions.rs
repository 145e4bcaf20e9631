//! Actions of users, with the number of conversions that the source of the API server implies.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::ctx::TestContext;

/// One row: the action at the storage version or at the other version, and the expected number of conversions.
pub(crate) struct Row {
    pub(crate) action: &'static str,
    pub(crate) stored: &'static str,
    pub(crate) other: &'static str,
    pub(crate) act: fn(&TestContext<'_>, &str, &str),
}

/// Expected numbers for the storage version and for the other version, with a warm cache of the other version.
pub(crate) const ROWS: &[Row] = &[
    Row { action: "GET", stored: "0", other: "1", act: |s, v, n| drop(s.get(v, n).ok()) },
    Row {
        action: "GET with resourceVersion=0",
        stored: "0",
        other: "0",
        act: |s, v, n| drop(s.call_get(&format!("{}?resourceVersion=0", s.one(v, n)))),
    },
    Row { action: "LIST", stored: "0", other: "0", act: |s, v, _| drop(s.list(v).ok()) },
    Row {
        action: "WATCH, opened",
        stored: "0",
        other: "0",
        act: |s, v, _| {
            let path = format!("{}?watch=1&resourceVersion=0", s.all(v));
            s.test_cluster.api.client.watch(&path, 1, Duration::from_millis(300));
        },
    },
    Row {
        action: "CREATE",
        stored: "1",
        other: "3",
        act: |s, v, n| drop(s.create(v, &s.object(v, &format!("{n}-new"))).ok()),
    },
    Row {
        action: "UPDATE that changes something",
        stored: "1",
        other: "4",
        act: |s, v, n| drop(s.update(v, n, &with_label(&s.get(v, n).ok(), "update")).ok()),
    },
    Row {
        action: "PATCH that changes something",
        stored: "1",
        other: "4",
        act: |s, v, n| drop(s.patch(v, n, &label("patch")).ok()),
    },
    Row {
        action: "PATCH that changes nothing",
        stored: "0",
        other: "3",
        act: |s, v, n| drop(s.patch(v, n, &json!({})).ok()),
    },
    Row {
        action: "PATCH of the status",
        stored: "1",
        other: "4",
        act: |s, v, n| drop(s.patch(v, &format!("{n}/status"), &json!({"status": {"phase": v}})).ok()),
    },
    Row {
        action: "PATCH of an object that the other version wrote too",
        stored: "4",
        other: "7",
        act: |s, v, n| {
            let name = format!("{n}-mixed");
            drop(s.patch(v, &name, &label("mixed")).ok());
        },
    },
    Row {
        action: "server-side apply, new object",
        stored: "1",
        other: "3",
        act: |s, v, n| drop(s.apply(v, &format!("{n}-applied"), &s.object(v, &format!("{n}-applied")), "me").ok()),
    },
    Row {
        action: "server-side apply, no change",
        stored: "0",
        other: "3",
        act: |s, v, n| drop(s.apply(v, &format!("{n}-applied"), &s.object(v, &format!("{n}-applied")), "me").ok()),
    },
    Row {
        action: "server-side apply by a second manager at the same version",
        stored: "1",
        other: "4",
        act: |s, v, n| drop(s.apply(v, &format!("{n}-applied"), &s.object(v, &format!("{n}-applied")), "you").ok()),
    },
    Row {
        action: "server-side apply over another version's manager",
        stored: "6 to 9",
        other: "9 to 12",
        act: |s, v, n| drop(s.apply(v, &format!("{n}-mixed"), &s.object(v, &format!("{n}-mixed")), "me").ok()),
    },
    Row { action: "DELETE", stored: "1", other: "3", act: |s, v, n| drop(s.delete(v, n).ok()) },
];

fn label(value: &str) -> Value {
    json!({"metadata": {"labels": {"measured": value}}})
}

fn with_label(object: &Value, value: &str) -> Value {
    let mut object = object.clone();
    object["metadata"]["labels"] = json!({"measured": value});
    object
}
