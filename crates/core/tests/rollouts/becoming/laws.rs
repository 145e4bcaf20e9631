//! Runs a history and watches its properties over it.

use std::collections::{BTreeMap, BTreeSet};

use pointsman_core::rollout::{InFlightObject, ObjectCall, RolloutPhase, RolloutPlan, RolloutWrite};
use serde_json::{Value, json};

use super::drover::{County, Deed, Drover};
use super::errands::{makes_no_way, must_not_go, write};
use super::settlers::{HOUSE, Happening, Plot, REWORDED, Stranger};
use super::village::{No, PODS, Village, name, old_deployment, taken};

/// A property that does not hold.
pub(super) struct Wrong {
    pub(super) property: &'static str,
    pub(super) what: String,
    pub(super) log: Vec<String>,
}

/// A history that is being run.
pub(super) struct Chronicle<'a> {
    plot: &'a Plot,
    county: County,
    drovers: Vec<Drover>,
    before: BTreeMap<String, [Value; 3]>,
    /// Installations of which somebody else has changed something.
    touched: BTreeSet<String>,
    /// What somebody else has named them last.
    names: BTreeMap<String, u64>,
    /// Huts as they were on their way, one for each mark that they had.
    backups: BTreeMap<String, Vec<Value>>,
    met: BTreeSet<&'static str>,
    log: Vec<String>,
    wrong: Option<(&'static str, String)>,
}

