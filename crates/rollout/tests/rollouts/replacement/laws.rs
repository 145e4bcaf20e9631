//! Runs a history and checks its properties throughout.

use std::collections::{BTreeMap, BTreeSet};

use pointsman_rollout::{InFlightObject, ObjectCall, RolloutPhase, RolloutPlan, RolloutWrite};
use serde_json::{Value, json};

use super::fake_namespace::{FakeNamespace, No, PODS, name, old_deployment, taken};
use super::fake_runner::{FakeRunner, Fixture, RunnerCall};
use super::object_calls::{makes_no_way, must_not_go, write};
use super::scenario::{HOUSE, Happening, REWORDED, Scenario, Stranger};

/// A violated property.
pub(super) struct Wrong {
    pub(super) property: &'static str,
    pub(super) what: String,
    pub(super) log: Vec<String>,
}

/// A running history.
pub(super) struct HistoryRun<'a> {
    plot: &'a Scenario,
    fixture: Fixture,
    fake_runners: Vec<FakeRunner>,
    before: BTreeMap<String, [Value; 3]>,
    /// Installations that another client has changed.
    touched: BTreeSet<String>,
    /// The last name that another client gave them.
    names: BTreeMap<String, u64>,
    /// Backups of oldapps during the rollout, one per rollout annotation.
    backups: BTreeMap<String, Vec<Value>>,
    met: BTreeSet<&'static str>,
    log: Vec<String>,
    wrong: Option<(&'static str, String)>,
}

impl<'a> HistoryRun<'a> {
    pub(super) fn new(plot: &'a Scenario) -> Self {
        let fixture = Fixture::new(FakeNamespace::settled(plot.oldapps), &HOUSE, plot.rollout());
        let before = (0..plot.oldapps).map(|at| (name(at), told(&fixture.fake_namespace, &name(at))));
        Self {
            plot,
            before: before.collect(),
            fake_runners: (0..plot.runners).map(|_| FakeRunner::started(fixture.fake_namespace.now)).collect(),
            fixture,
            touched: BTreeSet::new(),
            names: BTreeMap::new(),
            backups: BTreeMap::new(),
            met: BTreeSet::new(),
            log: Vec::new(),
            wrong: None,
        }
    }

    pub(super) fn run(&mut self) -> Option<Wrong> {
        for happening in &self.plot.script {
            self.happens(*happening);
            if self.wrong.is_some() {
                break;
            }
        }
        if self.wrong.is_none() {
            self.quiet();
        }
        let (property, what) = self.wrong.take()?;
        Some(Wrong { property, what, log: std::mem::take(&mut self.log) })
    }

    /// The final phase, and the situations that occurred.
    pub(super) fn ends(&self) -> Vec<String> {
        let phase = format!("{:?}", self.fixture.status().phase);
        self.met.iter().map(|met| (*met).to_owned()).chain([phase]).collect()
    }

    fn is_wrong(&mut self, property: &'static str, what: String) {
        self.wrong.get_or_insert((property, what));
    }

