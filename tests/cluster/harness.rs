//! Runs the scenarios: many share one API server, for speed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::scenario::{Job, PLANS, Scenario, jobs};
use crate::support::assets::Assets;
use crate::support::client::trail;
use crate::support::ctx::{TestContext, group_of};
use crate::support::metrics;
use crate::support::processors::wait_for_processors;
use crate::support::test_cluster::{Plan, TestCluster, log_dir};

/// Runs the selected scenarios. Returns true if all passed.
pub(crate) fn main(scenarios: &[Scenario]) -> bool {
    let args = Args::read();
    if args.ignored {
        return true;
    }
    remember_panics();
    let began = Instant::now();
    let mut report = Report { held: true, ..Report::default() };
    // The first test cluster takes longest: its tasks start first, and the others run in parallel.
    let mut tasks = Vec::new();
    for plan in &PLANS {
        let mut jobs = jobs(plan, scenarios);
        jobs.retain(|job| args.select(&job.id));
        if args.list {
            jobs.iter().for_each(|job| println!("{}: test", job.id));
        } else if !jobs.is_empty() {
            match Assets::find(plan.version) {
                Ok(assets) => {
                    jobs.retain(|job| report.runs(job, &assets));
                    tasks.extend(tasks_of(plan, &assets, jobs));
                }
                Err(why) => *report.left_out.entry(why).or_default() += jobs.len(),
            }
        }
    }
    let (tasks, outcomes) = (Mutex::new(VecDeque::from(tasks)), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = tasks.lock().unwrap().pop_front();
                    let Some(task) = next else { return };
                    let outcome = whole(task);
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    for outcome in outcomes.into_inner().unwrap() {
        report.held &= outcome.held;
        report.lines.push(outcome.lines);
    }
    report.lines.iter().for_each(|line| println!("{line}"));
    for (why, count) in &report.left_out {
        println!("cluster tests: {count} scenarios LEFT OUT: {why}");
        report.held &= std::env::var_os("CI").is_none();
    }
    if !args.list {
        println!("cluster tests: {} in {:.0?}", if report.held { "ok" } else { "FAILED" }, began.elapsed());
    }
    report.held
}

/// The arguments of a test runner.
struct Args {
    filters: Vec<String>,
    exact: bool,
    list: bool,
    ignored: bool,
}

impl Args {
    fn read() -> Self {
        let (flags, filters): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with('-'));
        let flag = |name: &str| flags.iter().any(|flag| flag == name);
        Self { exact: flag("--exact"), list: flag("--list"), ignored: flag("--ignored"), filters }
    }

    fn select(&self, id: &str) -> bool {
        let fits = |filter: &String| {
            if self.exact { id == filter } else { id.contains(filter) }
        };
        self.filters.is_empty() || self.filters.iter().any(fits)
    }
}

#[derive(Default)]
struct Report {
    held: bool,
    lines: Vec<String>,
    /// The number of skipped scenarios by reason.
    left_out: BTreeMap<String, usize>,
}

impl Report {
    /// True if the program that a scenario needs exists. Otherwise the scenario is skipped.
    fn runs(&mut self, job: &Job, assets: &Assets) -> bool {
        let program = job.scenario.needs;
        let there = assets.has(program);
        if !there {
            let why = format!("KUBEBUILDER_ASSETS has no {program}; without it, assets.sh builds one");
            *self.left_out.entry(why).or_default() += 1;
        }
        there
    }
}

/// The tasks of a plan, by test cluster. Scenarios that must be alone have their own test clusters. Some of those wait
/// for the controllers of Kubernetes and keep all webhooks alive; these can share one test cluster.
fn tasks_of(plan: &'static Plan, assets: &Assets, jobs: Vec<Job>) -> impl Iterator<Item = Task> {
    let waits = |of: &Scenario| of.needs == "kube-controller-manager" && !of.may_fail;
    let mut beds: BTreeMap<(&str, usize), Vec<Job>> = BTreeMap::new();
    for job in jobs {
        let test_cluster = match job.scenario.alone {
            None => ("", WORKERS),
            Some("-alone") if waits(&job.scenario) => ("-controlled", FEW_WORKERS),
            Some(test_cluster) => (test_cluster, 1),
        };
        beds.entry(test_cluster).or_default().push(job);
    }
    beds.into_iter().map(move |((of, workers), jobs)| {
        let name = format!("{}{of}", plan.name);
        Task { plan, name, assets: assets.clone(), jobs, workers }
    })
}

/// The scenarios of one test cluster.
struct Task {
    plan: &'static Plan,
    name: String,
    assets: Assets,
    jobs: Vec<Job>,
    /// The number of parallel scenarios.
    workers: usize,
}

/// The summary of a test cluster, and the overall result.
struct Outcome {
    held: bool,
    lines: String,
}

/// Reports a panic like a failure; the other test clusters continue.
fn whole(task: Task) -> Outcome {
    let name = task.name.clone();
    let broke_off = |_| Outcome { held: false, lines: format!("{name} BROKE OFF: {}", last_panic()) };
    panic::catch_unwind(AssertUnwindSafe(|| run(task))).unwrap_or_else(broke_off)
}

