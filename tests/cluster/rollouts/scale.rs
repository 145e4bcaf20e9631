//! The costs of a fleet rollout for the API server and for its other clients.
//!
//! `POINTSMAN_OBJECTS=10000` sets the size of the fleet.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;

use crate::scenario::Scenario;
use crate::support::client::Client;
use crate::support::ctx::{JSON, MERGE, TestContext};
use crate::support::metrics::sum;
use crate::support::process::Process;
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::rolling::{self, Over};
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("fleet_needs_one_write_per_object", frugal).of(&ENGINES).newest().alone()];

/// The calls of the runner, with their times.
type Asked = Arc<Mutex<Vec<(Instant, String)>>>;

/// One list at the start and one at the end, one PATCH for each object, one status write for each batch.
fn frugal(ctx: &TestContext<'_>) {
    let count = std::env::var("POINTSMAN_OBJECTS").map_or(60, |count| count.parse().unwrap());
    // The costs of a large fleet are measured without faults.
    let busy = (count <= MANY).then_some(BUSY);
    // All clients use the storage version: only the rollout causes conversions.
    let mut crd = ctx.printed_crd(&[]);
    for version in crd["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = json!(version["name"] == ctx.sample.new);
    }
    ctx.install(&crd);
    ctx.knows_rollouts();
    fleet(ctx, count);
    ctx.starts_rollout(&json!({"waves": [{"name": "all", "maxInFlight": AT_ONCE}], "timeout": "10m"}));
    let ends = AtomicBool::new(false);
    let asked = Asked::default();
    let proxy = Proxy::start(&ctx.test_cluster.api.client, judge(ctx, &asked, busy));
    caches_know_all(ctx);
    let (converted, checked) = (ctx.conversions(), consistency_checks(ctx));
    let alone = others_wait(ctx, || sleep(ALONE));
    let (began, mut memory) = (Instant::now(), 0);
    let controller = Controller {
        client: ctx.test_cluster.api.client.another(),
        all: ctx.all(ctx.sample.new),
        label: ctx.label_key(),
    };
    let beside = thread::scope(|scope| {
        let _over = Over(&ends);
        scope.spawn(|| controller.looks_after_all(&ends));
        let mut running = ctx.rollouts_through("one", &ctx.through(proxy.port));
        others_wait(ctx, || memory = ends_well(&mut running, count))
    });
    let took = began.elapsed();
    assert_eq!(ctx.versions(), [(B.to_owned(), count)].into());
    let more = ctx.conversions().0 - converted.0;
    let checked = consistency_checks(ctx) - checked;
    let told = Told::of(ctx, &asked.lock().unwrap());
    let late = beside.iter().filter(|took| **took > LATE).count();
    let seconds = took.as_secs_f64();
    println!("{count} objects, {AT_ONCE} at once, {seconds:.0} s, {memory} KiB of memory at most, {more} conversions");
    println!("{checked} times the API server compared a cache of these with its storage");
    println!("{told:?}");
    println!("| others wait for a GET | p50 ms | p99 ms | GETs |\n|---|---|---|---|");
    for (name, mut took) in [("without a rollout", alone), ("during the rollout", beside)] {
        took.sort_unstable();
        let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)].as_secs_f64() * 1e3;
        println!("| {name} | {:.2} | {:.2} | {} |", at(50), at(99), took.len());
    }
    // The API server has a cache of each served version, which converts every write once: the write of the rollout and
    // the write of the controller. Lists, the watch and responses need no conversion. Every five minutes the API server
    // compares that cache with the storage, and converts all objects (`apiserver pkg/storage/cacher/delegator.go`,
    // `consistencyChecker`).
    assert!(more <= (2 + checked) * count as u64, "{more} conversions");
    told.is_frugal(ctx, count, (took, late), busy.is_some());
    assert!(memory <= MEMORY, "{memory} KiB");
    ctx.forgets_rollout();
}

/// The number of comparisons of the caches of these objects with the storage.
fn consistency_checks(ctx: &TestContext<'_>) -> u64 {
    let group = format!("group=\"{}\"", ctx.group);
    sum(ctx.test_cluster, "apiserver_storage_consistency_checks_total", &group) as u64
}