    fn happens(&mut self, happening: Happening) {
        let fixture = &mut self.fixture;
        if !matches!(happening, Happening::Call(_)) {
            self.log.push(format!("{} {happening:?}", fixture.fake_namespace.now));
        }
        match happening {
            Happening::Call(at) => self.call(at),
            Happening::Dies(at) => {
                self.fake_runners[at] = FakeRunner::started(fixture.fake_namespace.now);
                self.met.insert("killed");
            }
            Happening::Deaf(at) => self.fake_runners[at].deaf = true,
            Happening::Passes(seconds) => fixture.fake_namespace.now += seconds,
            Happening::Controllers => fixture.fake_namespace.controllers(),
            Happening::Ready(at) => {
                let sets = fixture.fake_namespace.names("replicasets");
                if let Some(set) = sets.get(at % sets.len().max(1)) {
                    fixture.fake_namespace.ready(set);
                }
            }
            Happening::Operator => operator(&mut fixture.fake_namespace),
            Happening::Edit(at) => {
                self.touched.insert(name(at));
                fixture.fake_namespace.change("deployments", &name(at), |deployment| {
                    let generation = deployment["metadata"]["generation"].as_u64().unwrap();
                    deployment["metadata"]["generation"] = json!(generation + 1);
                    deployment["metadata"]["labels"]["edited"] = json!(generation.to_string());
                });
            }
            Happening::Alters(at) => {
                self.touched.insert(name(at));
                fixture.fake_namespace.change("oldapps", &name(at), |oldapp| {
                    let generation = oldapp["metadata"]["generation"].as_u64().unwrap() + 1;
                    oldapp["metadata"]["generation"] = json!(generation);
                    oldapp["spec"]["roof"] = json!(format!("roof {generation}"));
                });
            }
            Happening::Abandons(at) => {
                self.touched.insert(name(at));
                fixture
                    .fake_namespace
                    .change("oldapps", &name(at), |oldapp| oldapp["metadata"]["deletionTimestamp"] = json!("now"));
            }
            Happening::Rebuilds(at) => self.rebuilds(&name(at)),
            Happening::Claims(at) => self.claims(&name(at)),
            Happening::Refuses(refuses) => fixture.refuses = refuses,
            Happening::Shuts(shut) => fixture.shut = shut,
            Happening::Resume => fixture.resume(),
            Happening::Pauses(paused) => fixture.set("paused", json!(paused)),
            Happening::Redefines(reworded) => fixture.kind = if reworded { &REWORDED } else { &HOUSE },
            Happening::Lags(lags) => fixture.fake_namespace.lags = lags,
            Happening::Stranger(stranger, at) => self.meddles(stranger, at),
            Happening::Ends => self.ends_and_turns(),
            Happening::Forward => self.turns("Forward"),
            Happening::Back => self.turns("Undo"),
            Happening::Stop => self.turns("Abort"),
        }
        self.backs_up();
        self.serves();
        self.acts_alone();
        self.copies_stay_copies();
    }

    fn ends_and_turns(&mut self) {
        self.quiet();
        match self.fixture.status().phase {
            RolloutPhase::Complete => {
                self.met.insert("after the end");
                self.turns("Undo");
            }
            RolloutPhase::Aborted if self.met.contains("after the end") => {
                self.met.insert("there again");
                self.turns("Forward");
            }
            _ => {}
        }
    }

    /// A client outside the rollout changes something.
    fn meddles(&mut self, stranger: Stranger, at: usize) {
        let (name, now) = (name(at), self.fixture.fake_namespace.now);
        let fake_namespace = &mut self.fixture.fake_namespace;
        let has = |plural: &str| fake_namespace.get(plural, &name).is_some();
        let (has_oldapp, has_newapp) = (has("oldapps"), has("newapps"));
        // A name set after the deletion is lost.
        let stays = |plural: &str| {
            fake_namespace.get(plural, &name).is_some_and(|one| one["metadata"]["deletionTimestamp"].is_null())
        };
        let (oldapp_stays, newapp_stays) = (stays("oldapps"), stays("newapps"));
        // No API server rejects a create because another object was deleted.
        let is_about_to_be = self.fake_runners.iter().any(|fake_runner| fake_runner.is_about_to_make("newapps", &name));
        let is_harmless = matches!(stranger, Stranger::NamesOldApp | Stranger::NamesNewApp | Stranger::Copies);
        match stranger {
            Stranger::NamesOldApp if oldapp_stays => {
                fake_namespace.change("oldapps", &name, |oldapp| names(oldapp, now))
            }
            Stranger::NamesNewApp if newapp_stays => {
                fake_namespace.change("newapps", &name, |newapp| names(newapp, now))
            }
            Stranger::Paints if has_newapp => fake_namespace.change("newapps", &name, |newapp| {
                newapp["metadata"]["generation"] = json!(newapp["metadata"]["generation"].as_u64().unwrap() + 1);
                newapp["spec"]["roof"] = json!(format!("painted at {now}"));
            }),
            Stranger::Strips(which) if has_newapp => fake_namespace.change("newapps", &name, |newapp| {
                let annotations = newapp["metadata"]["annotations"].as_object_mut();
                annotations.into_iter().for_each(|all| drop(all.remove(OURS[which % OURS.len()])));
            }),
            Stranger::Razes if has_newapp => {
                fake_namespace
                    .change("newapps", &name, |newapp| newapp["metadata"]["deletionTimestamp"] = json!("now"));
            }
            Stranger::Replaces if has_oldapp && !has_newapp && !is_about_to_be => fake_namespace.replaces_oldapp(&name),
            Stranger::Restores(which) if !has_oldapp && self.backups.contains_key(&name) => {
                let all = &self.backups[&name];
                fake_namespace.create("oldapps", all[which % all.len()].clone()).unwrap();
            }
            Stranger::Copies if has_newapp => {
                let mut copy = fake_namespace.get("newapps", &name).unwrap().clone();
                copy["metadata"]["name"] = json!(format!("g-{at}"));
                let _ = fake_namespace.create("newapps", copy);
            }
            Stranger::Scales => fake_namespace.scales(&name),
            _ => return,
        }
        if matches!(stranger, Stranger::NamesOldApp | Stranger::NamesNewApp) {
            self.names.insert(name.clone(), now);
            // The later of two names counts, and API servers record seconds.
            self.fixture.fake_namespace.now += 1;
        }
        self.met.insert("stranger");
        if !is_harmless {
            self.touched.insert(name);
        }
    }

