//! Runs the laws over a kind.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::case::Case;
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

/// The options of a check.
pub struct CheckOptions<'o> {
    /// The first seed. Each case uses the next seed.
    pub seed: u64,
    /// The number of cases for each law and each pair of versions in each direction.
    pub cases: u64,
    /// The laws to check. Empty means all.
    pub laws: &'o [Law],
    /// Strings for fields of some names.
    pub words: &'o Dictionary,
    /// Called before each case, and before each smaller case of a violation. Returns whether there is time for one
    /// more. The core has no clock.
    pub has_time: &'o mut dyn FnMut() -> bool,
    /// Called for each converted object.
    pub converted: &'o dyn Fn(),
}

/// The result of a check without violations.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of objects that each law judged. A law may not apply to an object.
    pub cases: BTreeMap<&'static str, u64>,
    /// The number of forged entries of kept annotations, by operation.
    pub forged: BTreeMap<&'static str, u64>,
    /// Operations, directions and guards that no case covered.
    pub unexercised: Vec<UncoveredOperation>,
}

/// A violated law, with the smallest counter-example.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The name of the law.
    pub law: &'static str,
    /// The text of the law.
    pub text: &'static str,
    /// The version of the object, and the other version.
    pub versions: (String, String),
    /// The error.
    pub message: String,
    /// The object.
    pub object: Value,
    /// The steps of the case, oldest first: a label, and the object after the step.
    pub story: Vec<(String, Value)>,
    /// The responsible operation as in the summary of the definition, if known.
    pub operation: Option<String>,
    /// The line of the operation in the definition. 0 if unknown.
    pub line: u64,
    /// The index of the sample before shrinking. `None` for a generated object.
    pub sample: Option<usize>,
    /// The seed of the case. With this seed and one case, the violation is reproduced.
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

/// The maximum length of a printed string.
const READABLE: usize = 400;

/// An object with long strings shortened.
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

/// Checks the laws on objects generated from the kind's own schemas, for every pair of its versions. `webhook` converts
/// the objects. It must have the kind, or the first conversion violates a law.
///
/// # Errors
/// The first violated law, with its smallest counter-example.
///
/// # Examples
/// ```
/// use pointsman_core::definition::Kind;
/// use pointsman_core::laws::{CheckOptions, Law, Dictionary, check};
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
/// let mut has_time = || {
///     left -= 1;
///     left > 0
/// };
/// let laws: Vec<Law> = Law::named("round-trip").into_iter().collect();
/// let (words, converted) = (Dictionary::default(), || {});
/// let mut options =
///     CheckOptions { seed: 0, cases: 20, laws: &laws, words: &words, has_time: &mut has_time, converted: &converted };
/// let report = check(&webhook, kind, &mut options)?;
/// assert_eq!(report.cases["round-trip"], 40); // 20 in each direction
/// assert!(report.unexercised.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(webhook: &Webhook, kind: &Kind, options: &mut CheckOptions<'_>) -> Result<Report, Box<Broken>> {
    let mut run = Run::new(webhook, kind, options);
    run.generated(Until::Broken);
    let unexercised = run.coverage.missing(kind);
    // Sums up all pairs of versions.
    let mut report = Report { unexercised, forged: run.coverage.forged().clone(), ..Report::default() };
    for result in run.results {
        *report.cases.entry(result.law.name).or_default() += result.cases;
        if let Some(broken) = result.broken {
            return Err(broken);
        }
    }
    Ok(report)
}

/// Checks the laws like [`check`], and continues after violations: returns a result for each law and each pair of
/// versions. `samples` are objects of the kind, at any version, as clients or an API server have them. They are judged
/// before the generated objects, by the same laws.
///
/// If parts of the definition are not covered, more cases of the relevant laws are tried.
pub fn survey(webhook: &Webhook, kind: &Kind, samples: &[Value], options: &mut CheckOptions<'_>) -> Survey {
    let mut run = Run::new(webhook, kind, options);
    let (unfit, mut through) = run.samples(samples);
    through = through && run.generated(Until::Through);
    through = through && run.more();
    let unexercised = run.coverage.missing(kind);
    let hidden = run.coverage.hidden(kind);
    Survey { results: run.results, unexercised, hidden, unfit, through }
}

/// The results of all laws.
#[derive(Clone, Debug)]
pub struct Survey {
    /// A result for each law and each pair of versions, in the order of the pairs and [`LAWS`].
    pub results: Vec<LawResult>,
    /// The operations that no case covered.
    pub unexercised: Vec<UncoveredOperation>,
    /// Values of one version that its neighbour does not show.
    pub hidden: Vec<HiddenValue>,
    /// Samples that not all laws judged, by index, with the reason.
    pub unfit: Vec<(usize, String)>,
    /// The check was not stopped.
    pub through: bool,
}

