//! The costs of webhooks for the users of a real API server, and for the server itself: pointsman, other webhooks, null
//! webhooks, and none, in one run.
//!
//! ```sh
//! benches/rivals/build.sh
//! POINTSMAN_SPEED=10000 cargo test -q --release --test real_cluster
//! ```
//!
//! The number is the number of objects in the cold cache.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::reviews::{self, Version};
use crate::scenario::PLANS;
use crate::support::assets::Assets;
use crate::support::ctx::{APPLY, JSON, TestContext};
use crate::support::metrics::sum;
use crate::support::process::{Process, SOON, eventually, free_port};
use crate::support::sample::MATERIALIZE;
use crate::support::test_cluster::TestCluster;

/// Prints the tables. Returns false if the required programs are missing.
pub(crate) fn main(objects: usize) -> bool {
    let assets = match Assets::find(PLANS[0].version) {
        Ok(assets) => assets,
        Err(why) => {
            eprintln!("nothing to measure with: {why}");
            return false;
        }
    };
    let mut test_cluster = TestCluster::start(&PLANS[0], "speed", assets);
    test_cluster.stop_controllers();
    {
        let log = test_cluster.logs.join("speed.log");
        let ctx = TestContext::new(&test_cluster, &MATERIALIZE, "speed", Some(MATERIALIZE.group), log);
        ctx.enable(MATERIALIZE.old);
        let servers = Servers::start(&ctx);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!("load average before: {load}");
        writes(&ctx, &servers);
        cold(&ctx, &servers, objects);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        println!("load average after: {load}");
        // Removes the registrations before the servers stop.
        Webhooks::NONE.register(&ctx);
    }
    test_cluster.stop();
    true
}

/// A registration.
#[derive(Clone, Copy)]
struct Webhooks {
    name: &'static str,
    /// The port of the conversion webhook.
    port: Option<u16>,
    /// True if the mutating and validating webhooks are registered as well.
    admission: bool,
}

impl Webhooks {
    const NONE: Self = Self { name: "none", port: None, admission: false };

    fn label(self) -> String {
        format!("{}{}", self.name, if self.admission { ", all three" } else { "" })
    }

    /// Replaces the current registration. Every cache of the kind is cold afterwards.
    fn register(self, ctx: &TestContext<'_>) {
        let mut conversion = json!({"strategy": "None"});
        if let Some(port) = self.port {
            conversion = ctx.conversion();
            conversion["webhook"]["clientConfig"]["service"]["port"] = json!(port);
        }
        ctx.change_crd(|crd| {
            crd["spec"]["conversion"] = conversion.clone();
            // An unchanged conversion would keep the caches.
            let short = if crd["spec"]["names"]["shortNames"] == json!(["x"]) { "y" } else { "x" };
            crd["spec"]["names"]["shortNames"] = json!([short]);
        });
        let service = format!("--service={}/pointsman:{}", ctx.ns, self.port.unwrap_or(ctx.setup.port));
        let version = format!("--controller-version={VERSION}");
        let printed = ctx.pointsman_prints(&["webhooks", &version, "--guard=none", &service]);
        let does: &[&str] = if self.admission { &["apply"] } else { &["delete", "--ignore-not-found"] };
        ctx.kubectl(does, &serde_json::from_str(&printed).unwrap());
    }
}