    fn backs_up(&mut self) {
        let oldapps = self.fixture.fake_namespace.all("oldapps").filter(|oldapp| oldapp["spec"]["move"] == true);
        for oldapp in oldapps.filter(|oldapp| oldapp["metadata"]["deletionTimestamp"].is_null()) {
            let all = self.backups.entry(oldapp["metadata"]["name"].as_str().unwrap().to_owned()).or_default();
            let mark = |oldapp: &Value| oldapp["metadata"]["annotations"]["pointsman.dev/rollout"].clone();
            if all.last().is_none_or(|last| mark(last) != mark(oldapp)) {
                all.push(oldapp.clone());
            }
        }
    }

    /// A copy of a newapp never becomes an oldapp.
    fn copies_stay_copies(&mut self) {
        if let Some(oldapp) = self.fixture.fake_namespace.names("oldapps").iter().find(|name| name.starts_with("g-")) {
            self.is_wrong("a copied newapp becomes no oldapp", oldapp.clone());
        }
    }

    fn turns(&mut self, direction: &str) {
        self.met.insert("turned");
        self.fixture.set("direction", json!(direction));
    }

    /// The old operator recreates a missing Deployment.
    fn rebuilds(&mut self, name: &str) {
        let fake_namespace = &mut self.fixture.fake_namespace;
        let (Some(oldapp), None) =
            (fake_namespace.get("oldapps", name).cloned(), fake_namespace.get("deployments", name))
        else {
            return;
        };
        self.touched.insert(name.to_owned());
        fake_namespace.create("deployments", old_deployment(name, &oldapp)).unwrap();
    }

    /// Toggles an undeclared dependent of an oldapp.
    fn claims(&mut self, name: &str) {
        let fake_namespace = &mut self.fixture.fake_namespace;
        let key = ("configmaps".to_owned(), name.to_owned());
        if fake_namespace.things.remove(&key).is_some() {
            return;
        }
        let Some(oldapp) = fake_namespace.get("oldapps", name) else { return };
        let owners = json!([{"kind": "OldApp", "name": name, "uid": oldapp["metadata"]["uid"]}]);
        fake_namespace.create("configmaps", json!({"metadata": {"name": name, "ownerReferences": owners}})).unwrap();
    }

