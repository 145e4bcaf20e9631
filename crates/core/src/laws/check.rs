//! Runs the laws over a kind.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value as Schema;

use super::coverage::Coverage;
use super::generate::Words;
use super::objects::Source;
use super::schema::relaxed;
use super::shrink::shrink;
use super::table::{LAWS, Law};
use super::trip::{Breach, Trip};
use super::value::{Value, shown};
use crate::definition::Kind;
use crate::webhook::{Change, Webhook};

/// How much is tried.
pub struct Options<'o> {
    /// Where the cases start. Each case has the seed after the one before.
    pub seed: u64,
    /// Cases for each law and each pair of versions in each direction.
    pub cases: u64,
    /// The names of the laws that are run; all where it is empty.
    pub laws: &'o [&'o str],
    /// Strings that fields of some names are given.
    pub words: &'o Words,
    /// Asked before each case: whether there is time for one more. What decides has no clock of its own.
    pub go_on: &'o mut dyn FnMut() -> bool,
}

/// What was tried while every law held.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many objects each law judged; one that says nothing about an object did not judge it.
    pub cases: BTreeMap<&'static str, u64>,
    /// Operations, directions and guards that no case exercised, each in one line.
    pub unexercised: Vec<String>,
}

/// A law that does not hold, with the smallest object that shows it.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The law's name.
    pub law: &'static str,
    /// What it says.
    pub text: &'static str,
    /// The versions: where the object is, and the other one.
    pub versions: (String, String),
    /// What is wrong.
    pub message: String,
    /// The object.
    pub object: Value,
    /// What was done with it, oldest first: what it is called, and what it was then.
    pub story: Vec<(String, Value)>,
    /// The operation at fault, as the definition's summary would name it, where it can be told.
    pub operation: Option<String>,
    /// The seed of the case: with it, and one case, the law breaks again.
    pub seed: u64,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = &self.versions;
        writeln!(f, "{} ({}), {from} and {to}: {}", self.law, self.text, cut(&self.message))?;
        writeln!(f, "  object: {}", short(&self.object))?;
        for (what, object) in &self.story {
            writeln!(f, "  {what}: {}", short(object))?;
        }
        if let Some(operation) = &self.operation {
            writeln!(f, "  operation: {operation}")?;
        }
        write!(f, "  POINTSMAN_SEED={} POINTSMAN_CASES=1", self.seed)
    }
}

impl std::error::Error for Broken {}

/// Characters of a string that a person reads.
const READABLE: usize = 400;

/// An object with long strings cut.
fn short(object: &Value) -> String {
    let mut object = object.clone();
    for way in object.ways() {
        if let Some(Value::Text(text)) = object.at_mut(&way) {
            *text = cut(text);
        }
    }
    object.to_text()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(READABLE) {
        Some((end, _)) => {
            format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len())
        }
        None => text.to_owned(),
    }
}

/// Runs the laws over objects made from the kind's own schemas, for every pair of its versions. `webhook` is the server
/// that knows the kind.
///
/// # Errors
/// The first law that is broken, by its smallest counter-example.
pub fn check(webhook: &Webhook, kind: &Kind, options: &mut Options<'_>) -> Result<Report, Box<Broken>> {
    let trips = trips(webhook, kind, options.words);
    let selected = |law: &&Law| options.laws.is_empty() || options.laws.contains(&law.name);
    let laws: Vec<&Law> = LAWS.iter().filter(selected).collect();
    let mut coverage = Coverage::default();
    let cases = laws.iter().map(|law| (law.name, 0)).collect();
    let mut report = Report { cases, ..Report::default() };
    for seed in options.seed..options.seed.saturating_add(options.cases) {
        for trip in &trips {
            for law in &laws {
                if !(options.go_on)() {
                    report.unexercised = coverage.missing(kind);
                    return Ok(report);
                }
                if judge(law, trip, seed, &mut coverage)? {
                    *report.cases.entry(law.name).or_default() += 1;
                }
            }
        }
    }
    report.unexercised = coverage.missing(kind);
    Ok(report)
}

