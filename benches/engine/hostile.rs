//! How long a body can hold a thread: `cargo bench -p pointsman-core --bench engine -- hostile`.
//!
//! The bodies are those by which memory is measured (`crates/core/tests/memory`), of 128 KiB each, and such that are
//! full of items which keep something. The server decides small bodies on the threads that serve connections; which
//! ones are small follows from the last column (`crates/server/src/decide.rs`).

use std::hint::black_box;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook, weight};
use serde_json::{Value, json};

use crate::bodies;
use crate::{Row, timed};

/// Prints the bodies that take longest, and the two numbers that limits are made of.
pub(crate) fn main() -> bool {
    let webhook = webhook();
    let mut measured: Vec<(String, u64, usize, Duration)> = Vec::new();
    let mut bodies = bodies::all();
    bodies.extend(kept(&webhook));
    for (name, endpoint, body) in bodies {
        let run = || drop(black_box(webhook.handle(endpoint, black_box(body.as_bytes()))));
        let row = Row { name, objects: 1, bytes: body.len(), run: Box::new(run) };
        let weight = weight(endpoint, body.as_bytes());
        measured.extend(timed(vec![row], 3).into_iter().map(|(row, time)| (row.name, weight, row.bytes, time)));
    }
    let of_a_byte = |(_, _, bytes, time): &(String, u64, usize, Duration)| time.as_secs_f64() * 1e9 / *bytes as f64;
    let of_weight = |(_, weight, _, time): &(String, u64, usize, Duration)| time.as_secs_f64() * 1e9 / *weight as f64;
    measured.sort_by(|one, other| other.3.cmp(&one.3));
    println!("{:>9} {:>9} {:>8} {:>9} body", "ms", "KiB", "ns/byte", "ns/weight");
    for one in measured.iter().take(SHOWN) {
        let (ms, kib) = (one.3.as_secs_f64() * 1e3, one.2 as f64 / 1024.0);
        println!("{ms:>9.2} {kib:>9.0} {:>8.1} {:>9.2} {}", of_a_byte(one), of_weight(one), one.0);
    }
    let most = |of: &dyn Fn(&(String, u64, usize, Duration)) -> f64| measured.iter().map(of).fold(0.0, f64::max);
    println!("at most {:.1} ns a byte, {:.2} ns a byte of weight", most(&of_a_byte), most(&of_weight));
    true
}

fn webhook() -> Webhook {
    let mut kinds = Kind::embedded().expect("built-in kinds");
    kinds.extend(["engines", "gadgets", "mailboxes", "proxies", "widgets"].map(load));
    Webhook::new(kinds, Metadata::Identity).expect("kinds of different names")
}

fn load(name: &str) -> Kind {
    let read =
        |file: &str| std::fs::read_to_string(format!("{}/../../tests/data/kinds/{file}", env!("CARGO_MANIFEST_DIR")));
    let file = format!("{name}.yaml");
    Kind::load(&file, &read(&file).expect("a definition"), &mut |file| read(file)).expect("a definition")
}

/// Objects full of items of which each version keeps something for the other, on their way there, and home.
fn kept(webhook: &Webhook) -> Vec<(String, Endpoint, String)> {
    let filter = |at: usize| json!({"id": at.to_string(), "target": "t", "hint": "h", "tag": "", "parts": [{"size": "1", "a": {"b": 1}}]});
    let sieve = |at: usize| json!({"name": at.to_string(), "stop": true, "targets": ["t", "u"], "parts": [{"size": 1, "unit": "k"}]});
    let route = |at: usize| json!({"path": "/", "weight": at.to_string(), "debug": true, "backend": "a:1", "headers": [{"key": "k", "value": "v", "legacy": true}]});
    let rule = |at: usize| json!({"action": "a", "mode": "on", "comment": at.to_string()});
    let zone = |at: usize| json!({"region": "r", "cidr": at.to_string(), "legacy": true, "tags": ["1", "2"]});
    let mut all = Vec::new();
    let mut add = |name: &str, object: &dyn Fn(usize) -> Value, to: &str| {
        let mut items = 16;
        while object(items * 2).to_string().len() < SIZE {
            items *= 2;
        }
        let there = object(items);
        let version = there["apiVersion"].as_str().expect("a version").to_owned();
        let back = webhook.convert(&there.to_string(), to).expect("converted").text;
        let group_to = format!("example.com/{to}");
        all.push((format!("{items} {name}"), Endpoint::Convert, bodies::review(&format!("[{there}]"), &group_to)));
        all.push((format!("{items} {name}, home"), Endpoint::Convert, bodies::review(&format!("[{back}]"), &version)));
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let kind = json!({"group": "example.com", "version": "v1", "kind": there["kind"]});
            let old: Value = serde_json::from_str(&back).expect("JSON");
            let request = json!({"uid": "u", "operation": "UPDATE", "kind": kind, "object": old, "oldObject": old});
            let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
            all.push((format!("{items} {name}, home, {endpoint:?}"), endpoint, review.to_string()));
        }
    };
    let mailbox = |version: &str, spec: Value| json!({"apiVersion": format!("example.com/{version}"), "kind": "Mailbox", "metadata": {"name": "a"}, "spec": spec});
    let proxy = |spec: Value| json!({"apiVersion": "example.com/v1alpha1", "kind": "Proxy", "metadata": {"name": "a"}, "spec": spec});
    let list = |count: usize, item: &dyn Fn(usize) -> Value| (0..count).map(item).collect::<Vec<_>>();
    add("filters", &|count| mailbox("v1", json!({"filters": list(count, &filter)})), "v2");
    add("sieves", &|count| mailbox("v2", json!({"sieve": {"filters": list(count, &sieve)}})), "v1");
    add("aliases", &|count| mailbox("v1", json!({"aliases": list(count, &|at| json!(at.to_string()))})), "v2");
    add("routes", &|count| proxy(json!({"routes": list(count, &route)})), "v1");
    add("rules", &|count| proxy(json!({"rules": list(count, &rule)})), "v1");
    add("zones", &|count| proxy(json!({"zones": list(count, &zone)})), "v1");
    add(
        "headers",
        &|count| {
            let header = |at: usize| json!({"key": at.to_string(), "value": "v", "legacy": true});
            proxy(json!({"routes": [{"path": "/", "headers": list(count, &header)}]}))
        },
        "v1",
    );
    all
}

/// As long as the others, at most.
const SIZE: usize = 128 << 10;

const SHOWN: usize = 25;
