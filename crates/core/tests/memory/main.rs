//! What a decision costs in memory, counted at the allocator: no more than the server has put aside for it,
//! whatever is in the body; and twice as much of anything costs twice as much.
//!
//! A binary of its own: its bodies take seconds, and it is the law that the server relies on.

// Here clippy's allowances for tests hold in helpers, too.
#![cfg(test)]

mod bodies;
mod giving;
mod hostile;

use allocation_counter::measure;
use hostile::{Hostile, HostileObject, admission, review};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Webhook};
use serde_json::Value;

/// About as long as each body is, in bytes. `POINTSMAN_SIZE` names another length.
fn size(default: usize) -> usize {
    std::env::var("POINTSMAN_SIZE").map_or(default, |size| size.parse().unwrap())
}

/// Kinds with lists and maps of items, each with its own server. `POINTSMAN_KINDS=all` takes all kinds there are here.
fn servers() -> Vec<Webhook> {
    let mut kinds = vec![giving::kind(), load("mailboxes"), load("proxies")];
    if std::env::var("POINTSMAN_KINDS").is_ok_and(|kinds| kinds == "all") {
        kinds.extend(["engines", "gadgets", "widgets"].map(load));
        kinds.extend(Kind::embedded().unwrap());
    }
    kinds.into_iter().map(|kind| Webhook::new(vec![kind], Metadata::Identity).unwrap()).collect()
}

/// What was heavier than its weight, and how heavy the heaviest were.
#[derive(Default)]
struct Weighed {
    over: Vec<String>,
    ratios: Vec<(u64, String)>,
}

impl Weighed {
    fn weigh(&mut self, webhook: &Webhook, name: &str, endpoint: Endpoint, body: &str) {
        let held = measure(|| drop(webhook.handle(endpoint, body.as_bytes()))).bytes_max;
        let weight = webhook.weight(endpoint, body.as_bytes());
        if held > weight {
            eprintln!("OVER {name}: {held} of {weight}, {} bytes", body.len());
            self.over.push(format!("{name}: {held} of {weight}, {} bytes", body.len()));
        }
        self.ratios.push((held * 100 / weight, format!("of {weight:9}: {name}, {} bytes", body.len())));
    }

    fn end(mut self) {
        self.ratios.sort();
        for (ratio, name) in self.ratios.iter().rev().take(40) {
            println!("{ratio:4} % {name}");
        }
        assert!(self.over.is_empty(), "{} of {}: {:#?}", self.over.len(), self.ratios.len(), self.over);
    }
}

#[test]
fn a_decision_takes_no_more_than_its_weight() {
    let mut kinds = Kind::embedded().unwrap();
    kinds.extend(["mailboxes", "proxies"].map(load));
    let webhook = Webhook::new(kinds, Metadata::Identity).unwrap();
    let mut weighed = Weighed::default();
    for (name, endpoint, body) in bodies::all() {
        weighed.weigh(&webhook, &name, endpoint, &body);
    }
    weighed.end();
}

/// Items that keep something, items that are given much, and items behind a long key: by weight, and twice as many.
#[test]
fn items_take_no_more_than_their_weight() {
    let mut weighed = Weighed::default();
    let proxy = "{\"apiVersion\":\"example.com/v1alpha1\",\"kind\":\"Proxy\",\"metadata\":{\"name\":\"a\"},\"spec\":";
    let giver =
        "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Giver\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":";
    let cases = [
        (load("proxies"), "example.com/v1beta1", proxy, "{\"debug\":true}"),
        (load("proxies"), "example.com/v1", proxy, "{\"debug\":true}"),
        (giving::kind(), "example.com/v3", giver, "{}"),
    ];
    for (kind, to, head, item) in cases {
        let list = if head == proxy { "routes" } else { "list" };
        let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
        let taken = [20_000, 40_000].map(|count| {
            let object = format!("{head}{{\"{list}\":[{}]}}}}", vec![item; count].join(","));
            let body = review(&object, to);
            weighed.weigh(&webhook, &format!("{count} of {item} to {to}"), Endpoint::Convert, &body);
            measure(|| drop(webhook.handle(Endpoint::Convert, body.as_bytes()))).bytes_total
        });
        assert!(taken[1] as f64 <= taken[0] as f64 * 2.2, "{item}: {taken:?}");
    }
    weighed.end();
}

