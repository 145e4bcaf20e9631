//! Memory cost of a decision, counted at the allocator: never above the server's reservation, for any body; and double
//! input costs double.
//!
//! A separate binary: its bodies take seconds, and the server relies on this law.

// With this attribute, clippy's allowances for tests also apply to helpers.
#![cfg(test)]

mod bodies;
mod expressions;
mod giving;
mod hostile;

use std::collections::HashSet;

use allocation_counter::measure;
use hostile::{Hostile, HostileObject, admission, review};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Request, Webhook};
use serde_json::Value;

/// A number that the environment may set.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

/// Approximate size of each body, in bytes. `POINTSMAN_SIZE` names another length.
fn size(default: usize) -> usize {
    number("POINTSMAN_SIZE", default)
}

/// All test kinds with lists and maps of items, and some without, each with its own server. `POINTSMAN_KINDS=all` takes
/// the built-in ones, too.
fn servers() -> Vec<Webhook> {
    let mut kinds = vec![giving::kind()];
    kinds.extend(["mailboxes", "proxies", "engines", "gadgets", "widgets", "parcels", "runs"].map(load));
    if std::env::var("POINTSMAN_KINDS").is_ok_and(|kinds| kinds == "all") {
        kinds.extend(Kind::embedded().unwrap());
    }
    kinds.into_iter().map(|kind| Webhook::new(vec![kind], Metadata::Identity).unwrap()).collect()
}

/// An evenly spread selection: `POINTSMAN_CASES` sets how many, `POINTSMAN_SEED` which ones.
fn some_of<T>(all: Vec<T>, cases: usize) -> impl Iterator<Item = T> {
    let cases = number("POINTSMAN_CASES", cases).clamp(1, all.len().max(1));
    let (count, mut random) = (all.len(), number("POINTSMAN_SEED", 0) as u64);
    let chosen: HashSet<usize> = (0..cases)
        .map(|case| {
            // One random element of each section.
            let (start, end) = (case * count / cases, (case + 1) * count / cases);
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            start + (random >> 33) as usize % (end - start).max(1)
        })
        .collect();
    all.into_iter().enumerate().filter(move |(index, _)| chosen.contains(index)).map(|(_, one)| one)
}

/// Decisions above their reservation, and the largest weights.
#[derive(Default)]
struct Weighed {
    over: Vec<String>,
    ratios: Vec<(u64, String)>,
}

impl Weighed {
    fn weigh(&mut self, webhook: &Webhook, name: &str, endpoint: Endpoint, body: &str) {
        let held = measure(|| drop(webhook.handle(&Request::new(endpoint, body.as_bytes())))).bytes_max;
        let weight = webhook.weight(endpoint, body.as_bytes());
        if held > weight {
            self.over.push(format!("{name}: {held} of {weight}, {} bytes", body.len()));
        }
        self.ratios.push((held * 100 / weight.max(1), format!("of {weight:9}: {name}, {} bytes", body.len())));
    }

    fn end(mut self) {
        self.ratios.sort();
        println!("{} bodies", self.ratios.len());
        for (ratio, name) in self.ratios.iter().rev().take(number("POINTSMAN_TOLD", 40)) {
            println!("{ratio:4} % {name}");
        }
        assert!(self.over.is_empty(), "{} of {}: {:#?}", self.over.len(), self.ratios.len(), self.over);
    }
}

#[test]
fn decision_stays_within_its_weight() {
    let mut kinds = Kind::embedded().unwrap();
    kinds.extend(["mailboxes", "proxies"].map(load));
    let webhook = Webhook::new(kinds, Metadata::Identity).unwrap();
    let mut weighed = Weighed::default();
    for (name, endpoint, body) in bodies::all() {
        weighed.weigh(&webhook, &name, endpoint, &body);
    }
    weighed.end();
}

