//! The laws of conversion, over objects made from the schemas of the kinds themselves.
//!
//! `POINTSMAN_CASES` sets how many objects each law sees for each pair of versions and direction, `POINTSMAN_SEED`
//! where they start: `POINTSMAN_CASES=100000 cargo test --release --test it laws`.

mod carried;
mod edits;
mod every_kind;
mod forms;
mod hashes;
mod hostile;
mod manifests;
mod numbers;
mod objects;
mod previews;
mod random_kinds;
mod reviews;
mod round_trips;
pub(crate) mod schema;
mod schemaless;
mod sizes;
mod stories;
mod stories_of_writers;
mod writes_of_users;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::kinds::{self, Touched};
use crate::value::{Step, Value, Written};
use pointsman_core::definition::Kind;
pub(crate) use pointsman_core::laws::without_ours;
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, Law, ObjectSource, check, shrink};
use pointsman_core::webhook::{Metadata, Webhook};

/// Checks every law on a kind of its own server.
fn obeys_every_law(file: &str) {
    let webhook = Webhook::new(vec![kinds::load(file)], Metadata::Identity).unwrap();
    let words = Dictionary::default();
    for law in LAWS {
        let laws: &[Law] = &[law];
        let mut options =
            CheckOptions { seed: 0, cases: 150, laws, words: &words, has_time: &mut || true, converted: &|| {} };
        check(&webhook, &webhook.kinds()[0], &mut options).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

/// A conversion between two versions of a kind.
#[derive(Clone, Copy)]
struct Trip {
    kind: &'static Kind,
    from: &'static str,
    to: &'static str,
    /// The trip starts at the newer version.
    down: bool,
    /// The objects of the source version.
    source: &'static ObjectSource<'static>,
    /// The definition's step between adjacent versions; empty for others.
    touched: &'static [Touched],
}

impl Trip {
    fn schema_from(&self) -> &'static serde_json::Value {
        kinds::schema(self.kind, self.from)
    }

    fn schema_to(&self) -> &'static serde_json::Value {
        kinds::schema(self.kind, self.to)
    }

    fn name(&self) -> String {
        format!("{} {} to {}", self.kind.name(), self.from, self.to)
    }

    /// True if the versions are adjacent.
    fn is_step(&self) -> bool {
        !self.touched.is_empty()
    }
}

/// Every conversion between two versions of every kind.
fn trips() -> Vec<Trip> {
    let mut trips = Vec::new();
    for kind in kinds::WEBHOOK.kinds() {
        let versions: Vec<&'static str> = kind.versions().collect();
        for (i, older) in versions.iter().enumerate() {
            for newer in &versions[i + 1..] {
                let neighbours = *newer == versions[i + 1];
                let touched = if neighbours { kinds::touched(kind, older, newer) } else { Vec::new() };
                let touched: &[Touched] = Vec::leak(touched);
                for (from, to, down) in [(*older, *newer, false), (*newer, *older, true)] {
                    let source = Box::leak(Box::new(objects::source(kind, from)));
                    trips.push(Trip { kind, from, to, down, source, touched });
                }
            }
        }
    }
    trips
}

pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().unwrap())
}

/// Properties of the objects in a run, so that a law cannot pass without cases.
#[derive(Default)]
struct Seen(RefCell<BTreeMap<&'static str, u64>>);

impl Seen {
    fn note(&self, what: &'static str, is: bool) -> bool {
        *self.0.borrow_mut().entry(what).or_default() += u64::from(is);
        is
    }

    /// Checks that at least `percent` of all cases had this property.
    fn at_least(&self, percent: u64, what: &'static str) {
        let (seen, cases) = (self.0.borrow(), self.0.borrow()["cases"]);
        let count = seen.get(what).copied().unwrap_or_default();
        assert!(count * 100 >= cases * percent, "only {count} of {cases} cases: {what} ({seen:?})");
    }
}

/// Runs a law on every trip, so that one run reports all violations.
#[expect(clippy::type_complexity, reason = "the type of a law, written where it is used")]
fn on_every_trip(
    share: u64,
    make: &dyn Fn(&Trip, u64) -> Value,
    law: &dyn Fn(&Trip, &Seen, &Value, u64) -> Result<(), String>,
) -> Seen {
    let seen = Seen::default();
    let mut broken = Vec::new();
    for trip in trips() {
        let law = |value: &Value, seed: u64| law(&trip, &seen, value, seed);
        seen.note("trips", true);
        match hold(&trip.name(), share, &|seed| make(&trip, seed), &law) {
            Ok(cases) => *seen.0.borrow_mut().entry("cases").or_default() += cases,
            Err(message) => broken.push(message),
        }
    }
    assert!(broken.is_empty(), "{} trips break the law\n\n{}\n", broken.len(), broken.join("\n\n"));
    assert_eq!(seen.0.borrow()["trips"], 12);
    seen
}

/// Runs a law over many objects and reports the smallest violating object. A law receives the seed for its own choices,
/// and returns `Ok` for objects outside its domain.
fn hold(
    name: &str,
    share: u64,
    make: &dyn Fn(u64) -> Value,
    law: &dyn Fn(&Value, u64) -> Result<(), String>,
) -> Result<u64, String> {
    let first = number("POINTSMAN_SEED", 0);
    let cases = (number("POINTSMAN_CASES", 150) / share).max(50);
    let judge = |value: &Value, seed: u64| match catch_unwind(AssertUnwindSafe(|| law(value, seed))) {
        Ok(verdict) => verdict,
        Err(_) => Err("panics".to_owned()),
    };
    for seed in first..first + cases {
        let value = make(seed);
        let Err(message) = judge(&value, seed) else {
            continue;
        };
        let head = ["apiVersion", "kind"];
        let (small, message) = shrink(value, message, &head, &mut |value| judge(value, seed).err());
        return Err(format!("{name}: {message}\nPOINTSMAN_SEED={seed} POINTSMAN_CASES=1\n{}", small.to_text()));
    }
    Ok(cases)
}

/// The kept annotation of an object for a version.
fn ours(object: &Value, version: &str) -> Option<Value> {
    let text = object.field("metadata.annotations")?.get(&format!("pointsman.dev/kept-{version}"))?.as_str()?;
    Some(Value::parse(text))
}

fn has_ours(object: &Value) -> bool {
    let annotations = object.field("metadata.annotations");
    matches!(annotations, Some(Value::Object(all)) if all.keys().any(|name| name.starts_with("pointsman.dev/kept-")))
}

/// Checks that objects are equal, except for the annotations of pointsman.
fn same(what: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let tidy = |object: &Value| {
        let mut object = without_ours(object);
        if object.field("metadata.annotations").is_some_and(Value::is_empty) {
            object.take("metadata.annotations");
        }
        object
    };
    exactly(what, &tidy(expected), &tidy(found))
}

fn exactly(what: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match crate::value::difference(expected, found) {
        None => Ok(()),
        Some(difference) => Err(format!("{what}: {difference}")),
    }
}

fn convert(object: &Value, to: &str) -> Result<Value, String> {
    kinds::convert(object, to).map_err(|error| format!("to {to}: {error}\n{}", object.to_text()))
}

fn starts_with(way: &[Step], start: &[Step]) -> bool {
    way.starts_with(start)
}

fn overlaps(one: &[Step], two: &[Step]) -> bool {
    starts_with(one, two) || starts_with(two, one)
}