    fn call(&mut self, at: usize) {
        let now = self.fixture.fake_namespace.now;
        match self.fake_runners[at].step(at, &mut self.fixture) {
            RunnerCall::Nothing => {}
            RunnerCall::Planned(plan) => {
                self.closes_gaps(&plan);
                let told: Vec<&str> = plan.object_states.iter().map(pointsman_rollout::ObjectState::why).collect();
                if !plan.writes.is_empty() {
                    self.log.push(format!("{now} fake_runner {at} plans {} {told:?}", plan.status.message));
                }
            }
            RunnerCall::Status(status) => {
                self.log.push(format!("{now} fake_runner {at} writes {:?} {}", status.phase, status.message));
                let under_way = status.in_flight.len();
                if under_way > self.plot.max_in_flight {
                    self.is_wrong("objects in flight stay within maxInFlight", format!("{under_way} are under way"));
                }
            }
            RunnerCall::Marked(name) => {
                let oldapp = self.fixture.fake_namespace.get("oldapps", &name).cloned().unwrap_or_default();
                if oldapp["metadata"]["annotations"]["pointsman.dev/rollout"]
                    .as_str()
                    .is_some_and(|mark| mark.contains("again"))
                {
                    self.met.insert("again");
                }
                let marked = &oldapp["metadata"]["annotations"]["pointsman.dev/rollout"];
                self.log.push(format!("{now} fake_runner {at} marks {name}: {marked}"));
            }
            RunnerCall::Writes(asked) => {
                // The preceding check rejects this deletion.
                if makes_no_way(&self.fixture, &asked).is_none()
                    && let Some(why) = must_not_go(&self.fixture, &asked)
                {
                    self.is_wrong("only own objects that are safe to delete are deleted", why);
                }
                let done = write(&mut self.fixture, &asked);
                self.log.push(format!("{now} fake_runner {at} {}: {done:?}", asked.message()));
                let is_delete = matches!(asked.call, ObjectCall::Delete { .. });
                match done {
                    Ok(()) => self.fake_runners[at].answered(&asked.uid),
                    Err(No::Refused) => self.fake_runners[at].refused(&asked.uid, &self.fixture),
                    Err(No::NotYet) => {
                        self.met.insert("not heard of");
                        self.fake_runners[at].not_yet(&asked.uid, &self.fixture);
                    }
                    Err(No::Stale) if is_delete => self.met.extend(["stale"]),
                    Err(No::Stale) => {}
                }
            }
        }
    }

    /// An object deleted for its replacement is followed by the replacement before any other write.
    fn closes_gaps(&mut self, plan: &RolloutPlan) {
        let (status, fake_namespace) = (self.fixture.status(), &self.fixture.fake_namespace);
        let first = plan.writes.iter().map_while(|write| match write {
            RolloutWrite::Object(one) if one.closes_gap() => Some(one.uid.as_str()),
            _ => None,
        });
        let first: BTreeSet<&str> = first.collect();
        let is_open = |one: &&InFlightObject| {
            let name = one.object.trim_start_matches("n/");
            let oldapp =
                fake_namespace.get("oldapps", name).filter(|oldapp| oldapp["metadata"]["deletionTimestamp"].is_null());
            let is_saved = |saved: &Value| saved["metadata"]["labels"]["pointsman.dev/workflow"] == one.uid.as_str();
            oldapp.is_some_and(|oldapp| oldapp["metadata"]["uid"] == one.uid.as_str())
                && fake_namespace.get("deployments", name).is_none()
                && fake_namespace.all("controllerrevisions").any(is_saved)
        };
        let open = status.in_flight.iter().filter(is_open).find(|one| !first.contains(one.uid.as_str()));
        if let Some(open) = open.filter(|_| !status.is_over()) {
            self.is_wrong("the replacement follows the deletion of its source", open.object.clone());
        }
        if !first.is_empty() {
            self.met.insert("gap");
        }
    }

    /// No installation ever has fewer Pods than desired.
    fn serves(&mut self) {
        for at in 0..self.plot.oldapps {
            let serving = self.fixture.fake_namespace.serving(&name(at));
            if serving < PODS {
                self.is_wrong("an installation never stops serving", format!("{}: {serving} Pods", name(at)));
            }
        }
    }

    /// The old operator never acts on an oldapp that must not move while the new operator acts on its newapp.
    fn acts_alone(&mut self) {
        for at in 0..self.plot.oldapps {
            let [oldapp, newapp] =
                ["oldapps", "newapps"].map(|plural| self.fixture.fake_namespace.get(plural, &name(at)));
            if oldapp.is_some_and(|oldapp| oldapp["spec"]["move"] != true) && newapp.is_some() {
                self.is_wrong("two controllers never act on one object", name(at));
            }
        }
    }

