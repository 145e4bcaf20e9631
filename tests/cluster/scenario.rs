//! What can be asked of a test_cluster, and on which beds it is asked.

use crate::support::ctx::TestContext;
use crate::support::sample::{MATERIALIZE, Sample, WIDGET};
use crate::support::test_cluster::{Plan, Route};

/// Something that must hold.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&TestContext<'_>),
    kinds: &'static [&'static Sample],
    newest: bool,
    /// A program without which there is nothing to run.
    pub(crate) needs: &'static str,
    pub(crate) may_fail: bool,
    /// The test_cluster that is for such scenarios only, by what its name ends in.
    pub(crate) alone: Option<&'static str>,
    thorough: bool,
    /// The group, where it is not one of the scenario's own.
    pub(crate) group: Option<&'static str>,
}

impl Scenario {
    /// Of both kinds, on every test_cluster. Where `POINTSMAN_THOROUGH` is not set, of one of them on all beds but the
    /// first.
    pub(crate) const fn new(name: &'static str, run: fn(&TestContext<'_>)) -> Self {
        let kinds = &KINDS;
        let needs = "kube-apiserver";
        Self { name, run, kinds, newest: false, needs, may_fail: false, alone: None, thorough: false, group: None }
    }

    pub(crate) const fn materialize(mut self) -> Self {
        self.kinds = KINDS.split_at(1).1;
        self
    }

    /// Of other kinds.
    pub(crate) const fn of(mut self, kinds: &'static [&'static Sample]) -> Self {
        self.kinds = kinds;
        self
    }

    /// On the test_cluster of the newest version that is set up as a cluster is.
    pub(crate) const fn newest(mut self) -> Self {
        self.newest = true;
        self
    }

    /// Left out where there is no such program.
    pub(crate) const fn needs(mut self, program: &'static str) -> Self {
        self.needs = program;
        self.newest = true;
        self
    }

    /// Makes conversions fail on purpose.
    pub(crate) const fn failing(mut self) -> Self {
        self.may_fail = true;
        self
    }

    /// In the group that the definition is for, with the definition that is built in.
    pub(crate) const fn built_in(mut self) -> Self {
        self.kinds = KINDS.split_at(1).1;
        self.group = Some(MATERIALIZE.group);
        self
    }

    /// Where `POINTSMAN_THOROUGH` is set: it takes a kind, or the API server, away from everybody for a while, and what
    /// the controllers of Kubernetes make of that takes them minutes at times.
    pub(crate) const fn thorough(mut self) -> Self {
        self.thorough = true;
        self
    }

    /// On a test_cluster where nothing else runs: others would disturb what it looks at, or hold up the controllers of
    /// Kubernetes that it waits for, which look at every kind there is, also at one whose webhook is dead. Other beds
    /// run beside it.
    pub(crate) const fn alone(mut self) -> Self {
        self.alone = Some("-alone");
        self
    }

    /// On a test_cluster of those that hand over: they are in each other's way only, and mostly wait.
    pub(crate) const fn handing_over(mut self) -> Self {
        self.alone = Some("-handed-over");
        self
    }

    /// On a test_cluster of those that install policies for everybody's Deployments.
    pub(crate) const fn under_policies(mut self) -> Self {
        self.alone = Some("-policies");
        self
    }
}

/// A scenario for one kind on one test_cluster.
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) scenario: Scenario,
    pub(crate) sample: &'static Sample,
}

/// What there is to do on a test_cluster.
pub(crate) fn jobs(plan: &Plan, scenarios: &[Scenario]) -> Vec<Job> {
    let thorough = std::env::var_os("POINTSMAN_THOROUGH").is_some();
    let wanted = scenarios.iter().filter(|scenario| thorough || !scenario.thorough);
    let fitting = wanted.filter(|scenario| !scenario.newest || plan.name == PLANS[0].name);
    let kinds = |scenario: &Scenario| if thorough { scenario.kinds } else { kinds_on(plan, scenario.kinds) };
    let pairs = fitting.flat_map(|scenario| kinds(scenario).iter().map(|sample| (*scenario, *sample)));
    let job = |(scenario, sample): (Scenario, &'static Sample)| {
        let id = format!("{}::{}::{}", plan.name, sample.name, scenario.name);
        Job { id, scenario, sample }
    };
    pairs.map(job).collect()
}

/// All of them on the first test_cluster. Beds differ in what an API server does, and kinds in what a definition does:
/// one kind shows the first, and each of the other beds takes another one.
fn kinds_on(plan: &Plan, kinds: &'static [&'static Sample]) -> &'static [&'static Sample] {
    match PLANS.iter().position(|other| other.name == plan.name) {
        None | Some(0) => kinds,
        Some(test_cluster) => kinds.chunks(1).cycle().nth(test_cluster).unwrap_or(kinds),
    }
}

static KINDS: [&Sample; 2] = [&WIDGET, &MATERIALIZE];

/// The first is set up as a cluster is. The others differ from it in what could make a difference to us.
pub(crate) static PLANS: [Plan; 3] = [
    Plan { name: "1.36", version: "1.36", route: Route::Service, watch_cache: true },
    Plan { name: "1.36-uncached", version: "1.36", route: Route::Url, watch_cache: false },
    Plan { name: "1.34", version: "1.34", route: Route::Url, watch_cache: true },
];
