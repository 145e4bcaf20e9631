//! Compares the model of the API server for the laws of conversion (`pointsman_core::laws::apiserver`) with a real API
//! server. Every write and read, at every version, gives the same result, to the last digit.
//!
//! Objects are random, of a kind with every schema keyword and of random kinds. `POINTSMAN_SEED` is the random seed,
//! with a constant default; `POINTSMAN_CASES` is the number of objects per kind.

use std::fs;

use hyper::Method;
use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{WriteError, answered, read, written};
use pointsman_core::laws::{Dictionary, FillRatio, Random, Value, anything, difference, schema_of, valid};
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_test_support::random_kinds::{Draft, Manner};
use serde_json::Value as Json;

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::{CRDS, JSON, TestContext};
use crate::support::pointsman::Pointsman;
use crate::support::process::{SOON, eventually};
use crate::support::sample::{FIGURE, Sample};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("model_matches_real_apiserver", as_the_model_says).of(&FIGURES).newest(),
    Scenario::new("keywords_match_real_apiserver", keywords).of(&FIGURES).newest(),
];

static FIGURES: [&Sample; 1] = [&FIGURE];

fn as_the_model_says(ctx: &TestContext<'_>) {
    let number = |name: &str| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    let (wanted, cases) = (number("POINTSMAN_SEED"), number("POINTSMAN_CASES").unwrap_or(40));
    let seed = wanted.unwrap_or(0);
    let kinds = install(ctx, seed);
    let mut tally = Tally::default();
    for (at, kind) in kinds.iter().enumerate() {
        let case = |number: u64| Case { ctx, kind, name: format!("c{number}"), seed, told: Vec::new() };
        // The kind with every keyword is first, and has more objects.
        let count = if at == 0 { cases * 3 } else { cases };
        (0..count).for_each(|number| case(number).holds(number, &mut tally));
        let path = format!("{CRDS}/{}", kind.crd_name());
        ctx.call(Method::DELETE, &path, None).ok();
    }
    let Tally { stored, refused, undecodable, converted, rewritten } = tally;
    println!(
        "     the model: POINTSMAN_SEED={seed}, {} kinds, {stored} objects stored, {refused} refused, {undecodable} not \
         decoded, {converted} read and {rewritten} written back at other versions",
        kinds.len()
    );
    // The coverage of another seed is random.
    if cases >= 40 && wanted.is_none() {
        let enough = stored >= 150 && refused >= 20 && undecodable >= 5 && converted >= 150 && rewritten >= 50;
        assert!(enough, "too little was compared");
    }
}

#[derive(Default)]
struct Tally {
    stored: u32,
    refused: u32,
    undecodable: u32,
    converted: u32,
    rewritten: u32,
}

/// A kind on the API server, and its model.
struct Modelled {
    webhook: Webhook,
    home: String,
    versions: Vec<String>,
}

impl Modelled {
    fn kind(&self) -> &Kind {
        &self.webhook.kinds()[0]
    }

    fn crd_name(&self) -> String {
        format!("{}.{}", self.kind().plural(), self.kind().group())
    }

    fn schema(&self, version: &str) -> &Json {
        schema_of(self.kind(), version).unwrap()
    }

    /// A converted object, as the API server accepts it from the webhook.
    fn converted(&self, object: &Value, to: &str) -> Result<Value, String> {
        let converted = self.webhook.convert(&sent(object), to).map_err(|error| error.to_string())?;
        answered(self.schema(to), &Value::read(&converted.text).unwrap()).map_err(|error| error.to_string())
    }

    /// The stored object after a write at a version, where `old` was read before. The client receives the result of the
    /// next read.
    fn write(&self, version: &str, sent: &Value, old: Option<&Value>) -> Result<Value, Refusal> {
        let taken = written(self.schema(version), sent, old)?;
        if version == self.home {
            Ok(taken)
        } else {
            self.converted(&taken, &self.home).map_err(Refusal::Unconvertible)
        }
    }

    /// The result of a read of the stored object at a version.
    fn get(&self, version: &str, stored: &Value) -> Result<Value, String> {
        let home = read(self.schema(&self.home), stored).map_err(|error| error.to_string())?;
        if version == self.home { Ok(home) } else { self.converted(&home, version) }
    }
}