    /// All interference ends: the rollout ends, or reports what it waits for.
    fn quiet(&mut self) {
        (self.fixture.refuses, self.fixture.shut, self.fixture.fake_namespace.lags) = (false, false, false);
        self.fixture.kind = &HOUSE;
        self.fixture.set("paused", json!(false));
        let is_in_the_way = |plural: &str| ["configmaps", "horizontalpodautoscalers"].contains(&plural);
        self.fixture.fake_namespace.things.retain(|(plural, _), _| !is_in_the_way(plural));
        let (mut was_paused, mut changed) = (false, (0, self.fixture.fake_namespace.version()));
        for round in 0..700 {
            let phase = self.fixture.status().phase;
            if round > 60 && (self.fixture.status().is_over() || phase == RolloutPhase::Refused) {
                break;
            }
            let version = self.fixture.fake_namespace.version();
            if version != changed.1 {
                changed = (round, version);
            } else if round - changed.0 > STILL && matches!(phase, RolloutPhase::Paused | RolloutPhase::Waiting) {
                // Further resumes change nothing.
                break;
            }
            if phase == RolloutPhase::Paused && round % 40 == 39 {
                was_paused = round > 600;
                self.met.insert("Paused");
                self.fixture.resume();
            }
            for happening in [Happening::Call(0), Happening::Call(0), Happening::Call(0), Happening::Controllers] {
                self.happens(happening);
            }
            for set in self.fixture.fake_namespace.names("replicasets") {
                self.fixture.fake_namespace.ready(&set);
            }
            operator(&mut self.fixture.fake_namespace);
            self.fixture.fake_namespace.now += 1;
            if self.wrong.is_some() {
                return;
            }
        }
        let status = self.fixture.status();
        // An operator must resolve a Deployment that another client has replaced.
        let is_held = ((status.phase == RolloutPhase::Paused || was_paused) && !self.touched.is_empty())
            || (status.phase == RolloutPhase::Waiting && self.waits_for_others_alone());
        if !self.fixture.status().is_over() && status.phase != RolloutPhase::Refused && !is_held {
            return self.is_wrong("every rollout ends", format!("{:?}: {}", status.phase, status.message));
        }
        for at in 0..self.plot.oldapps {
            let name = name(at);
            if !self.touched.contains(&name) && !is_held {
                self.is_one_or_the_other(&name, status.phase);
                self.is_named(&name);
                let is_oldapp = self.fixture.fake_namespace.get("oldapps", &name).is_some();
                if status.reason.as_deref() == Some("RolledBack") && !is_oldapp {
                    self.is_wrong("moved objects are reverted, also after the end", name);
                }
            }
        }
    }

    /// True if a rollout has nothing in flight and waits only for objects that another client has changed.
    fn waits_for_others_alone(&self) -> bool {
        let status = self.fixture.status();
        let is_touched = |object: &str| self.touched.contains(object.trim_start_matches("n/"));
        status.in_flight.is_empty()
            && !status.blocked.is_empty()
            && status.blocked.iter().all(|one| is_touched(&one.object) && !one.message.is_empty())
    }

    /// The remaining object has the last name that another client set on either object.
    fn is_named(&mut self, name: &str) {
        let Some(named) = self.names.get(name).map(u64::to_string) else { return };
        let fake_namespace = &self.fixture.fake_namespace;
        let Some(one) = fake_namespace.get("oldapps", name).or_else(|| fake_namespace.get("newapps", name)) else {
            return;
        };
        let metadata = &one["metadata"];
        if fake_namespace.get("newapps", name).is_none() || fake_namespace.get("oldapps", name).is_none() {
            self.met.insert("named");
            if metadata["labels"]["team"] != named || metadata["annotations"]["note"] != named {
                self.is_wrong("labels of a client are kept", format!("{name}: {named}, {metadata:#}"));
            }
        }
    }

    /// An oldapp is unchanged or is a newapp: no state in between.
    fn is_one_or_the_other(&mut self, name: &str, phase: RolloutPhase) {
        let fake_namespace = &self.fixture.fake_namespace;
        let saved = fake_namespace.all("controllerrevisions");
        let saved = saved.filter(|saved| saved["data"]["old"]["metadata"]["name"] == name).count();
        let is_half = fake_namespace
            .get("oldapps", name)
            .is_some_and(|oldapp| !oldapp["metadata"]["annotations"]["pointsman.dev/rollout"].is_null());
        if fake_namespace.get("oldapps", name).is_some() && !is_half {
            self.met.insert("home");
            if told(fake_namespace, name) != self.before[name] {
                let (now, before) = (told(fake_namespace, name), &self.before[name]);
                return self.is_wrong(
                    "a reverted object equals its previous state",
                    format!("{name}: {now:#?} was {before:#?}"),
                );
            }
        } else if !is_half {
            let newapp = fake_namespace.get("newapps", name).cloned().unwrap_or_default();
            if newapp["status"]["state"] != "stable" {
                return self.is_wrong("a moved object is a newapp", format!("{name}: {newapp:#}"));
            }
        } else if phase == RolloutPhase::Complete {
            return self.is_wrong("a finished object has completed all steps", name.to_owned());
        }
        if !is_half && saved > 0 && phase == RolloutPhase::Complete {
            self.is_wrong("nothing that was saved is left", format!("{saved} are"));
        }
    }
}

