//! Runs the scenarios: one API server for many, which is what keeps this quick.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::assets::Assets;
use crate::support::bed::{Bed, Plan, Route, log_dir};
use crate::support::metrics;
use crate::support::sample::{MATERIALIZE, Sample, WIDGET};
use crate::support::scene::Scene;

/// Something that must hold.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    run: fn(&Scene<'_>),
    kinds: &'static [&'static Sample],
    on: fn(&Plan) -> bool,
    may_fail: bool,
    last: bool,
}

impl Scenario {
    /// Of both kinds, on every API server.
    pub(crate) const fn new(name: &'static str, run: fn(&Scene<'_>)) -> Self {
        let kinds = &KINDS;
        let on = |_: &Plan| true;
        Self {
            name,
            run,
            kinds,
            on,
            may_fail: false,
            last: false,
        }
    }

    pub(crate) const fn widget(mut self) -> Self {
        self.kinds = KINDS.split_at(1).0;
        self
    }

    pub(crate) const fn materialize(mut self) -> Self {
        self.kinds = KINDS.split_at(1).1;
        self
    }

    /// Only where there are controllers, too.
    pub(crate) const fn newest(mut self) -> Self {
        self.on = |plan| plan.version == "1.36" && plan.watch_cache;
        self
    }

    /// Makes conversions fail on purpose.
    pub(crate) const fn failing(mut self) -> Self {
        self.may_fail = true;
        self
    }

    /// By itself, when everything else is done: what it measures others would disturb.
    pub(crate) const fn alone(mut self) -> Self {
        self.last = true;
        self
    }
}

/// A scenario for one kind on one bed.
struct Job {
    id: String,
    scenario: Scenario,
    sample: &'static Sample,
}

static KINDS: [&Sample; 2] = [&WIDGET, &MATERIALIZE];

static PLANS: [Plan; 3] = [
    Plan {
        name: "1.36",
        version: "1.36",
        route: Route::Service,
        watch_cache: true,
    },
    Plan {
        name: "1.36-uncached",
        version: "1.36",
        route: Route::Url,
        watch_cache: false,
    },
    Plan {
        name: "1.34",
        version: "1.34",
        route: Route::Url,
        watch_cache: true,
    },
];

/// Runs what the arguments select. Returns whether all of it held.
pub(crate) fn main(scenarios: &[Scenario]) -> bool {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (flags, filters): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with('-'));
    let flag = |name: &str| flags.iter().any(|flag| *flag == name);
    let wanted = |id: &str| {
        let fits = |filter: &&String| {
            if flag("--exact") {
                id == *filter
            } else {
                id.contains(*filter)
            }
        };
        filters.is_empty() || filters.iter().any(|filter| fits(&filter))
    };
    if flag("--ignored") {
        return true;
    }
    remember_panics();
    let began = Instant::now();
    let mut summary = Vec::new();
    let mut held = true;
    for plan in &PLANS {
        let jobs: VecDeque<Job> = jobs(plan, scenarios)
            .filter(|job| wanted(&job.id))
            .collect();
        if flag("--list") {
            jobs.iter().for_each(|job| println!("{}: test", job.id));
        } else if !jobs.is_empty() {
            match Assets::find(plan.version) {
                Ok(assets) => held &= run(plan, assets, jobs, &mut summary),
                Err(why) => {
                    println!(
                        "cluster tests on {}: {} scenarios LEFT OUT: {why}",
                        plan.name,
                        jobs.len()
                    );
                    held &= std::env::var_os("CI").is_none();
                }
            }
        }
    }
    summary.iter().for_each(|line| println!("{line}"));
    if !summary.is_empty() {
        println!(
            "cluster tests: {} in {:.0?}",
            if held { "all hold" } else { "FAILED" },
            began.elapsed()
        );
    }
    held
}

fn jobs(plan: &'static Plan, scenarios: &[Scenario]) -> impl Iterator<Item = Job> {
    let fitting = scenarios.iter().filter(|scenario| (scenario.on)(plan));
    fitting.flat_map(move |scenario| {
        scenario.kinds.iter().map(move |sample| {
            let id = format!("{}::{}::{}", plan.name, sample.name, scenario.name);
            Job {
                id,
                scenario: *scenario,
                sample,
            }
        })
    })
}

fn run(
    plan: &'static Plan,
    assets: Assets,
    jobs: VecDeque<Job>,
    summary: &mut Vec<String>,
) -> bool {
    let mut bed = match panic::catch_unwind(|| Bed::start(plan, assets)) {
        Ok(bed) => bed,
        Err(_) => {
            println!(
                "{}: does not start; logs in {}\n{}",
                plan.name,
                log_dir(plan).display(),
                last_panic()
            );
            return false;
        }
    };
    let (alone, together): (VecDeque<Job>, VecDeque<Job>) =
        jobs.into_iter().partition(|job| job.scenario.last);
    let total = alone.len() + together.len();
    let failed = Mutex::new(Vec::new());
    let began = Instant::now();
    for (jobs, workers) in [(together, WORKERS), (alone, 1)] {
        let queue = Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>());
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().unwrap().pop_front();
                        let Some((number, job)) = next else { return };
                        if !attempt(&bed, &job, number) {
                            failed.lock().unwrap().push(job.id);
                        }
                    }
                });
            }
        });
    }
    let failed = failed.into_inner().unwrap();
    let calls: Vec<String> = metrics::calls(&bed)
        .into_iter()
        .map(|(result, count)| format!("{count} {result}"))
        .collect();
    summary.push(format!(
        "{}: {total} scenarios, {} failed, in {:.1?} after {:.1?} to start; conversions: {}",
        plan.name,
        failed.len(),
        began.elapsed(),
        bed.started_in,
        calls.join(", "),
    ));
    bed.stop();
    if failed.is_empty() {
        let _ = fs::remove_dir_all(&bed.logs);
    } else {
        let named = failed.join("\n  ");
        summary.push(format!(
            "{} FAILED, logs in {}:\n  {named}",
            plan.name,
            bed.logs.display()
        ));
    }
    failed.is_empty()
}

/// Runs one scenario and says how it went.
fn attempt(bed: &Bed, job: &Job, number: usize) -> bool {
    let began = Instant::now();
    let log = bed
        .logs
        .join(format!("{}-{}.log", job.sample.name, job.scenario.name));
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        let group = format!(
            "{}-{number}{}",
            &job.sample.name[..3],
            if job.scenario.last { "a" } else { "" }
        );
        let scene = Scene::new(bed, job.sample, &group, log);
        (job.scenario.run)(&scene);
        let (good, bad) = metrics::of_crd(bed, &scene.crd_name());
        assert!(
            bad == 0 || job.scenario.may_fail,
            "{bad} conversions failed that should not"
        );
        scene.clean();
        good + bad
    }));
    let took = began.elapsed();
    match result {
        Ok(conversions) => {
            println!(
                "ok   {} ({}, {conversions} conversions)",
                job.id,
                seconds(took)
            );
            true
        }
        Err(_) => {
            println!("FAIL {} ({})\n{}", job.id, seconds(took), last_panic());
            false
        }
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

fn last_panic() -> String {
    LAST.take()
}

fn remember_panics() {
    panic::set_hook(Box::new(|info| {
        let mut text = info.to_string();
        // An object may be large; the beginning says which one it is.
        text.truncate(text.floor_char_boundary(3000));
        LAST.set(text);
    }));
}

/// Scenarios mostly wait: for caches, for a CRD to be served.
const WORKERS: usize = 5;