/// Creates healthy engines in parallel.
fn fleet(ctx: &TestContext<'_>, count: usize) {
    let (all, next) = (ctx.all(ctx.sample.new), AtomicUsize::new(0));
    let one = |name: String| {
        let object = ctx.labelled(ctx.sample.new, &name, Some(A)).to_string();
        (name, object)
    };
    let objects: Vec<(String, String)> = (0..count).map(|at| one(format!("e-{at:05}"))).collect();
    thread::scope(|scope| {
        for _ in 0..4 {
            let (client, all, next, objects) = (ctx.test_cluster.api.client.another(), &all, &next, &objects);
            scope.spawn(move || {
                while let Some((name, object)) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    client.call(Method::POST, all, Some((JSON, object.clone()))).ok();
                    report(&client, all, name, "Made");
                }
            });
        }
    });
}

/// Waits until the API server's cache of the other version is current, which needs conversions. Source: `apiserver
/// pkg/storage/cacher/watch_cache.go`, `WaitUntilFreshAndGetList`.
fn caches_know_all(ctx: &TestContext<'_>) {
    let client = &ctx.test_cluster.api.client;
    let list = client.call(Method::GET, &ctx.all(ctx.sample.new), None).ok();
    let now = list["metadata"]["resourceVersion"].as_str().unwrap();
    let fresh = format!("resourceVersion={now}&resourceVersionMatch=NotOlderThan");
    client.call(Method::GET, &format!("{}?{fresh}", ctx.all(ctx.sample.old)), None).ok();
}

/// Reports the health with a time, since an unchanged status would cause no write.
fn report(client: &Client, all: &str, name: &str, when: &str) {
    let path = format!("{all}/{name}/status?fieldManager=engine-controller");
    client.call(Method::PATCH, &path, Some((MERGE, rolling::status(true, when).to_string()))).ok();
}

/// The controller: a moved batch becomes healthy together, a moment later.
struct Controller {
    client: Client,
    /// The path of all objects.
    all: String,
    label: String,
}

impl Controller {
    fn looks_after_all(&self, ends: &AtomicBool) {
        let list = self.client.call(Method::GET, &format!("{}?limit=1", self.all), None).ok();
        let mut until = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        let (mut batch, mut known, mut moved) = (Vec::new(), BTreeSet::new(), Instant::now());
        while !ends.load(Ordering::Relaxed) {
            let path = format!("{}?watch=true&resourceVersion={until}", self.all);
            for event in self.client.watch(&path, usize::MAX, Duration::from_millis(200)) {
                let metadata = &event["object"]["metadata"];
                metadata["resourceVersion"].as_str().unwrap().clone_into(&mut until);
                let name = metadata["name"].as_str().unwrap().to_owned();
                if metadata["labels"][&self.label] == B && known.insert(name.clone()) {
                    batch.push(name);
                    moved = Instant::now();
                }
            }
            if moved.elapsed() > ANSWERS {
                batch.drain(..).for_each(|name| report(&self.client, &self.all, &name, "Moved"));
            }
        }
    }
}

/// Records calls, and answers one write in the middle with 429 if `busy` is set.
fn judge(
    ctx: &TestContext<'_>,
    asked: &Asked,
    busy: Option<usize>,
) -> impl Fn(usize, &Method, &str) -> Fate + Send + Sync + 'static {
    let (asked, object, writes) = (asked.clone(), format!("/{}/e-", ctx.sample.plural), AtomicUsize::new(0));
    move |_, method, path| {
        asked.lock().unwrap().push((Instant::now(), format!("{method} {path}")));
        let is_write = method == Method::PATCH && path.contains(&object);
        match is_write.then(|| writes.fetch_add(1, Ordering::Relaxed)) {
            Some(write) if busy == Some(write) => {
                asked.lock().unwrap().push((Instant::now(), "429".to_owned()));
                Fate::Answer(429, Some(PAUSE), status(429, "too many requests"))
            }
            _ => Fate::Pass,
        }
    }
}

/// Waits for the end of a rollout. Returns the peak memory of its runner in KiB.
fn ends_well(running: &mut Process, count: usize) -> u64 {
    let (mut most, deadline) = (0, Instant::now() + Duration::from_secs(60 + count as u64));
    loop {
        most = running.most_memory().unwrap_or_default().max(most);
        match running.end(Duration::from_millis(200)) {
            None => assert!(Instant::now() < deadline, "the rollout continues"),
            ended => {
                assert_eq!(ended, Some(0));
                return most;
            }
        }
    }
}

