//! Runs the laws over a kind.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::conversion_path::{Breach, Trip};
use super::coverage::{Coverage, UncoveredOperation};
use super::fault::at_fault;
use super::generate::Dictionary;
use super::hidden_values::HiddenValue;
use super::objects::ObjectSource;
use super::shrink::shrink;
use super::table::{LAWS, Law};
use super::value::Value;
use crate::definition::Kind;
use crate::webhook::Webhook;

/// How much is tried.
pub struct CheckOptions<'o> {
    /// Where the cases start. Each case has the seed after the one before.
    pub seed: u64,
    /// Cases for each law and each pair of versions in each direction.
    pub cases: u64,
    /// The laws that are run; all where it is empty.
    pub laws: &'o [Law],
    /// Strings that fields of some names are given.
    pub words: &'o Dictionary,
    /// Asked before each case, and before each smaller one where a law is broken: whether there is time for one more.
    /// What decides has no clock of its own.
    pub go_on: &'o mut dyn FnMut() -> bool,
    /// Called for each object that is converted.
    pub converted: &'o dyn Fn(),
}

/// What was tried while every law held.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many objects each law judged; one that says nothing about an object did not judge it.
    pub cases: BTreeMap<&'static str, u64>,
    /// How many entries of kept annotations were forged, by the operation.
    pub forged: BTreeMap<&'static str, u64>,
    /// Operations, directions and guards that no case exercised.
    pub unexercised: Vec<UncoveredOperation>,
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
    /// The operation's line in the definition; 0 where it cannot be told.
    pub line: u64,
    /// Which sample it was, before it was made smaller; none where the object was made.
    pub sample: Option<usize>,
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

/// Runs the laws over objects made from the kind's own schemas, for every pair of its versions. `webhook` is what
/// converts them; it has to know the kind, or the first conversion breaks a law.
///
/// # Errors
/// The first law that is broken, by its smallest counter-example.
///
/// # Examples
/// ```
/// use pointsman_core::definition::Kind;
/// use pointsman_core::laws::{CheckOptions, Law, Words, check};
/// use pointsman_core::webhook::{Metadata, Webhook};
///
/// # let crd = r#"
/// # apiVersion: apiextensions.k8s.io/v1
/// # kind: CustomResourceDefinition
/// # metadata: {name: boats.example.com}
/// # spec:
/// #   group: example.com
/// #   names: {kind: Boat, plural: boats}
/// #   versions:
/// #   - name: v1
/// #     served: true
/// #     storage: false
/// #     schema:
/// #       openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}
/// #   - name: v2
/// #     served: true
/// #     storage: true
/// #     schema:
/// #       openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {meters: {type: integer}}}}}
/// # "#;
/// # let definition = "
/// # apiVersion: pointsman.dev/v1
/// # kind: KindDefinition
/// # crd: boats.crd.yaml
/// # steps:
/// # - {from: v1, to: v2, operations: [{rename: {from: spec.length, to: spec.meters}}]}
/// # ";
/// let webhook = Webhook::new(vec![Kind::from_crd(definition, crd)?], Metadata::Full)?;
/// let kind = &webhook.kinds()[0];
///
/// // A clock, a counter, a signal: whatever says when it is enough.
/// let mut left = 10_000;
/// let mut go_on = || {
///     left -= 1;
///     left > 0
/// };
/// let laws: Vec<Law> = Law::named("round-trip").into_iter().collect();
/// let (words, converted) = (Words::default(), || {});
/// let mut options =
///     CheckOptions { seed: 0, cases: 20, laws: &laws, words: &words, go_on: &mut go_on, converted: &converted };
/// let report = check(&webhook, kind, &mut options)?;
/// assert_eq!(report.cases["round-trip"], 40); // 20 in each direction
/// assert!(report.unexercised.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(webhook: &Webhook, kind: &Kind, options: &mut CheckOptions<'_>) -> Result<Report, Box<Broken>> {
    let mut run = Run::new(webhook, kind, options);
    run.generated(Until::Broken);
    let unexercised = run.coverage.missing(kind);
    // All ways count together.
    let mut report = Report { unexercised, forged: run.coverage.forged().clone(), ..Report::default() };
    for result in run.results {
        *report.cases.entry(result.law.name).or_default() += result.cases;
        if let Some(broken) = result.broken {
            return Err(broken);
        }
    }
    Ok(report)
}