/// The servers, each with the same certificate.
struct Servers {
    all: Vec<(&'static str, u16)>,
    _running: Vec<Process>,
}

impl Servers {
    fn start(ctx: &TestContext<'_>) -> Self {
        let rivals = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/rivals");
        let programs = [
            ("null", std::env::current_exe().unwrap(), true),
            ("axum", rivals.join("axum"), false),
            ("controller-runtime", rivals.join("controller-runtime"), false),
        ];
        let (mut all, mut running) = (vec![("pointsman", ctx.setup.port)], Vec::new());
        for (name, program, ours) in programs {
            if !program.exists() {
                println!("left out: {name} (benches/rivals/build.sh makes it)");
                continue;
            }
            let port = free_port();
            let mut args = vec![port.to_string(), ctx.dir.display().to_string()];
            if ours {
                args.insert(0, NULL.to_owned());
            }
            running.push(Process::start(name, &program, &args, &ctx.setup.log.with_extension(name)));
            eventually(name, SOON, || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
            all.push((name, port));
        }
        Self { all, _running: running }
    }

    /// Conversion alone for all servers, then all three webhooks for the servers that have them.
    fn registrations(&self) -> Vec<Webhooks> {
        let mut registrations = vec![Webhooks::NONE];
        registrations.extend(self.conversions());
        let three = self.all.iter().filter(|(name, _)| matches!(*name, "pointsman" | "null"));
        registrations.extend(three.map(|&(name, port)| Webhooks { name, port: Some(port), admission: true }));
        registrations
    }

    fn conversions(&self) -> impl Iterator<Item = Webhooks> {
        self.all.iter().map(|&(name, port)| Webhooks { name, port: Some(port), admission: false })
    }
}

/// A request at the version that is not stored.
#[derive(Clone, Copy)]
enum Action {
    Get,
    Update,
    Apply,
}

const ACTIONS: [(Action, &str); 3] = [(Action::Get, "get"), (Action::Update, "update"), (Action::Apply, "apply")];

/// One row: the registration, the number of parallel writers, the action, and the duration of each action.
struct Row {
    webhooks: Webhooks,
    writers: usize,
    action: usize,
    took: Vec<Duration>,
    failed: usize,
    conversions: f64,
    admissions: f64,
    cpu: f64,
}

fn writes(ctx: &TestContext<'_>, servers: &Servers) {
    let mut rows: Vec<Row> = Vec::new();
    for round in 0..ROUNDS {
        for webhooks in servers.registrations() {
            webhooks.register(ctx);
            // Informers of CRDs and of webhook configurations expose no sign that they are current.
            thread::sleep(SETTLE);
            for writers in [1, 8] {
                let names: Vec<String> = (0..writers)
                    .map(|number| {
                        format!("{}-{writers}-{number}", webhooks.label().replace(", ", "-").replace(' ', "-"))
                    })
                    .collect();
                if round == 0 {
                    names.iter().for_each(|name| apply(ctx, name, 0).then_some(()).expect("an object to begin with"));
                }
                for (action, (act, _)) in ACTIONS.into_iter().enumerate() {
                    let before = (conversions(ctx), admissions(ctx), cpu(ctx));
                    let (took, failed) = all_at_once(ctx, &names, act, round);
                    let (conversions, admissions) = (conversions(ctx) - before.0, admissions(ctx) - before.1);
                    let cpu = cpu(ctx) - before.2;
                    rows.push(Row { webhooks, writers, action, took, failed, conversions, admissions, cpu });
                }
            }
        }
    }
    print_writes(&rows, &servers.registrations());
}

/// The durations of repeated actions by parallel writers.
fn all_at_once(ctx: &TestContext<'_>, names: &[String], action: Action, round: usize) -> (Vec<Duration>, usize) {
    let end = Instant::now() + EACH;
    let paths: Vec<String> = names.iter().map(|name| ctx.one(MATERIALIZE.new, name)).collect();
    let objects: Vec<Value> = names.iter().map(|name| manifest(ctx, name)).collect();
    let client = &ctx.test_cluster.api.client;
    let done: Vec<(Vec<Duration>, usize)> = thread::scope(|scope| {
        let mut writers = Vec::new();
        for (path, mut object) in paths.iter().zip(objects) {
            writers.push(scope.spawn(move || {
                let (mut took, mut failed) = (Vec::new(), 0);
                let mut stored = client.call(Method::GET, path, None).ok();
                while Instant::now() < end {
                    let change = json!(format!("{round}-{}", took.len()));
                    stored["metadata"]["annotations"]["speed"] = change.clone();
                    object["metadata"]["annotations"]["speed"] = change;
                    let (method, path, body) = match action {
                        Action::Get => (Method::GET, path.clone(), None),
                        Action::Update => (Method::PUT, path.clone(), Some((JSON, stored.to_string()))),
                        Action::Apply => (
                            Method::PATCH,
                            format!("{path}?fieldManager=me&force=true"),
                            Some((APPLY, object.to_string())),
                        ),
                    };
                    let began = Instant::now();
                    let answer = client.call(method, &path, body);
                    took.push(began.elapsed());
                    failed += usize::from(!answer.is_ok());
                    if answer.is_ok() {
                        stored = answer.body;
                    }
                }
                (took, failed)
            }));
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let failed = done.iter().map(|(_, failed)| failed).sum();
    (done.into_iter().flat_map(|(took, _)| took).collect(), failed)
}

fn apply(ctx: &TestContext<'_>, name: &str, change: usize) -> bool {
    let mut object = manifest(ctx, name);
    object["metadata"]["annotations"]["speed"] = json!(change.to_string());
    ctx.force_apply(MATERIALIZE.new, name, &object, "me").is_ok()
}

/// An object of realistic size as a user applies it at the newer version.
fn manifest(ctx: &TestContext<'_>, name: &str) -> Value {
    let whole: Value = serde_json::from_str(&reviews::object(Version::Newer)).unwrap();
    let mut object = ctx.with_spec(MATERIALIZE.new, name, whole["spec"].clone());
    object["metadata"]["labels"] = json!({ctx.label_key(): VERSION});
    object
}

fn print_writes(rows: &[Row], registrations: &[Webhooks]) {
    println!(
        "\n| request at the version that is not stored | writers | webhooks | p50 ms | p90 ms | p99 ms | × none | \
              requests | failed | conversions each | admissions each | API server's CPU ms each |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for writers in [1, 8] {
        for (action, (_, name)) in ACTIONS.iter().enumerate() {
            let mut floor = None;
            for webhooks in registrations {
                let label = webhooks.label();
                let fits =
                    |row: &&Row| (row.writers, row.action, row.webhooks.label()) == (writers, action, label.clone());
                let fitting: Vec<&Row> = rows.iter().filter(fits).collect();
                let mut took: Vec<Duration> = fitting.iter().flat_map(|row| row.took.iter().copied()).collect();
                took.sort_unstable();
                let at =
                    |share: f64| took[((took.len() as f64 * share) as usize).min(took.len() - 1)].as_secs_f64() * 1e3;
                let each = |of: fn(&Row) -> f64| fitting.iter().map(|row| of(row)).sum::<f64>() / took.len() as f64;
                let (p50, p90, p99) = (at(0.5), at(0.9), at(0.99));
                let times = p50 / *floor.get_or_insert(p50);
                let failed: usize = fitting.iter().map(|row| row.failed).sum();
                let (conversions, admissions) = (each(|row| row.conversions), each(|row| row.admissions));
                let cpu = each(|row| row.cpu) * 1e3;
                println!(
                    "| {name} | {writers} | {label} | {p50:.2} | {p90:.2} | {p99:.2} | {times:.2} | {} | {failed} | \
                     {conversions:.1} | {admissions:.1} | {cpu:.2} |",
                    took.len()
                );
            }
        }
    }
}

/// The time to fill the cache of the version that is not stored.
fn cold(ctx: &TestContext<'_>, servers: &Servers, objects: usize) {
    let whole: Value = serde_json::from_str(&reviews::object(Version::Older)).unwrap();
    for number in 0..objects {
        let (name, mut object) = (format!("cold-{number}"), whole.clone());
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(ctx.ns);
        object["metadata"]["uid"] = json!(format!("{number:08}-8d0e-4a57-9b1c-000000000000"));
        ctx.test_cluster.etcd.write(&ctx.key(&name), &object);
    }
    println!(
        "\n| cold cache filled by | objects | seconds | ms each | conversions | ms each, the API server says | \
              API server's CPU ms each |\n|---|---|---|---|---|---|---|"
    );
    for _ in 0..COLD_ROUNDS {
        for webhooks in std::iter::once(Webhooks::NONE).chain(servers.conversions()) {
            let (filled, waited) = (filled(ctx), waited(ctx));
            let (calls, used) = (conversions(ctx), cpu(ctx));
            webhooks.register(ctx);
            let began = Instant::now();
            eventually("the caches are filled", Duration::from_secs(600), || {
                // The first request creates the storage; a GET of an absent object converts nothing.
                ctx.get(MATERIALIZE.new, "nothing");
                thread::sleep(LOOK);
                (self::filled(ctx) >= filled + 2.0).then_some(())
            });
            let took = began.elapsed().as_secs_f64();
            let (calls, waited) = (conversions(ctx) - calls, self::waited(ctx) - waited);
            let (each, said) = (took * 1e3 / objects as f64, waited * 1e3 / calls.max(1.0));
            let used = (cpu(ctx) - used) * 1e3 / objects as f64;
            println!("| {} | {objects} | {took:.1} | {each:.2} | {calls} | {said:.2} | {used:.2} |", webhooks.label());
        }
    }
}

/// The number of conversions so far.
fn conversions(ctx: &TestContext<'_>) -> f64 {
    sum(ctx.test_cluster, "apiserver_conversion_webhook_duration_seconds_count", "")
}

/// The number of calls to mutating and validating webhooks so far.
fn admissions(ctx: &TestContext<'_>) -> f64 {
    sum(ctx.test_cluster, "apiserver_admission_webhook_admission_duration_seconds_count", "")
}

/// The time that the API server has waited for conversions, in seconds.
fn waited(ctx: &TestContext<'_>) -> f64 {
    sum(ctx.test_cluster, "apiserver_conversion_webhook_duration_seconds_sum", "")
}

/// The number of times that caches of the kind were filled: one for each version.
fn filled(ctx: &TestContext<'_>) -> f64 {
    sum(ctx.test_cluster, "apiserver_watch_cache_initializations_total", MATERIALIZE.plural)
}

/// The CPU time of the API server, in seconds.
fn cpu(ctx: &TestContext<'_>) -> f64 {
    sum(ctx.test_cluster, "process_cpu_seconds_total", "")
}

/// The argument that turns the test program into the null server.
pub(crate) const NULL: &str = "--null-webhooks";

/// The controller version of the validated objects.
const VERSION: &str = "26.12.0";

const ROUNDS: usize = 3;
const COLD_ROUNDS: usize = 2;

/// The duration of one action.
const EACH: Duration = Duration::from_millis(1500);

const SETTLE: Duration = Duration::from_secs(2);
/// A page of metrics costs the API server as much as some fifty conversions.
const LOOK: Duration = Duration::from_secs(1);