/// The latencies of another client's GETs during `work`.
fn others_wait(ctx: &TestContext<'_>, work: impl FnOnce()) -> Vec<Duration> {
    let ends = AtomicBool::new(false);
    let (client, path) = (ctx.test_cluster.api.client.another(), format!("/api/v1/namespaces/{}", ctx.ns));
    thread::scope(|scope| {
        let asks = scope.spawn(|| {
            let mut took = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let began = Instant::now();
                client.call(Method::GET, &path, None).ok();
                took.push(began.elapsed());
                sleep(Duration::from_millis(20));
            }
            took
        });
        let over = Over(&ends);
        work();
        drop(over);
        asks.join().unwrap()
    })
}

/// The calls of the runner to the API server, by type.
#[derive(Debug)]
struct Told {
    lists: usize,
    watches: usize,
    reads: usize,
    writes: usize,
    /// Writes in dry runs.
    dry_runs: usize,
    statuses: usize,
    of_the_rollout: usize,
    others: usize,
    /// The time from a 429 to the next call.
    left_alone: Option<Duration>,
}

impl Told {
    fn of(ctx: &TestContext<'_>, asked: &[(Instant, String)]) -> Self {
        let count = |is_one: &dyn Fn(&str) -> bool| asked.iter().filter(|(_, call)| is_one(call)).count();
        let (all, rollout) = (format!("/{}", ctx.sample.plural), format!("/stagedrollouts/{}", ctx.ns));
        let one = format!("{all}/e-");
        let busy = asked.iter().position(|(_, call)| call == "429");
        let mut told = Self {
            // Counts only the first of several pages.
            lists: count(&|call| call.contains(&format!("{all}?limit=")) && !call.contains("continue=")),
            watches: count(&|call| call.contains(&format!("{all}?watch="))),
            reads: count(&|call| call.starts_with("GET") && call.contains(&one)),
            writes: count(&|call| call.starts_with("PATCH") && call.contains(&one) && !call.contains("dryRun=All")),
            dry_runs: count(&|call| call.contains(&one) && call.contains("dryRun=All")),
            statuses: count(&|call| call.starts_with("PUT") && call.contains(&rollout)),
            of_the_rollout: count(&|call| call.starts_with("GET") && call.contains(&rollout)),
            others: 0,
            left_alone: busy.map(|busy| asked[busy + 1].0 - asked[busy].0),
        };
        let pages = count(&|call| call.contains("continue="));
        let known =
            told.lists + told.watches + told.reads + told.writes + told.dry_runs + told.statuses + told.of_the_rollout;
        told.others = asked.len() - usize::from(busy.is_some()) - known - pages;
        told
    }

    /// `late` is the number of slow GETs of another client.
    fn is_frugal(&self, ctx: &TestContext<'_>, count: usize, (took, late): (Duration, usize), was_busy: bool) {
        assert_eq!(self.lists, 2, "{self:?}");
        // The API server ends a watch after half an hour at the earliest (`--min-request-timeout`).
        let watches = 1 + took.as_secs() / 1800;
        assert!((1..=watches).contains(&(self.watches as u64)), "{self:?} in {took:?}");
        // Plus the retried write.
        assert_eq!(self.writes, count + usize::from(was_busy), "{self:?}");
        assert_eq!(self.dry_runs, 1, "whether the mark of a move is kept: {self:?}");
        let mut written = ctx.rollout_writes();
        written.sort();
        written.dedup();
        assert_eq!(written.len(), count, "each once");
        // One for each batch, one for the end, and more for the fault. A slow machine observes a batch in two parts.
        let statuses = count.div_ceil(AT_ONCE) + 1 + 4 * usize::from(was_busy);
        assert!(self.statuses <= statuses + statuses / 20 + late.min(statuses), "{self:?}, late {late} times");
        // Only objects that the watch reported late.
        assert!(self.reads * 20 <= count, "{self:?}");
        let pause = Duration::from_secs(PAUSE.into());
        assert_eq!(self.left_alone.map(|left| left >= pause), was_busy.then_some(true), "{self:?}");
    }
}

const AT_ONCE: usize = 10;
/// A responsive machine answers a GET in a few milliseconds, and events arrive within a second.
const LATE: Duration = Duration::from_millis(250);

/// The time from the last move of a batch to the reports of its health.
const ANSWERS: Duration = Duration::from_millis(1_100);
/// The number of the write that meets a busy API server, and the requested pause in seconds.
const BUSY: usize = 25;
const PAUSE: u16 = 3;
/// The duration of the measurement without a rollout.
const ALONE: Duration = Duration::from_secs(3);
const MANY: usize = 1_000;
/// KiB.
const MEMORY: u64 = 64 << 10;