enum Refusal {
    Refused(WriteError),
    Unconvertible(String),
}

impl From<WriteError> for Refusal {
    fn from(refused: WriteError) -> Self {
        Self::Refused(refused)
    }
}

/// One object under test.
struct Case<'a> {
    ctx: &'a TestContext<'a>,
    kind: &'a Modelled,
    name: String,
    seed: u64,
    /// The requests, stored objects and responses so far.
    told: Vec<String>,
}

impl Case<'_> {
    fn holds(mut self, number: u64, tally: &mut Tally) {
        let mut random = Random::new(self.seed.wrapping_mul(1000).wrapping_add(number));
        let kind = self.kind;
        let version = random.pick(&kind.versions).unwrap().clone();
        let sent = self.make(&mut random, &version);
        if !self.writes(Method::POST, &version, &sent, None, tally) {
            return;
        }
        tally.stored += 1;
        let found = self.reads(&kind.home);
        // A write of the unchanged object changes at most the number format in storage.
        let before = self.etcd();
        self.writes(Method::PUT, &kind.home, &found, Some(&found), tally);
        let (after, again) = (self.etcd(), self.reads(&kind.home));
        let of = |name: &str| again.field(name) == found.field(name);
        // The API server tracks the owners of set elements in floats: 9007199254740993 becomes another number there.
        let is_quiet = of("metadata.resourceVersion") || !of("metadata.managedFields");
        assert!(is_quiet || bare(&before) != bare(&after), "a write of nothing was one\n{}", self.story());
        for other in kind.versions.iter().filter(|other| **other != kind.home) {
            let seen = self.reads(other);
            tally.converted += 1;
            tally.rewritten += u32::from(self.writes(Method::PUT, other, &seen, Some(&seen), tally));
        }
    }

    /// Writes an object: it is stored or refused, as the model predicts. Returns true if it was stored.
    fn writes(
        &mut self,
        method: Method,
        version: &str,
        object: &Value,
        old: Option<&Value>,
        tally: &mut Tally,
    ) -> bool {
        let answer = self.send(method, version, object);
        let stored = match self.kind.write(version, object, old) {
            Ok(stored) => stored,
            Err(refused) => {
                self.refused(&answer, &refused, tally);
                return false;
            }
        };
        let answered = self.accepted(&answer);
        let found = self.etcd();
        self.same("stored", &stored, &found);
        self.same("answered", &self.expected(version, &stored), &answered);
        true
    }

    /// Reads the object at this version and compares the result with the model.
    fn reads(&mut self, version: &str) -> Value {
        let stored = self.etcd();
        let path = format!("{}/{}", self.path(version), self.name);
        let answer = self.ctx.call(Method::GET, &path, None);
        self.told.push(format!("asked    GET {path}"));
        self.told.push(format!("answered {} {}", answer.code, answer.text));
        let found = self.accepted(&answer);
        self.same("read", &self.expected(version, &stored), &found);
        found
    }

    fn expected(&self, version: &str, stored: &Value) -> Value {
        let seen = self.kind.get(version, stored);
        seen.unwrap_or_else(|error| panic!("the model cannot read it: {error}\n{}", self.story()))
    }

    /// A random object: valid for the schema, with numbers in any format, and occasionally with arbitrary values at
    /// arbitrary places.
    fn make(&self, random: &mut Random, version: &str) -> Value {
        let optional = [20, 50, 80][random.below(3)];
        let fullness = FillRatio { optional, unknown: 10 };
        let mut object = valid(random, self.kind.schema(version), "", fullness, &Dictionary::default());
        if !object.is_object() {
            object = Value::object();
        }
        let spoilt = random.percent(12);
        for way in object.ways() {
            let Some(place) = object.at_mut(&way) else { continue };
            match place {
                Value::Number(number) if random.percent(20) => *number = spelling(random),
                _ if spoilt && way.len() > 1 && random.percent(8) => *place = anything(random, 2),
                _ if way.len() > 1 && random.percent(3) => *place = Value::Null,
                _ => {}
            }
        }
        let kind = self.kind.kind();
        object.set("apiVersion", Value::text(&format!("{}/{version}", kind.group())));
        object.set("kind", Value::text(kind.kind()));
        let mut metadata = Value::object();
        metadata.set("name", Value::text(&self.name));
        metadata.set("namespace", Value::text(&self.ctx.ns));
        object.set("metadata", metadata);
        object
    }

    fn path(&self, version: &str) -> String {
        let (kind, ns) = (self.kind.kind(), &self.ctx.ns);
        format!("/apis/{}/{version}/namespaces/{ns}/{}", kind.group(), kind.plural())
    }

    fn send(&mut self, method: Method, version: &str, object: &Value) -> Answer {
        let one = if method == Method::POST { String::new() } else { format!("/{}", self.name) };
        let path = format!("{}{one}", self.path(version));
        let text = object.to_text();
        self.told.push(format!("asked    {method} {path} {text}"));
        let answer = self.ctx.call(method, &path, Some((JSON, text)));
        self.told.push(format!("answered {} {}", answer.code, answer.text));
        answer
    }

    fn accepted(&self, answer: &Answer) -> Value {
        assert!(answer.is_ok(), "the model has nothing against it: {}\n{}", answer.message(), self.story());
        Value::read(&answer.text).unwrap()
    }

    fn refused(&self, answer: &Answer, refusal: &Refusal, tally: &mut Tally) {
        let (code, why, count) = match refusal {
            Refusal::Refused(WriteError::Undecodable(why)) => (400, why.to_string(), &mut tally.undecodable),
            Refusal::Refused(WriteError::Invalid(why)) => (422, why.to_string(), &mut tally.refused),
            Refusal::Unconvertible(why) => (500, why.clone(), &mut tally.refused),
        };
        assert!(answer.code == code, "the model expects {code}: {why}\n{}", self.story());
        *count += 1;
    }

    fn etcd(&mut self) -> Value {
        let kind = self.kind.kind();
        let key = format!("/registry/{}/{}/{}/{}", kind.group(), kind.plural(), self.ctx.ns, self.name);
        let text = self.ctx.test_cluster.etcd.text(&key).unwrap_or_else(|| panic!("nothing stored\n{}", self.story()));
        self.told.push(format!("stored   {text}"));
        Value::read(&text).unwrap()
    }

    /// Checks that two objects are equal to the last digit, except for the metadata of the API server.
    fn same(&self, what: &str, model: &Value, found: &Value) {
        if let Some(difference) = difference(&bare(model), &bare(found)) {
            let model = model.to_text();
            panic!("{what}: {difference} as the model says\n{}\nmodel    {model}", self.story());
        }
    }

    fn story(&self) -> String {
        format!("POINTSMAN_SEED={} {}\n{}", self.seed, self.name, self.told.join("\n"))
    }
}