fn run(task: Task) -> Outcome {
    let Task { plan, name, assets, jobs, workers } = task;
    wait_for_processors(&RUNNING);
    let Ok(mut test_cluster) = panic::catch_unwind(|| TestCluster::start(plan, &name, assets)) else {
        let logs = log_dir(&name);
        return Outcome {
            held: false,
            lines: format!("{name} does NOT START, logs in {}: {}", logs.display(), last_panic()),
        };
    };
    let (count, began) = (jobs.len(), Instant::now());
    let shared = Shared::default();
    work(&test_cluster, jobs.into_iter().enumerate().collect(), workers, &shared);
    let took = began.elapsed();
    let mut failed = shared.failed.into_inner().unwrap();
    let provoking = shared.provoking.into_inner().unwrap();
    let of = shared.crds.into_inner().unwrap();
    // Once for all: an API server with hundreds of kinds takes a tenth of a second for this page.
    let by_crd = metrics::by_crd(&test_cluster);
    let conversions: u64 = by_crd.values().map(|(good, bad)| good + bad).sum();
    for (crd, (_, bad)) in &by_crd {
        if *bad > 0 && !provoking.contains(crd) {
            let id = of.get(crd).map_or("nobody", String::as_str);
            failed.push(format!("{id}: {bad} conversions of {crd} failed that nobody provoked"));
        }
    }
    let mut lines = format!(
        "{name}: {count} scenarios, {} failed, in {took:.1?} after {:.1?} to start; {conversions} conversions, {} failed unprovoked; calls: {}",
        failed.len(),
        test_cluster.started_in,
        by_crd.iter().filter(|(crd, _)| !provoking.contains(*crd)).map(|(_, (_, bad))| bad).sum::<u64>(),
        metrics::calls(&test_cluster)
            .iter()
            .map(|(result, count)| format!("{count} {result}"))
            .collect::<Vec<_>>()
            .join(", "),
    );
    test_cluster.stop();
    if failed.is_empty() {
        let _ = fs::remove_dir_all(&test_cluster.logs);
    } else {
        lines.push_str(&format!(
            "\n{name} FAILED, logs in {}:\n  {}",
            test_cluster.logs.display(),
            failed.join("\n  ")
        ));
    }
    Outcome { held: failed.is_empty(), lines }
}

#[derive(Default)]
struct Shared {
    failed: Mutex<Vec<String>>,
    /// The CRDs of scenarios with expected conversion failures.
    provoking: Mutex<BTreeSet<String>>,
    /// The scenario of each CRD.
    crds: Mutex<BTreeMap<String, String>>,
}

fn work(test_cluster: &TestCluster, jobs: VecDeque<(usize, Job)>, workers: usize, shared: &Shared) {
    let queue = Mutex::new(jobs);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    wait_for_processors(&RUNNING);
                    let next = queue.lock().unwrap().pop_front();
                    let Some((number, job)) = next else { return };
                    RUNNING.fetch_add(1, Ordering::Relaxed);
                    let held = attempt(test_cluster, &job, number, shared);
                    RUNNING.fetch_sub(1, Ordering::Relaxed);
                    if !held {
                        shared.failed.lock().unwrap().push(job.id);
                    }
                }
            });
        }
    });
}

/// Runs one scenario and reports the result.
fn attempt(test_cluster: &TestCluster, job: &Job, number: usize, shared: &Shared) -> bool {
    let began = Instant::now();
    trail();
    let name = format!("{}-{number}", &job.sample.name[..3]);
    let log = test_cluster.logs.join(format!("{}-{}.log", job.sample.name, job.scenario.name));
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        let ctx = TestContext::new(test_cluster, job.sample, &name, job.scenario.group, log);
        shared.crds.lock().unwrap().insert(ctx.crd_name(), job.id.clone());
        if job.scenario.may_fail {
            shared.provoking.lock().unwrap().insert(ctx.crd_name());
        }
        (job.scenario.run)(&ctx);
        ctx.clean();
    }));
    let took = began.elapsed().as_secs_f64();
    match &result {
        Ok(()) => println!("ok   {} ({took:.1} s)", job.id),
        Err(_) => println!("FAIL {} ({took:.1} s)\n{}\n{}", job.id, last_panic(), evidence(test_cluster, job, &name)),
    }
    result.is_ok()
}

/// The last requests and responses, and the stored objects.
fn evidence(test_cluster: &TestCluster, job: &Job, name: &str) -> String {
    let group = job.scenario.group.map_or_else(|| group_of(name), str::to_owned);
    let stored = test_cluster.etcd.below(&format!("/registry/{group}/"));
    let line = |(key, text): &(String, String)| format!("stored   {key} {text}").chars().take(1500).collect::<String>();
    let mut lines = vec![trail()];
    lines.extend(stored.iter().take(10).map(line));
    lines.extend(stored.len().checked_sub(11).map(|more| format!("stored   and {} more", more + 1)));
    lines.join("\n")
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

fn last_panic() -> String {
    LAST.take()
}

fn remember_panics() {
    panic::set_hook(Box::new(|info| {
        // An object may be large; the beginning identifies the object.
        LAST.set(info.to_string().chars().take(3000).collect());
    }));
}

/// The scenarios that run now, of all test clusters.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Scenarios mostly wait: for caches, for a CRD to be served.
const WORKERS: usize = 10;
/// The number of workers for scenarios that wait for controllers.
const FEW_WORKERS: usize = 4;
/// The number of parallel test clusters: an API server takes half a gigabyte.
const LANES: usize = 5;