/// Items with kept values, items with many defaults, and items under a long key: by weight, and by allocated bytes at
/// double size.
#[test]
fn items_stay_within_their_weight() {
    let mut weighed = Weighed::default();
    let head = |kind: &str, version: &str| {
        let metadata = "{\"name\":\"a\",\"uid\":\"u\"}";
        format!("{{\"apiVersion\":\"example.com/{version}\",\"kind\":\"{kind}\",\"metadata\":{metadata},\"spec\":")
    };
    let many = |item: &str, count: usize| format!("[{}]", vec![item; count].join(","));
    let routes = |count| format!("{{\"routes\":{}}}", many("{\"debug\":true}", count));
    let empty = |count| format!("{{\"list\":{}}}", many("{}", count));
    let behind_key =
        |count| format!("{{\"zones\":{{\"{}\":{{\"tags\":{}}}}}}}", "k".repeat(8 * count), many("\"1\"", 2 * count));
    let huge = |count| format!("{{\"level\":{}}}", "1".repeat(10 * count));
    let level = |count| format!("{{\"level\":1.{}}}", "0".repeat(10 * count));
    let parts = |part: &'static str| move |count| format!("{{\"parts\":\"{}\"}}", part.repeat(4 * count));
    let listed = |count| format!("{{\"parts\":{}}}", many("\"a\"", 4 * count));
    let in_json = |count| format!("{{\"parts\":\"{}\"}}", many("1", 4 * count));
    let (short_parts, long_parts) = (parts("a,"), parts("a longer part,"));
    type Spec<'a> = &'a dyn Fn(usize) -> String;
    let cases: [(&str, Kind, String, &str, Spec<'_>); 15] = [
        ("routes that keep something", load("proxies"), head("Proxy", "v1alpha1"), "v1beta1", &routes),
        ("routes that keep something, two steps", load("proxies"), head("Proxy", "v1alpha1"), "v1", &routes),
        ("items that are given much", giving::kind(), head("Giver", "v1"), "v3", &empty),
        ("items behind a long key", load("proxies"), head("Proxy", "v1alpha1"), "v1beta1", &behind_key),
        ("a number that is long, two steps", load("gadgets"), head("Gadget", "v2"), "v0", &level),
        ("a number that is too large, two steps", load("gadgets"), head("Gadget", "v2"), "v0", &huge),
        ("a text of short parts", expressions::separated(), head("Text", "v1"), "v2", &short_parts),
        ("a text of long parts", expressions::separated(), head("Text", "v1"), "v2", &long_parts),
        ("YAML of short items", expressions::in_yaml(), head("Text", "v1"), "v2", &parts("- a\\n")),
        ("YAML of long items", expressions::in_yaml(), head("Text", "v1"), "v2", &parts("- a much longer item\\n")),
        ("YAML of comments", expressions::in_yaml(), head("Text", "v1"), "v2", &parts("#\\n")),
        ("YAML as one line", expressions::in_yaml(), head("Text", "v1"), "v2", &parts("a b: ")),
        ("a list of short parts as YAML", expressions::in_yaml(), head("Text", "v2"), "v1", &listed),
        ("JSON of short items", expressions::in_json(), head("Text", "v1"), "v2", &in_json),
        ("items behind a long key, two steps", load("proxies"), head("Proxy", "v1alpha1"), "v1", &behind_key),
    ];
    for (name, kind, head, to, spec) in cases {
        let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
        let asked = [20_000, 40_000].map(|count| {
            let body = review(&format!("{head}{}}}", spec(count)), &format!("example.com/{to}"));
            weighed.weigh(&webhook, &format!("{count} {name}"), Endpoint::Convert, &body);
            measure(|| drop(webhook.handle(&Request::new(Endpoint::Convert, body.as_bytes())))).bytes_total
        });
        assert!(asked[1] as f64 <= asked[0] as f64 * 2.2, "{name}: {asked:?}");
    }
    weighed.end();
}

/// Any contents of a kind's lists, maps and fields. The bodies exceed the fixed reservation per body.
#[test]
fn any_kind_stays_within_its_weight() {
    let mut weighed = Weighed::default();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        for Hostile { name, endpoint, body } in some_of(hostile::bodies(kind, size(160 << 10)), 100) {
            weighed.weigh(&webhook, &name, endpoint, &body);
        }
    }
    weighed.end();
}