/// The result of a law for one pair of versions.
#[derive(Clone, Debug)]
pub struct LawResult {
    /// The law.
    pub law: Law,
    /// The version of the objects, and the other version.
    pub versions: (String, String),
    /// The number of judged objects.
    pub cases: u64,
    /// The smallest counter-example, if the law is violated.
    pub broken: Option<Box<Broken>>,
}

/// The end of a run, other than completion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Until {
    /// A law is violated.
    Broken,
    Through,
}

/// Laws that cover operations in both directions, and guards.
const EXERCISING: [&str; 3] = ["round-trip", "sparse-round-trip", "edits-win"];

/// The factor for additional cases to reach coverage.
const MORE: u64 = 10;

/// How often each law judges a sample, with different random choices.
const ROUNDS: u64 = 4;

struct Run<'r, 'o> {
    webhook: &'r Webhook,
    kind: &'r Kind,
    trips: Vec<Trip<'r>>,
    /// Grouped by trip.
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

    /// Judges the samples. Returns those that most laws do not apply to, and whether the run was not stopped.
    fn samples(&mut self, samples: &[Value]) -> (Vec<(usize, String)>, bool) {
        let mut unfit = Vec::new();
        for (index, sample) in samples.iter().enumerate() {
            let member_text = |name: &str| sample.get(name).and_then(Value::as_str).unwrap_or_default();
            let (api_version, kind) = (member_text("apiVersion"), member_text("kind"));
            let version = api_version.split_once('/').map_or("", |(_, version)| version);
            let ways = self.trips.iter().enumerate();
            let ways: Vec<usize> =
                ways.filter(|(_, trip)| trip.from.identity() == (api_version, kind)).map(|(way, _)| way).collect();
            let Some(first) = ways.first().and_then(|way| self.trips.get(*way)) else {
                let why = format!("was not tried: no other version converts to {version:?}");
                unfit.push((index, why));
                continue;
            };
            let (object, why) = first.from.sample(sample);
            unfit.extend(why.map(|why| (index, format!("is no complete object, so most laws do not apply: {why}"))));
            for round in 0..ROUNDS {
                let seed = self.options.seed.wrapping_add(round);
                if !ways.iter().all(|way| self.judge(*way, seed, &|_| true, Some((index, &object)))) {
                    return (unfit, false);
                }
            }
        }
        (unfit, true)
    }

    /// Judges generated objects. Returns whether the run was not stopped.
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

    /// Tries more cases until everything is covered, up to a limit. Returns whether the run was not stopped.
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

    /// Judges a sample or a generated object by the laws that are not yet violated. Returns whether the run was not
    /// stopped.
    fn judge(&mut self, way: usize, seed: u64, wanted: &dyn Fn(&str) -> bool, sample: Option<(usize, &Value)>) -> bool {
        let Some(trip) = self.trips.get(way) else { return true };
        for result in self.results.iter_mut().skip(way * self.laws).take(self.laws) {
            if result.broken.is_some() || !wanted(result.law.name) {
                continue;
            }
            if !(self.options.has_time)() {
                return false;
            }
            let object = match sample {
                Some((_, object)) => object.clone(),
                None => trip.from.make(result.law.make, self.webhook, seed),
            };
            let case = Case { trip, object: &object, seed, coverage: &mut self.coverage };
            match judge(&result.law, case, self.options.has_time) {
                Ok(judged) => result.cases += u64::from(judged),
                Err(broken) => {
                    result.broken = Some(Box::new(Broken { sample: sample.map(|(index, _)| index), ..*broken }));
                }
            }
        }
        true
    }
}

/// All pairs of versions of a kind.
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

/// Judges an object by a law, and shrinks the case of a violation.
fn judge(law: &Law, case: Case<'_>, has_time: &mut dyn FnMut() -> bool) -> Result<bool, Box<Broken>> {
    let Case { trip, object, seed, .. } = case;
    let breach = match guarded(law, case) {
        Ok(judged) => return Ok(judged),
        Err(breach) => breach,
    };
    let mut ignored = Coverage::default();
    // If the run is stopped, the smallest case so far is returned.
    let mut broken = |object: &Value| {
        has_time().then(|| guarded(law, Case { trip, object, seed, coverage: &mut ignored }).err()).flatten()
    };
    let (object, breach) = shrink(object.clone(), breach, &["apiVersion", "kind"], &mut broken);
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

/// A panic violates the current law.
fn guarded(law: &Law, case: Case<'_>) -> Result<bool, Breach> {
    catch_unwind(AssertUnwindSafe(|| (law.holds)(case))).unwrap_or_else(|panic| {
        let panic_text = panic.downcast_ref::<String>().map(String::as_str);
        let panic_text = panic_text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Breach::new(panic_text.map_or_else(|| "panics".to_owned(), |panic_text| format!("panics: {panic_text}"))))
    })
}