/// Whatever a kind's lists, maps and fields are filled with.
#[test]
#[ignore = "a search that takes many minutes"]
fn a_decision_about_any_kind_takes_no_more_than_its_weight() {
    let mut weighed = Weighed::default();
    for webhook in servers() {
        for Hostile { name, endpoint, body } in hostile::bodies(&webhook.kinds()[0], size(64 << 10)) {
            weighed.weigh(&webhook, &name, endpoint, &body);
        }
    }
    weighed.end();
}

/// What comes home, with all that was kept of it; and where somebody has turned its lists round.
#[test]
#[ignore = "a search that takes many minutes"]
fn what_comes_home_takes_no_more_than_its_weight() {
    let mut weighed = Weighed::default();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        for HostileObject { name, text, at, others } in hostile::objects(kind, size(12 << 10)) {
            for to in others {
                let Ok(there) = webhook.convert(&text, &to) else { continue };
                let mut turned: Value = serde_json::from_str(&there.text).unwrap();
                turn(&mut turned["spec"]);
                for (how, there) in [("home", there.text), ("turned round", turned.to_string())] {
                    let name = format!("{name}, {how} from {to}");
                    let body = review(&there, &format!("{}/{at}", kind.group()));
                    weighed.weigh(&webhook, &name, Endpoint::Convert, &body);
                    for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
                        let body = admission(kind, &there, &there.replacen("\"a\"", "\"b\"", 1));
                        weighed.weigh(&webhook, &format!("{name}, {endpoint:?}"), endpoint, &body);
                    }
                }
            }
        }
    }
    weighed.end();
}

/// Many objects in one review: what each of them is given stands in one answer.
#[test]
#[ignore = "a search that takes many minutes"]
fn many_objects_take_no_more_than_their_weight() {
    let mut weighed = Weighed::default();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        for HostileObject { name, text, others, .. } in hostile::objects(kind, 1) {
            let objects = vec![&*text; 1 + (size(64 << 10) / text.len())].join(",");
            for to in others {
                let body = review(&objects, &format!("{}/{to}", kind.group()));
                weighed.weigh(&webhook, &format!("{name}, many, to {to}"), Endpoint::Convert, &body);
            }
        }
    }
    weighed.end();
}

/// In allocations and in the bytes that the allocator is asked for.
#[test]
#[ignore = "a search that takes many minutes"]
fn twice_as_much_in_any_place_allocates_twice_as_much() {
    let size = size(8 << 10);
    let mut over = Vec::new();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        let all = hostile::bodies(kind, size).into_iter().zip(hostile::bodies(kind, 2 * size));
        for (one, two) in all {
            let taken = |body: &Hostile| {
                let taken = measure(|| drop(webhook.handle(body.endpoint, body.body.as_bytes())));
                (taken.count_total, taken.bytes_total)
            };
            let (small, large) = (taken(&one), taken(&two));
            for (unit, small, large) in [("allocations", small.0, large.0), ("bytes", small.1, large.1)] {
                if large as f64 > small as f64 * 2.2 {
                    eprintln!("SQUARE {}: {small} {unit} of {size} bytes, {large} of twice as many", one.name);
                    over.push(format!("{}: {small} {unit} of {size} bytes, {large} of twice as many", one.name));
                }
            }
        }
    }
    assert!(over.is_empty(), "{}: {over:#?}", over.len());
}

fn turn(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.reverse(),
        Value::Object(members) => members.values_mut().for_each(turn),
        _ => {}
    }
}

fn load(name: &str) -> Kind {
    let read =
        |file: &str| std::fs::read_to_string(format!("{}/../../tests/data/kinds/{file}", env!("CARGO_MANIFEST_DIR")));
    let file = format!("{name}.yaml");
    Kind::load(&file, &read(&file).unwrap(), &mut |file| read(file)).unwrap()
}