/// The new operator: a newapp is stable when its Deployment is owned and rolled out. The old operator does the same for
/// an oldapp without a status.
pub(super) fn operator(fake_namespace: &mut FakeNamespace) {
    for name in fake_namespace.names("oldapps") {
        let [oldapp, deployment] = ["oldapps", "deployments"].map(|plural| fake_namespace.get(plural, &name).cloned());
        let is_its = deployment.is_some_and(|one| one["spec"]["selector"]["matchLabels"]["oldapp"] == name.as_str());
        if is_its && oldapp.is_some_and(|oldapp| oldapp["status"].is_null() && oldapp["spec"]["move"] != true) {
            fake_namespace.change("oldapps", &name, |oldapp| oldapp["status"] = json!({"state": "stable"}));
        }
    }
    for name in fake_namespace.names("newapps") {
        let Some(deployment) = fake_namespace.get("deployments", &name) else { continue };
        let is_its = deployment["spec"]["selector"]["matchLabels"]["newapp"] == name.as_str();
        let is_out = deployment["status"]["availableReplicas"] == PODS;
        let state = if is_its && is_out { "stable" } else { "building" };
        fake_namespace.change("newapps", &name, |newapp| newapp["status"] = json!({"state": state}));
    }
}

/// A client names an object.
pub(super) fn names(object: &mut Value, now: u64) {
    let metadata = &mut object["metadata"];
    metadata["labels"]["team"] = json!(now.to_string());
    metadata["annotations"]["note"] = json!(now.to_string());
    taken(metadata, ("labels", "team"), ("somebody", now));
    taken(metadata, ("annotations", "note"), ("somebody", now));
}

/// Seconds without any write, despite several resumes, after which a rollout counts as idle.
const STILL: u64 = 150;

/// The annotations of pointsman on created objects.
const OURS: [&str; 6] = [
    "pointsman.dev/created-from",
    "pointsman.dev/created-from-generation",
    "pointsman.dev/returned-generation",
    "pointsman.dev/created-by",
    "pointsman.dev/copied-metadata",
    "pointsman.dev/source-resource-version",
];

/// The content of an installation, without values that differ between Deployments.
pub(super) fn told(fake_namespace: &FakeNamespace, name: &str) -> [Value; 3] {
    let oldapp = fake_namespace.get("oldapps", name).cloned().unwrap_or_default();
    let deployment = fake_namespace.get("deployments", name).cloned().unwrap_or_default();
    let service = fake_namespace.get("services", name).cloned().unwrap_or_default();
    let metadata = |object: &Value| {
        let mut metadata = object["metadata"].clone();
        // The name set by another client.
        for (place, name) in [("labels", "team"), ("annotations", "note")] {
            let members = metadata[place].as_object_mut();
            members.into_iter().for_each(|members| drop(members.remove(name)));
            if metadata[place].as_object().is_some_and(serde_json::Map::is_empty) {
                metadata[place] = Value::Null;
            }
        }
        let mut owners = metadata["ownerReferences"].clone();
        // A recreated object has another uid.
        let all = owners.as_array_mut().into_iter().flatten();
        all.filter(|one| one["uid"] == oldapp["metadata"]["uid"]).for_each(|one| one["uid"] = json!("its"));
        json!([metadata["labels"], metadata["annotations"], owners])
    };
    [
        json!([oldapp["spec"], metadata(&oldapp)]),
        json!([deployment["spec"], metadata(&deployment)]),
        json!([service["metadata"]["uid"], metadata(&service)]),
    ]
}