/// Runs the laws as [`check`] does, and goes on behind what is broken: a result for each law and each way between two
/// versions. `samples` are objects of the kind, at any version, as clients or an API server have them; each is judged
/// like the objects that are made, before these.
///
/// Where cases left something of the definition unexercised, more are tried, of the laws that could exercise it.
pub fn survey(webhook: &Webhook, kind: &Kind, samples: &[Value], options: &mut CheckOptions<'_>) -> Survey {
    let mut run = Run::new(webhook, kind, options);
    let (unfit, mut through) = run.samples(samples);
    through = through && run.generated(Until::Through);
    through = through && run.more();
    let unexercised = run.coverage.missing(kind);
    let hidden = run.coverage.hidden(kind);
    Survey { results: run.results, unexercised, hidden, unfit, through }
}

/// What was found of each law.
#[derive(Clone, Debug)]
pub struct Survey {
    /// For each law and each way between two versions, in the order of the ways and [`LAWS`].
    pub results: Vec<LawResult>,
    /// What no case exercised.
    pub unexercised: Vec<UncoveredOperation>,
    /// Values that one version has and its neighbour does not show.
    pub hidden: Vec<HiddenValue>,
    /// Samples by their index that were not judged by all laws, and why.
    pub unfit: Vec<(usize, String)>,
    /// Nobody stopped it.
    pub through: bool,
}

/// What was found of a law, on the way from one version to another.
#[derive(Clone, Debug)]
pub struct LawResult {
    /// The law.
    pub law: Law,
    /// The versions: where the objects are, and the other one.
    pub versions: (String, String),
    /// How many objects it judged.
    pub cases: u64,
    /// The smallest counter-example that was found, if the law is broken.
    pub broken: Option<Box<Broken>>,
}

/// When a run ends, apart from when all is tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Until {
    /// A law is broken.
    Broken,
    Through,
}

/// Laws that exercise operations, both ways, and break guards.
const EXERCISING: [&str; 3] = ["round-trip", "sparse-round-trip", "edits-win"];

/// How many times as many cases are made to exercise everything.
const MORE: u64 = 10;

/// How often a sample is judged by each law, with other choices each time.
const ROUNDS: u64 = 4;

struct Run<'r, 'o> {
    webhook: &'r Webhook,
    kind: &'r Kind,
    trips: Vec<Trip<'r>>,
    /// Those of each trip stand together.
    results: Vec<LawResult>,
    laws: usize,
    coverage: Coverage,
    options: &'r mut CheckOptions<'o>,
}

impl<'r, 'o> Run<'r, 'o> {
    fn new(webhook: &'r Webhook, kind: &'r Kind, options: &'r mut CheckOptions<'o>) -> Self
    where
        'o: 'r,
    {
        let trips = trips(webhook, kind, options.words, options.converted);
        let selected =
            |law: &&Law| options.laws.is_empty() || options.laws.iter().any(|wanted| wanted.name == law.name);
        let laws: Vec<Law> = LAWS.iter().filter(selected).copied().collect();
        let results = trips.iter().flat_map(|trip| {
            let versions = (trip.from.version.to_owned(), trip.to.version.to_owned());
            laws.iter().map(move |law| LawResult { law: *law, versions: versions.clone(), cases: 0, broken: None })
        });
        let results = results.collect();
        Self { webhook, kind, trips, results, laws: laws.len(), coverage: Coverage::default(), options }
    }

    /// Judges objects that were given. Which of them most laws say nothing about, and whether nobody stopped it.
    fn samples(&mut self, samples: &[Value]) -> (Vec<(usize, String)>, bool) {
        let mut unfit = Vec::new();
        for (index, sample) in samples.iter().enumerate() {
            let says = |name: &str| sample.get(name).and_then(Value::as_str).unwrap_or_default();
            let (api_version, kind) = (says("apiVersion"), says("kind"));
            let version = api_version.split_once('/').map_or("", |(_, version)| version);
            let ways = self.trips.iter().enumerate();
            let ways: Vec<usize> =
                ways.filter(|(_, trip)| trip.from.identity() == (api_version, kind)).map(|(way, _)| way).collect();
            let Some(first) = ways.first().and_then(|way| self.trips.get(*way)) else {
                let why = format!("is not tried: {version:?} is no version that another one can be made of");
                unfit.push((index, why));
                continue;
            };
            let (object, why) = first.from.sample(sample);
            unfit.extend(
                why.map(|why| (index, format!("is no whole object, so most laws say nothing about it: {why}"))),
            );
            for round in 0..ROUNDS {
                let seed = self.options.seed.wrapping_add(round);
                if !ways.iter().all(|way| self.judge(*way, seed, &|_| true, Some((index, &object)))) {
                    return (unfit, false);
                }
            }
        }
        (unfit, true)
    }