/// Every way between two versions of a kind.
fn trips<'k>(webhook: &'k Webhook, kind: &'k Kind, words: &'k Words) -> Vec<Trip<'k>> {
    let sources: Vec<Source<'k>> = kind
        .versions()
        .filter_map(|version| {
            let schema = schema_of(kind, version)?;
            Some(Source { kind, version, schema, relaxed: relaxed(schema), words })
        })
        .collect();
    let mut trips = Vec::new();
    for (at, from) in sources.iter().enumerate() {
        for (other, to) in sources.iter().enumerate().filter(|(other, _)| *other != at) {
            trips.push(Trip::new(webhook, from, to, other as isize - at as isize));
        }
    }
    trips
}

/// The schema of a version, as the CRD says it.
#[must_use]
pub fn schema_of<'k>(kind: &'k Kind, version: &str) -> Option<&'k Schema> {
    let versions = kind.crd().pointer("/spec/versions").and_then(Schema::as_array)?;
    let named = |other: &&Schema| other.get("name").and_then(Schema::as_str) == Some(version);
    versions.iter().find(named)?.pointer("/schema/openAPIV3Schema")
}

/// Makes one object and judges it by a law; makes the case smaller where it breaks.
fn judge(law: &Law, trip: &Trip<'_>, seed: u64, coverage: &mut Coverage) -> Result<bool, Box<Broken>> {
    let object = trip.from.make(law.make, trip.webhook, seed);
    let breach = match guarded(law, trip, &object, seed, coverage) {
        Ok(judged) => return Ok(judged),
        Err(breach) => breach,
    };
    let mut ignored = Coverage::default();
    let mut broken = |value: &Value| guarded(law, trip, value, seed, &mut ignored).err();
    let (object, breach) = shrink(object, breach, &["apiVersion", "kind"], &mut broken);
    let operation = at_fault(trip, &object, &breach);
    Err(Box::new(Broken {
        law: law.name,
        text: law.text,
        versions: (trip.from.version.to_owned(), trip.to.version.to_owned()),
        message: breach.message,
        object,
        story: breach.story,
        operation,
        seed,
    }))
}

/// A panic breaks whatever law it happens under.
fn guarded(law: &Law, trip: &Trip<'_>, object: &Value, seed: u64, coverage: &mut Coverage) -> Result<bool, Breach> {
    catch_unwind(AssertUnwindSafe(|| (law.holds)(trip, object, seed, coverage)))
        .unwrap_or_else(|_| Err(Breach::new("panics")))
}

/// The operation that read or wrote the place that is wrong: of several the one that names it most closely; where no
/// place is named, the only one that ran.
fn at_fault(trip: &Trip<'_>, object: &Value, breach: &Breach) -> Option<String> {
    let mut changes: Vec<Change> = Vec::new();
    let there = trip.explained(object, &mut changes).ok();
    if let Some(there) = there {
        drop(trip.back().explained(&there, &mut changes));
    }
    let told = |change: &Change| {
        let paths =
            |all: &[(String, String)]| all.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(" + ");
        let (before, after) = (paths(&change.before), paths(&change.after));
        let arrow = if before.is_empty() || after.is_empty() { "" } else { " -> " };
        format!("{} {before}{arrow}{after}, {}", change.operation, trip.name())
    };
    let Some(at) = breach.at.as_ref().map(|way| shown(way)) else {
        return match changes.as_slice() {
            [change] => Some(told(change)),
            _ => None,
        };
    };
    let closeness = |change: &Change| {
        let paths = change.before.iter().chain(&change.after);
        let common = paths.map(|(path, _)| {
            let path = path.replace(['.', '['], "/").replace([']', '"'], "");
            let (one, two) = (path.split('/'), at.split('/'));
            one.zip(two).take_while(|(one, two)| one == two).count()
        });
        common.max().unwrap_or_default()
    };
    let closest = changes.iter().max_by_key(|change| closeness(change))?;
    (closeness(closest) > 1).then(|| told(closest))
}
