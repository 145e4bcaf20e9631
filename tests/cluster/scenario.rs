//! The properties of scenarios, and their test clusters.

use crate::support::ctx::TestContext;
use crate::support::sample::{MATERIALIZE, Sample, WIDGET};
use crate::support::test_cluster::{Plan, Route};

/// A property that must hold.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&TestContext<'_>),
    kinds: &'static [&'static Sample],
    newest: bool,
    /// A program without which the scenario is skipped.
    pub(crate) needs: &'static str,
    pub(crate) may_fail: bool,
    /// The suffix of the test cluster that is reserved for such scenarios.
    pub(crate) alone: Option<&'static str>,
    thorough: bool,
    /// The group, if the scenario has no group of its own.
    pub(crate) group: Option<&'static str>,
}

impl Scenario {
    /// For both kinds, on every test cluster. Without `POINTSMAN_THOROUGH`, test clusters after the first run one of
    /// the kinds.
    pub(crate) const fn new(name: &'static str, run: fn(&TestContext<'_>)) -> Self {
        let kinds = &KINDS;
        let needs = "kube-apiserver";
        Self { name, run, kinds, newest: false, needs, may_fail: false, alone: None, thorough: false, group: None }
    }

    pub(crate) const fn materialize(mut self) -> Self {
        self.kinds = KINDS.split_at(1).1;
        self
    }

    /// For other kinds.
    pub(crate) const fn of(mut self, kinds: &'static [&'static Sample]) -> Self {
        self.kinds = kinds;
        self
    }

    /// On the first test cluster only, which has the usual setup and all programs.
    pub(crate) const fn newest(mut self) -> Self {
        self.newest = true;
        self
    }

    /// Skipped if the program is missing.
    pub(crate) const fn needs(mut self, program: &'static str) -> Self {
        self.needs = program;
        self.newest = true;
        self
    }

    /// Causes conversion failures on purpose.
    pub(crate) const fn failing(mut self) -> Self {
        self.may_fail = true;
        self
    }

    /// In the group of the built-in definition, with that definition.
    pub(crate) const fn built_in(mut self) -> Self {
        self.kinds = KINDS.split_at(1).1;
        self.group = Some(MATERIALIZE.group);
        self
    }

    /// Only with `POINTSMAN_THOROUGH`: the scenario disables a kind, or the API server, for some time. The controllers
    /// of Kubernetes may then take minutes to recover.
    pub(crate) const fn thorough(mut self) -> Self {
        self.thorough = true;
        self
    }

    /// On a test cluster without other scenarios. Others would disturb the observations, or delay the controllers of
    /// Kubernetes, which process every kind, even with a dead webhook. Other test clusters run in parallel.
    pub(crate) const fn alone(mut self) -> Self {
        self.alone = Some("-alone");
        self
    }

    /// On the test cluster for hand-overs: these scenarios only conflict with each other, and mostly wait.
    pub(crate) const fn handing_over(mut self) -> Self {
        self.alone = Some("-handed-over");
        self
    }

    /// On the test cluster for policies that affect all Deployments.
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

/// The jobs of a test cluster.
pub(crate) fn jobs(plan: &Plan, scenarios: &[Scenario]) -> Vec<Job> {
    let thorough = std::env::var_os("POINTSMAN_THOROUGH").is_some();
    if plan.name == OLDEST && !thorough {
        return Vec::new();
    }
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

/// All kinds on the first test cluster. Test clusters differ in the API server, and kinds in the definition. One kind
/// suffices for the API server, and each other test cluster takes another kind.
fn kinds_on(plan: &Plan, kinds: &'static [&'static Sample]) -> &'static [&'static Sample] {
    match PLANS.iter().position(|other| other.name == plan.name) {
        None | Some(0) => kinds,
        Some(test_cluster) => kinds.chunks(1).cycle().nth(test_cluster).unwrap_or(kinds),
    }
}

static KINDS: [&Sample; 2] = [&WIDGET, &MATERIALIZE];

/// The first has the usual setup. The others differ in relevant properties.
pub(crate) static PLANS: [Plan; 4] = [
    Plan { name: "1.36", version: "1.36", route: Route::Service, watch_cache: true },
    Plan { name: "1.36-uncached", version: "1.36", route: Route::Url, watch_cache: false },
    Plan { name: "1.37", version: "1.37", route: Route::Url, watch_cache: true },
    // Only with `POINTSMAN_THOROUGH`: the oldest supported version changes seldom.
    Plan { name: OLDEST, version: OLDEST, route: Route::Url, watch_cache: true },
];

/// The oldest version of Kubernetes that the tests cover.
const OLDEST: &str = "1.34";