impl<'a> Chronicle<'a> {
    pub(super) fn new(plot: &'a Plot) -> Self {
        let county = County::new(Village::settled(plot.huts), &HOUSE, plot.rollout());
        let before = (0..plot.huts).map(|at| (name(at), told(&county.village, &name(at))));
        Self {
            plot,
            before: before.collect(),
            drovers: (0..plot.runners).map(|_| Drover::started(county.village.now)).collect(),
            county,
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

    /// The phase that it ended in, and what was met.
    pub(super) fn ends(&self) -> Vec<String> {
        let phase = format!("{:?}", self.county.status().phase);
        self.met.iter().map(|met| (*met).to_owned()).chain([phase]).collect()
    }

    fn is_wrong(&mut self, property: &'static str, what: String) {
        self.wrong.get_or_insert((property, what));
    }

    fn happens(&mut self, happening: Happening) {
        let county = &mut self.county;
        if !matches!(happening, Happening::Call(_)) {
            self.log.push(format!("{} {happening:?}", county.village.now));
        }
        match happening {
            Happening::Call(at) => self.call(at),
            Happening::Dies(at) => {
                self.drovers[at] = Drover::started(county.village.now);
                self.met.insert("killed");
            }
            Happening::Deaf(at) => self.drovers[at].deaf = true,
            Happening::Passes(seconds) => county.village.now += seconds,
            Happening::Controllers => county.village.controllers(),
            Happening::Ready(at) => {
                let sets = county.village.names("replicasets");
                if let Some(set) = sets.get(at % sets.len().max(1)) {
                    county.village.ready(set);
                }
            }
            Happening::Operator => operator(&mut county.village),
            Happening::Edit(at) => {
                self.touched.insert(name(at));
                county.village.change("deployments", &name(at), |deployment| {
                    let generation = deployment["metadata"]["generation"].as_u64().unwrap();
                    deployment["metadata"]["generation"] = json!(generation + 1);
                    deployment["metadata"]["labels"]["edited"] = json!(generation.to_string());
                });
            }
            Happening::Alters(at) => {
                self.touched.insert(name(at));
                county.village.change("huts", &name(at), |hut| {
                    let generation = hut["metadata"]["generation"].as_u64().unwrap() + 1;
                    hut["metadata"]["generation"] = json!(generation);
                    hut["spec"]["roof"] = json!(format!("roof {generation}"));
                });
            }
            Happening::Abandons(at) => {
                self.touched.insert(name(at));
                county.village.change("huts", &name(at), |hut| hut["metadata"]["deletionTimestamp"] = json!("now"));
            }
            Happening::Rebuilds(at) => self.rebuilds(&name(at)),
            Happening::Claims(at) => self.claims(&name(at)),
            Happening::Refuses(refuses) => county.refuses = refuses,
            Happening::Shuts(shut) => county.shut = shut,
            Happening::Resume => county.resume(),
            Happening::Pauses(paused) => county.set("paused", json!(paused)),
            Happening::Redefines(reworded) => county.kind = if reworded { &REWORDED } else { &HOUSE },
            Happening::Lags(lags) => county.village.lags = lags,
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
        match self.county.status().phase {
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

    /// Somebody who has nothing to do with the rollout does something.
    fn meddles(&mut self, stranger: Stranger, at: usize) {
        let (name, now) = (name(at), self.county.village.now);
        let village = &mut self.county.village;
        let has = |plural: &str| village.get(plural, &name).is_some();
        let (has_hut, has_house) = (has("huts"), has("houses"));
        // What is named after it is deleted has lost its name.
        let stays =
            |plural: &str| village.get(plural, &name).is_some_and(|one| one["metadata"]["deletionTimestamp"].is_null());
        let (hut_stays, house_stays) = (stays("huts"), stays("houses"));
        // No API server refuses to make one object since another one is not there any more.
        let is_about_to_be = self.drovers.iter().any(|drover| drover.is_about_to_make("houses", &name));
        let is_harmless = matches!(stranger, Stranger::NamesHut | Stranger::NamesHouse | Stranger::Copies);
        match stranger {
            Stranger::NamesHut if hut_stays => village.change("huts", &name, |hut| names(hut, now)),
            Stranger::NamesHouse if house_stays => village.change("houses", &name, |house| names(house, now)),
            Stranger::Paints if has_house => village.change("houses", &name, |house| {
                house["metadata"]["generation"] = json!(house["metadata"]["generation"].as_u64().unwrap() + 1);
                house["spec"]["roof"] = json!(format!("painted at {now}"));
            }),
            Stranger::Strips(which) if has_house => village.change("houses", &name, |house| {
                let annotations = house["metadata"]["annotations"].as_object_mut();
                annotations.into_iter().for_each(|all| drop(all.remove(OURS[which % OURS.len()])));
            }),
            Stranger::Razes if has_house => {
                village.change("houses", &name, |house| house["metadata"]["deletionTimestamp"] = json!("now"));
            }
            Stranger::Replaces if has_hut && !has_house && !is_about_to_be => village.replaces_hut(&name),
            Stranger::Restores(which) if !has_hut && self.backups.contains_key(&name) => {
                let all = &self.backups[&name];
                village.create("huts", all[which % all.len()].clone()).unwrap();
            }
            Stranger::Copies if has_house => {
                let mut copy = village.get("houses", &name).unwrap().clone();
                copy["metadata"]["name"] = json!(format!("g-{at}"));
                let _ = village.create("houses", copy);
            }
            Stranger::Scales => village.scales(&name),
            _ => return,
        }
        if matches!(stranger, Stranger::NamesHut | Stranger::NamesHouse) {
            self.names.insert(name.clone(), now);
            // Of two names the later one counts, and API servers tell seconds.
            self.county.village.now += 1;
        }
        self.met.insert("stranger");
        if !is_harmless {
            self.touched.insert(name);
        }
    }

    fn backs_up(&mut self) {
        let huts = self.county.village.all("huts").filter(|hut| hut["spec"]["move"] == true);
        for hut in huts.filter(|hut| hut["metadata"]["deletionTimestamp"].is_null()) {
            let all = self.backups.entry(hut["metadata"]["name"].as_str().unwrap().to_owned()).or_default();
            let mark = |hut: &Value| hut["metadata"]["annotations"]["pointsman.dev/rollout"].clone();
            if all.last().is_none_or(|last| mark(last) != mark(hut)) {
                all.push(hut.clone());
            }
        }
    }

    /// What was copied from a house was never a hut.
    fn copies_stay_copies(&mut self) {
        if let Some(hut) = self.county.village.names("huts").iter().find(|name| name.starts_with("g-")) {
            self.is_wrong("a copy of a house was never a hut", hut.clone());
        }
    }

    fn turns(&mut self, direction: &str) {
        self.met.insert("turned");
        self.county.set("direction", json!(direction));
    }

    /// The old operator makes a Deployment that is missing.
    fn rebuilds(&mut self, name: &str) {
        let village = &mut self.county.village;
        let (Some(hut), None) = (village.get("huts", name).cloned(), village.get("deployments", name)) else { return };
        self.touched.insert(name.to_owned());
        village.create("deployments", old_deployment(name, &hut)).unwrap();
    }

    /// Something that nobody declared belongs to a hut, or does no more.
    fn claims(&mut self, name: &str) {
        let village = &mut self.county.village;
        let key = ("configmaps".to_owned(), name.to_owned());
        if village.things.remove(&key).is_some() {
            return;
        }
        let Some(hut) = village.get("huts", name) else { return };
        let owners = json!([{"kind": "Hut", "name": name, "uid": hut["metadata"]["uid"]}]);
        village.create("configmaps", json!({"metadata": {"name": name, "ownerReferences": owners}})).unwrap();
    }

    fn call(&mut self, at: usize) {
        let now = self.county.village.now;
        match self.drovers[at].step(at, &mut self.county) {
            Deed::Nothing => {}
            Deed::Planned(plan) => {
                self.closes_gaps(&plan);
                let told: Vec<&str> = plan.standings.iter().map(pointsman_core::rollout::ObjectState::why).collect();
                if !plan.writes.is_empty() {
                    self.log.push(format!("{now} drover {at} plans {} {told:?}", plan.status.message));
                }
            }
            Deed::Status(status) => {
                self.log.push(format!("{now} drover {at} writes {:?} {}", status.phase, status.message));
                let under_way = status.in_flight.len();
                if under_way > self.plot.max_in_flight {
                    self.is_wrong("the budget is never passed", format!("{under_way} are under way"));
                }
            }
            Deed::Marked(name) => {
                let hut = self.county.village.get("huts", &name).cloned().unwrap_or_default();
                if hut["metadata"]["annotations"]["pointsman.dev/rollout"]
                    .as_str()
                    .is_some_and(|mark| mark.contains("again"))
                {
                    self.met.insert("again");
                }
                let marked = &hut["metadata"]["annotations"]["pointsman.dev/rollout"];
                self.log.push(format!("{now} drover {at} marks {name}: {marked}"));
            }
            Deed::Writes(asked) => {
                // What is asked about before is not deleted where the answer is no.
                if makes_no_way(&self.county, &asked).is_none()
                    && let Some(why) = must_not_go(&self.county, &asked)
                {
                    self.is_wrong("nothing is deleted that is not ours, or not safe to go", why);
                }
                let done = write(&mut self.county, &asked);
                self.log.push(format!("{now} drover {at} {}: {done:?}", asked.told()));
                let is_delete = matches!(asked.call, ObjectCall::Delete { .. });
                match done {
                    Ok(()) => self.drovers[at].answered(&asked.uid),
                    Err(No::Refused) => self.drovers[at].refused(&asked.uid, &self.county),
                    Err(No::NotYet) => {
                        self.met.insert("not heard of");
                        self.drovers[at].not_yet(&asked.uid, &self.county);
                    }
                    Err(No::Stale) if is_delete => self.met.extend(["stale"]),
                    Err(No::Stale) => {}
                }
            }
        }
    }

    /// Whatever was deleted for another one is followed by that one, before anything else is written.
    fn closes_gaps(&mut self, plan: &RolloutPlan) {
        let (status, village) = (self.county.status(), &self.county.village);
        let first = plan.writes.iter().map_while(|write| match write {
            RolloutWrite::Object(one) if one.closes_gap() => Some(one.uid.as_str()),
            _ => None,
        });
        let first: BTreeSet<&str> = first.collect();
        let is_open = |one: &&InFlightObject| {
            let name = one.object.trim_start_matches("n/");
            let hut = village.get("huts", name).filter(|hut| hut["metadata"]["deletionTimestamp"].is_null());
            let is_saved = |saved: &Value| saved["metadata"]["labels"]["pointsman.dev/workflow"] == one.uid.as_str();
            hut.is_some_and(|hut| hut["metadata"]["uid"] == one.uid.as_str())
                && village.get("deployments", name).is_none()
                && village.all("controllerrevisions").any(is_saved)
        };
        let open = status.in_flight.iter().filter(is_open).find(|one| !first.contains(one.uid.as_str()));
        if let Some(open) = open.filter(|_| !status.is_over()) {
            self.is_wrong("what was deleted for another one is followed by it first", open.object.clone());
        }
        if !first.is_empty() {
            self.met.insert("gap");
        }
    }

    /// No installation ever has fewer Pods than it wants.
    fn serves(&mut self) {
        for at in 0..self.plot.huts {
            let serving = self.county.village.serving(&name(at));
            if serving < PODS {
                self.is_wrong("an installation never stops serving", format!("{}: {serving} Pods", name(at)));
            }
        }
    }

    /// The old operator acts on a hut that is not to move, and the new one on a house.
    fn acts_alone(&mut self) {
        for at in 0..self.plot.huts {
            let [hut, house] = ["huts", "houses"].map(|plural| self.county.village.get(plural, &name(at)));
            if hut.is_some_and(|hut| hut["spec"]["move"] != true) && house.is_some() {
                self.is_wrong("never do two controllers act on one", name(at));
            }
        }
    }

    /// Nobody disturbs any more: the rollout comes to an end, or says what it waits for.
    fn quiet(&mut self) {
        (self.county.refuses, self.county.shut, self.county.village.lags) = (false, false, false);
        self.county.kind = &HOUSE;
        self.county.set("paused", json!(false));
        let is_in_the_way = |plural: &str| ["configmaps", "horizontalpodautoscalers"].contains(&plural);
        self.county.village.things.retain(|(plural, _), _| !is_in_the_way(plural));
        let (mut was_paused, mut changed) = (false, (0, self.county.village.version()));
        for round in 0..700 {
            let phase = self.county.status().phase;
            if round > 60 && (self.county.status().is_over() || phase == RolloutPhase::Refused) {
                break;
            }
            let version = self.county.village.version();
            if version != changed.1 {
                changed = (round, version);
            } else if round - changed.0 > STILL && matches!(phase, RolloutPhase::Paused | RolloutPhase::Waiting) {
                // Nothing comes of it any more, however often somebody says that it is to go on.
                break;
            }
            if phase == RolloutPhase::Paused && round % 40 == 39 {
                was_paused = round > 600;
                self.met.insert("Paused");
                self.county.resume();
            }
            for happening in [Happening::Call(0), Happening::Call(0), Happening::Call(0), Happening::Controllers] {
                self.happens(happening);
            }
            for set in self.county.village.names("replicasets") {
                self.county.village.ready(&set);
            }
            operator(&mut self.county.village);
            self.county.village.now += 1;
            if self.wrong.is_some() {
                return;
            }
        }
        let status = self.county.status();
        // What somebody else has put in the place of a Deployment is for a person.
        let is_held = ((status.phase == RolloutPhase::Paused || was_paused) && !self.touched.is_empty())
            || (status.phase == RolloutPhase::Waiting && self.waits_for_others_alone());
        if !self.county.status().is_over() && status.phase != RolloutPhase::Refused && !is_held {
            return self.is_wrong("every rollout comes to an end", format!("{:?}: {}", status.phase, status.message));
        }
        for at in 0..self.plot.huts {
            let name = name(at);
            if !self.touched.contains(&name) && !is_held {
                self.is_one_or_the_other(&name, status.phase);
                self.is_named(&name);
                let is_hut = self.county.village.get("huts", &name).is_some();
                if status.reason.as_deref() == Some("RolledBack") && !is_hut {
                    self.is_wrong("whatever was moved goes back, also after its end", name);
                }
            }
        }
    }

    /// Whether a rollout has nothing under way, and each object that it waits for is one of which somebody else has
    /// changed something.
    fn waits_for_others_alone(&self) -> bool {
        let status = self.county.status();
        let is_touched = |object: &str| self.touched.contains(object.trim_start_matches("n/"));
        status.in_flight.is_empty()
            && !status.blocked.is_empty()
            && status.blocked.iter().all(|one| is_touched(&one.object) && !one.message.is_empty())
    }

    /// What somebody has named one of two last, whichever of them is there has.
    fn is_named(&mut self, name: &str) {
        let Some(named) = self.names.get(name).map(u64::to_string) else { return };
        let village = &self.county.village;
        let Some(one) = village.get("huts", name).or_else(|| village.get("houses", name)) else { return };
        let metadata = &one["metadata"];
        if village.get("houses", name).is_none() || village.get("huts", name).is_none() {
            self.met.insert("named");
            if metadata["labels"]["team"] != named || metadata["annotations"]["note"] != named {
                self.is_wrong(
                    "what somebody names an installation goes with it",
                    format!("{name}: {named}, {metadata:#}"),
                );
            }
        }
    }

    /// A hut is what it was, or is a house: nothing is in between.
    fn is_one_or_the_other(&mut self, name: &str, phase: RolloutPhase) {
        let village = &self.county.village;
        let saved = village.all("controllerrevisions");
        let saved = saved.filter(|saved| saved["data"]["old"]["metadata"]["name"] == name).count();
        let is_half = village
            .get("huts", name)
            .is_some_and(|hut| !hut["metadata"]["annotations"]["pointsman.dev/rollout"].is_null());
        if village.get("huts", name).is_some() && !is_half {
            self.met.insert("home");
            if told(village, name) != self.before[name] {
                let (now, before) = (told(village, name), &self.before[name]);
                return self.is_wrong("who goes back is what it was", format!("{name}: {now:#?} was {before:#?}"));
            }
        } else if !is_half {
            let house = village.get("houses", name).cloned().unwrap_or_default();
            if house["status"]["state"] != "stable" {
                return self.is_wrong("who has gone is a house", format!("{name}: {house:#}"));
            }
        } else if phase == RolloutPhase::Complete {
            return self.is_wrong("whoever is through has gone the whole way", name.to_owned());
        }
        if !is_half && saved > 0 && phase == RolloutPhase::Complete {
            self.is_wrong("nothing that was saved is left", format!("{saved} are"));
        }
    }
}

/// The new operator: a house is stable once its Deployment is its own, and rolled out. The old one says the same of a
/// hut that says nothing yet.
pub(super) fn operator(village: &mut Village) {
    for name in village.names("huts") {
        let [hut, deployment] = ["huts", "deployments"].map(|plural| village.get(plural, &name).cloned());
        let is_its = deployment.is_some_and(|one| one["spec"]["selector"]["matchLabels"]["hut"] == name.as_str());
        if is_its && hut.is_some_and(|hut| hut["status"].is_null() && hut["spec"]["move"] != true) {
            village.change("huts", &name, |hut| hut["status"] = json!({"state": "stable"}));
        }
    }
    for name in village.names("houses") {
        let Some(deployment) = village.get("deployments", &name) else { continue };
        let is_its = deployment["spec"]["selector"]["matchLabels"]["house"] == name.as_str();
        let is_out = deployment["status"]["availableReplicas"] == PODS;
        let state = if is_its && is_out { "stable" } else { "building" };
        village.change("houses", &name, |house| house["status"] = json!({"state": state}));
    }
}

/// Somebody names an object.
pub(super) fn names(object: &mut Value, now: u64) {
    let metadata = &mut object["metadata"];
    metadata["labels"]["team"] = json!(now.to_string());
    metadata["annotations"]["note"] = json!(now.to_string());
    taken(metadata, ("labels", "team"), ("somebody", now));
    taken(metadata, ("annotations", "note"), ("somebody", now));
}

/// Seconds without any write, and with somebody saying several times that it is to go on, after which a rollout rests.
const STILL: u64 = 150;

/// Our annotations of what was made.
const OURS: [&str; 6] = [
    "pointsman.dev/created-from",
    "pointsman.dev/created-from-generation",
    "pointsman.dev/returned-generation",
    "pointsman.dev/created-by",
    "pointsman.dev/copied-metadata",
    "pointsman.dev/source-resource-version",
];

/// What an installation is, but for what differs from one Deployment to the next.
pub(super) fn told(village: &Village, name: &str) -> [Value; 3] {
    let hut = village.get("huts", name).cloned().unwrap_or_default();
    let deployment = village.get("deployments", name).cloned().unwrap_or_default();
    let service = village.get("services", name).cloned().unwrap_or_default();
    let metadata = |object: &Value| {
        let mut metadata = object["metadata"].clone();
        // What somebody else has named it.
        for (place, name) in [("labels", "team"), ("annotations", "note")] {
            let members = metadata[place].as_object_mut();
            members.into_iter().for_each(|members| drop(members.remove(name)));
            if metadata[place].as_object().is_some_and(serde_json::Map::is_empty) {
                metadata[place] = Value::Null;
            }
        }
        let mut owners = metadata["ownerReferences"].clone();
        // One that is made anew has another uid.
        let all = owners.as_array_mut().into_iter().flatten();
        all.filter(|one| one["uid"] == hut["metadata"]["uid"]).for_each(|one| one["uid"] = json!("its"));
        json!([metadata["labels"], metadata["annotations"], owners])
    };
    [
        json!([hut["spec"], metadata(&hut)]),
        json!([deployment["spec"], metadata(&deployment)]),
        json!([service["metadata"]["uid"], metadata(&service)]),
    ]
}