/// Objects converted back with all their kept values, and with reversed lists.
#[test]
fn kept_values_stay_within_weight() {
    let mut weighed = Weighed::default();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        for HostileObject { name, text, at, others } in some_of(hostile::objects(kind, size(8 << 10)), 150) {
            for to in others {
                let Ok(there) = webhook.convert(&text, &to) else { continue };
                // A number may be as long as the body, and then only pointsman can parse it.
                let turned = serde_json::from_str(&there.text).ok().map(|mut turned: Value| {
                    turn(&mut turned["spec"]);
                    ("turned round", turned.to_string())
                });
                for (how, there) in [("home", there.text)].into_iter().chain(turned) {
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

/// Many objects in one review: the values added to each object are in one response.
#[test]
fn many_objects_stay_within_weight() {
    let mut weighed = Weighed::default();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        for HostileObject { name, text, others, .. } in some_of(hostile::objects(kind, 1), 20) {
            let objects = vec![&*text; 1 + (size(64 << 10) / text.len())].join(",");
            for to in others {
                let body = review(&objects, &format!("{}/{to}", kind.group()));
                weighed.weigh(&webhook, &format!("{name}, many, to {to}"), Endpoint::Convert, &body);
            }
        }
    }
    weighed.end();
}

/// Data without an operation is copied as text, and hashed at most. Nothing is added to such data, regardless of its
/// size, of defaults elsewhere in its kind, and of other served kinds.
#[test]
fn unread_data_weighs_its_text() {
    let size = size(960 << 10);
    let all = || ["mailboxes", "proxies", "gadgets", "engines"].map(load);
    let together = Webhook::new(all().into(), Metadata::Identity).unwrap();
    for kind in all() {
        let versions: Vec<String> = kind.versions().map(str::to_owned).collect();
        let (name, group) = (kind.kind().to_owned(), kind.group().to_owned());
        let alone = Webhook::new(vec![kind], Metadata::Identity).unwrap();
        let count = size / 3;
        for [at, to] in versions.windows(2).flat_map(|pair| [[&pair[0], &pair[1]], [&pair[1], &pair[0]]]) {
            let head = format!("\"apiVersion\":\"{group}/{at}\",\"kind\":\"{name}\",\"metadata\":{{\"name\":\"a\"}}");
            let many = vec!["{}"; count].join(",");
            let object = format!("{{{head},\"spec\":{{\"nobodyKnows\":[{many}]}}}}");
            for (endpoint, body) in [
                (Endpoint::Convert, review(&object, &format!("{group}/{to}"))),
                (Endpoint::Validate, admission(&alone.kinds()[0], &object, "null")),
            ] {
                let weight = alone.weight(endpoint, body.as_bytes());
                assert!(weight < 240 * count as u64 + 16 * size as u64, "{name} {at}, {endpoint:?}: {weight}");
                assert_eq!(together.weight(endpoint, body.as_bytes()), weight, "{name} {at}, {endpoint:?}");
            }
        }
    }
}

/// Measured in allocations and in allocated bytes.
#[test]
fn allocation_grows_linearly_everywhere() {
    let size = size(8 << 10);
    let mut over = Vec::new();
    for webhook in servers() {
        let kind = &webhook.kinds()[0];
        let all = hostile::bodies(kind, size).into_iter().zip(hostile::bodies(kind, 2 * size));
        for (one, two) in some_of(all.collect(), 300) {
            let taken = |body: &Hostile| {
                let taken = measure(|| drop(webhook.handle(&Request::new(body.endpoint, body.body.as_bytes()))));
                (taken.count_total, taken.bytes_total)
            };
            let (small, large) = (taken(&one), taken(&two));
            for (unit, small, large) in [("allocations", small.0, large.0), ("bytes", small.1, large.1)] {
                if large as f64 > small as f64 * 2.2 {
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