/// Patterns and combinations of schemas, as [`pointsman_core::laws::apiserver::refused`] judges them.
fn keywords(ctx: &TestContext<'_>) {
    let cases: Json = serde_saphyr::from_str(include_str!("../data/keywords.yaml")).unwrap();
    let cases = cases.as_array().unwrap();
    let fields = cases.iter().enumerate().map(|(at, case)| (format!("f{at}"), case["schema"].clone()));
    let fields = Json::Object(fields.collect());
    let mut crd = ctx.crd.clone();
    for version in crd["spec"]["versions"].as_array_mut().unwrap() {
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] =
            serde_json::json!({"type": "object", "properties": fields});
    }
    ctx.install(&crd);
    let version = ctx.sample.old;
    let send = |at: usize, value: &Json| {
        let name = format!("f{at}");
        let object = ctx.with_spec(version, &name, serde_json::json!({&name: value}));
        ctx.call(Method::POST, &format!("{}?dryRun=All", ctx.all(version)), Some((JSON, object.to_string())))
    };
    let mut wrong = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        // Wrong fields of an embedded object are not decoded: 400.
        for (key, codes) in [("accepted", &[201][..]), ("refused", &[422, 400])] {
            for value in case[key].as_array().into_iter().flatten() {
                let answer = send(at, value);
                if !codes.contains(&answer.code) {
                    wrong.push(format!("{key}: {value} by {}: {}", case["schema"], answer.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An object as the API server sends it: Go's JSON escapes HTML characters, and kept values stay as received.
fn sent(object: &Value) -> String {
    let escapes =
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    escapes.into_iter().fold(object.to_text(), |text, (from, to)| text.replace(from, to))
}

/// An object with the parts of its metadata that the webhook returns.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    let annotations = object.field("metadata.annotations").filter(|all| !all.is_empty()).cloned();
    object.take("metadata");
    if let Some(annotations) = annotations {
        object.set("metadata", Value::object());
        object.set("metadata.annotations", annotations);
    }
    object
}

/// A number in a format that JSON allows.
fn spelling(random: &mut Random) -> String {
    if random.percent(50) {
        return random.word(&SPELLINGS).to_owned();
    }
    let digits = |random: &mut Random, count: usize| -> String {
        (0..count).map(|_| char::from(b'0' + u8::try_from(random.below(10)).unwrap())).collect()
    };
    let mut text = String::new();
    text.push_str(if random.percent(20) { "-" } else { "" });
    let whole = 1 + random.below(22);
    let whole = digits(random, whole);
    let whole = whole.trim_start_matches('0');
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if random.percent(40) {
        let fraction = 1 + random.below(20);
        text.push('.');
        text.push_str(&digits(random, fraction));
    }
    if random.percent(30) {
        text.push_str(random.word(&["e", "E"]));
        text.push_str(random.word(&["", "+", "-"]));
        let most = [10, 40, 340][random.below(3)];
        text.push_str(&random.below(most).to_string());
    }
    text
}

const SPELLINGS: [&str; 32] = [
    "0",
    "-0",
    "-0.0",
    "0.0",
    "1",
    "1.0",
    "1.50",
    "2.5",
    "1e3",
    "1E3",
    "1e+3",
    "1000.0",
    "0.1e-7",
    "0.000001",
    "0.0000009",
    "1e20",
    "1e21",
    "100000000000000000000",
    "1000000000000000000000",
    "999999999999999999999",
    "9007199254740993",
    "9007199254740993.0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "2147483648",
    "1e-400",
    "4.9e-324",
    "1.7976931348623157e308",
    "1E400",
];

/// Installs the kinds, and starts a server for all of them.
fn install(ctx: &TestContext<'_>, seed: u64) -> Vec<Modelled> {
    let mut kinds = vec![modelled(ctx.kind())];
    let mut crds = vec![ctx.enabled(ctx.sample.old)];
    let drafts = (0..).map(|number| Draft::random(seed.wrapping_mul(1000).wrapping_add(number), Manner::Sensible));
    for (number, mut draft) in drafts.enumerate() {
        if kinds.len() == KINDS {
            break;
        }
        let group = format!("g{number}.{}", ctx.group);
        let text = draft.crd.to_string().replace("example.com", &group);
        draft.crd = serde_json::from_str(&text).unwrap();
        let Ok(kind) = draft.load() else { continue };
        let mut crd = kind.crd().clone();
        crd["spec"]["conversion"] = ctx.conversion();
        // Skips schemas that the API server refuses.
        if !ctx.post(&format!("{CRDS}?dryRun=All"), &crd).is_ok() {
            continue;
        }
        let file = format!("thing-{number}.crd.yaml");
        draft.definition["crd"] = file.clone().into();
        draft.definition["name"] = format!("thing-{number}").into();
        fs::write(ctx.setup.kinds.join(&file), text).unwrap();
        fs::write(ctx.setup.kinds.join(format!("thing-{number}.yaml")), draft.definition.to_string()).unwrap();
        crds.push(crd);
        kinds.push(modelled(kind));
    }
    ctx.stop_pointsman();
    ctx.pointsman.replace(Some(Pointsman::start(&ctx.setup)));
    for crd in &crds {
        ctx.post(CRDS, crd).ok();
    }
    for kind in &kinds {
        for version in &kind.versions {
            let path = format!("/apis/{}/{version}/{}", kind.kind().group(), kind.kind().plural());
            eventually(&format!("{path} is served"), SOON, || ctx.call(Method::GET, &path, None).is_ok().then_some(()));
        }
    }
    kinds
}

fn modelled(kind: Kind) -> Modelled {
    let (home, versions) = (kind.storage().to_owned(), kind.versions().map(str::to_owned).collect());
    let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
    Modelled { webhook, home, versions }
}

/// The number of kinds in one run, including the kind with every keyword.
const KINDS: usize = 7;