    /// Judges objects that are made. Whether nobody stopped it.
    fn generated(&mut self, until: Until) -> bool {
        let first = self.options.seed;
        for seed in first..first.saturating_add(self.options.cases) {
            for way in 0..self.trips.len() {
                if !self.judge(way, seed, &|_| true, None) {
                    return false;
                }
                if until == Until::Broken && self.is_broken() {
                    return true;
                }
            }
        }
        true
    }

    /// Goes on until all was exercised, within reason. Whether nobody stopped it.
    fn more(&mut self) -> bool {
        let first = self.options.seed.saturating_add(self.options.cases);
        for seed in first..first.saturating_add(self.options.cases.saturating_mul(MORE)) {
            if self.is_broken() || self.coverage.missing(self.kind).is_empty() {
                return true;
            }
            for way in 0..self.trips.len() {
                if self.trips.get(way).is_some_and(|trip| trip.step)
                    && !self.judge(way, seed, &|law| EXERCISING.contains(&law), None)
                {
                    return false;
                }
            }
        }
        true
    }

    fn is_broken(&self) -> bool {
        self.results.iter().any(|result| result.broken.is_some())
    }

    /// Judges a sample, or an object that is made, by those laws that are not broken yet. Whether nobody stopped it.
    fn judge(&mut self, way: usize, seed: u64, wanted: &dyn Fn(&str) -> bool, sample: Option<(usize, &Value)>) -> bool {
        let Some(trip) = self.trips.get(way) else { return true };
        for result in self.results.iter_mut().skip(way * self.laws).take(self.laws) {
            if result.broken.is_some() || !wanted(result.law.name) {
                continue;
            }
            if !(self.options.go_on)() {
                return false;
            }
            let object = match sample {
                Some((_, object)) => object.clone(),
                None => trip.from.make(result.law.make, self.webhook, seed),
            };
            match judge(&result.law, trip, object, seed, &mut self.coverage, self.options.go_on) {
                Ok(judged) => result.cases += u64::from(judged),
                Err(broken) => {
                    result.broken = Some(Box::new(Broken { sample: sample.map(|(index, _)| index), ..*broken }));
                }
            }
        }
        true
    }
}

/// Every way between two versions of a kind.
fn trips<'k>(webhook: &'k Webhook, kind: &'k Kind, words: &'k Dictionary, converted: &'k dyn Fn()) -> Vec<Trip<'k>> {
    let sources: Vec<ObjectSource<'k>> =
        kind.versions().filter_map(|version| ObjectSource::new(kind, version, words)).collect();
    let mut trips = Vec::new();
    for (at, from) in sources.iter().enumerate() {
        for (other, to) in sources.iter().enumerate().filter(|(other, _)| *other != at) {
            trips.push(Trip::new(webhook, (from, to), other as isize - at as isize, converted));
        }
    }
    trips
}

/// Judges an object by a law; makes the case smaller where it breaks.
fn judge(
    law: &Law,
    trip: &Trip<'_>,
    object: Value,
    seed: u64,
    coverage: &mut Coverage,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<bool, Box<Broken>> {
    let breach = match guarded(law, trip, &object, seed, coverage) {
        Ok(judged) => return Ok(judged),
        Err(breach) => breach,
    };
    let mut ignored = Coverage::default();
    // Whoever stops it gets the smallest one so far.
    let mut broken = |value: &Value| go_on().then(|| guarded(law, trip, value, seed, &mut ignored).err()).flatten();
    let (object, breach) = shrink(object, breach, &["apiVersion", "kind"], &mut broken);
    let (operation, line) = at_fault(trip, &object, &breach);
    Err(Box::new(Broken {
        law: law.name,
        text: law.text,
        versions: (trip.from.version.to_owned(), trip.to.version.to_owned()),
        message: breach.message,
        object,
        story: breach.story,
        operation,
        line,
        sample: None,
        seed,
    }))
}

/// A panic breaks whatever law it happens under.
fn guarded(law: &Law, trip: &Trip<'_>, object: &Value, seed: u64, coverage: &mut Coverage) -> Result<bool, Breach> {
    catch_unwind(AssertUnwindSafe(|| (law.holds)(trip, object, seed, coverage))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Breach::new(said.map_or_else(|| "panics".to_owned(), |said| format!("panics: {said}"))))
    })
}
