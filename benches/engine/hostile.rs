//! The longest time that a request body can occupy a thread: `cargo bench -p pointsman-core --bench engine -- hostile`.
//!
//! The bodies are those of the memory tests (`crates/core/tests/memory`), of 128 KiB each, and bodies full of items
//! with kept values. The server decides small bodies on the threads that serve connections. The last column determines
//! the limit for small bodies (`crates/server/src/request/request_handler.rs`).

use std::cmp::Reverse;
use std::hint::black_box;
use std::time::Duration;

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Request, Webhook, weight};
use serde_json::{Value, json};

use crate::bodies;
use crate::{Row, timed};

/// The measured time of a body.
struct Measured {
    name: String,
    weight: u64,
    bytes: usize,
    time: Duration,
}

impl Measured {
    fn nanoseconds_for_each(&self, count: u64) -> f64 {
        self.time.as_secs_f64() * 1e9 / count as f64
    }
}

/// Prints the slowest bodies, and the two numbers from which limits are derived.
pub(crate) fn main() -> bool {
    let webhook = webhook();
    let mut measured = Vec::new();
    let mut bodies = bodies::all();
    bodies.extend(kept(&webhook));
    for (name, endpoint, body) in bodies {
        let run = || drop(black_box(webhook.handle(&Request::new(endpoint, black_box(body.as_bytes())))));
        let row = Row { name, objects: 1, bytes: body.len(), run: Box::new(run) };
        let weight = weight(endpoint, body.as_bytes());
        let timed = timed(vec![row], 3).into_iter();
        measured.extend(timed.map(|(Row { name, bytes, .. }, time)| Measured { name, weight, bytes, time }));
    }
    measured.sort_by_key(|one| Reverse(one.time));
    println!("{:>9} {:>9} {:>8} {:>9} body", "ms", "KiB", "ns/byte", "ns/weight");
    let (mut of_bytes, mut of_weight) = (0.0, 0.0);
    for (at, one) in measured.iter().enumerate() {
        let each = (one.nanoseconds_for_each(one.bytes as u64), one.nanoseconds_for_each(one.weight));
        (of_bytes, of_weight) = (each.0.max(of_bytes), each.1.max(of_weight));
        if at < SHOWN {
            let (ms, kib) = (one.time.as_secs_f64() * 1e3, one.bytes as f64 / 1024.0);
            println!("{ms:>9.2} {kib:>9.0} {:>8.1} {:>9.2} {}", each.0, each.1, one.name);
        }
    }
    println!("at most {of_bytes:.1} ns a byte, {of_weight:.2} ns a byte of weight");
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

/// Objects full of items with kept values, converted to the other version and back.
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

/// The maximum size of a body in bytes, as for the other bodies.
const SIZE: usize = 128 << 10;

const SHOWN: usize = 25;
