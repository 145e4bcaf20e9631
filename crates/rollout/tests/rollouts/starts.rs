//! Conditions before the start of a rollout and during the rollout.

use std::time::Duration;

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_rollout::{
    ClockReading, FleetObject, LookupRequest, LookupResults, LookupTarget, PlanInput, Rollout, RolloutPhase,
    RolloutPlan, RolloutStatus, RolloutWrite, answered_rollout, needs_crd, needs_other_rollouts, plan, rollout_lookups,
    start_refusals, stays_over,
};
use serde_json::{Value, json};

use crate::kinds::define;
use crate::patches::database;

const KEY: &str = "example.com/controller-version";

/// A kind with this `checks` block, and extra lines in its `admission` block.
pub(super) fn checked(checks: &str, admission: &str) -> Result<Kind, BadDefinition> {
    let versions = "[{version: 1.16.4}, {version: 1.17.1, upgradeFrom: [1.16.4], downgradeTo: [1.16.4], needs: {applied: \
                    [PATCH.10, KUBE_PATCH.1], available: [KUBE_PATCH.2]}}]";
    let plain = "[{version: 1.16.4}, {version: 1.17.1, upgradeFrom: [1.16.4], downgradeTo: [1.16.4]}, {version: 1.18.1, \
                 upgradeFrom: [1.17.1], downgradeTo: [1.17.1]}]";
    let versions = if admission.contains("prerequisites") { versions } else { plain };
    define(&format!(
        "admission:\n  versionPath: all\n  paths: {{all: {{versions: {versions}, optOut: example.com/any}}}}\n  \
         {admission}\nhealth: {{all: [{{condition: Ready}}], settle: 0s, seen: {{manager: databaser}}}}\nchecks: {checks}\n"
    ))
}

pub(super) const PATCHES: &str =
    "prerequisites: {resource: patches.example.com, namespace: n, name: \"p-{id}\", state: status.state}";

pub(super) const APPS: &str =
    "{name: apps, list: helmreleases.helm.toolkit.fluxcd.io, where: \"tier in (a, b)\", every: {condition: Ready}}";

pub(super) fn rollout_of(kind: &Kind, members: &Value) -> Rollout {
    let mut spec = json!({"kind": "database", "from": "1.16.4", "to": "1.17.1", "waves": [{"name": "all"}]});
    spec.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let metadata = json!({"name": "r", "uid": "rollout-1"});
    let document =
        json!({"apiVersion": "pointsman.dev/v1", "kind": "StagedRollout", "metadata": metadata, "spec": spec});
    answered_rollout(&document, kind).unwrap()
}

pub(super) fn at(version: &str) -> Value {
    database(json!({"labels": {KEY: version}}))
}

pub(super) fn app(name: &str, ready: &str) -> Value {
    json!({"metadata": {"namespace": "flux", "name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
}

pub(super) fn fleet(rollout: &Rollout, objects: &[Value]) -> Vec<FleetObject> {
    objects.iter().filter_map(|object| FleetObject::of(object, rollout)).collect()
}

/// Answers every lookup with `find`.
fn answered(rollout: &Rollout, find: impl Fn(&LookupRequest) -> Result<Vec<Value>, String>) -> PlanInput {
    let mut answers = LookupResults::default();
    for lookup in rollout_lookups(rollout, &RolloutStatus::default()) {
        match find(&lookup) {
            Ok(found) => answers.saw(&lookup, &found),
            Err(why) => answers.cannot_read(&lookup, why),
        }
    }
    PlanInput { consistent: true, answers, ..PlanInput::default() }
}

pub(super) fn planned(rollout: &Rollout, status: &RolloutStatus, objects: &[Value], facts: PlanInput) -> RolloutPlan {
    let now = ClockReading { wall: 1_794_996_000, steady: Duration::from_secs(10) };
    plan(rollout, status, &fleet(rollout, objects), facts, now)
}

pub(super) fn patch(state: &str) -> Result<Vec<Value>, String> {
    Ok(vec![json!({"metadata": {"name": "p"}, "status": {"state": state}})])
}

#[test]
fn start_needs_required_versions() {
    let kind = checked("{start: [needs]}", PATCHES).unwrap();
    let rollout = rollout_of(&kind, &json!({}));
    let asked: Vec<String> = rollout_lookups(&rollout, &RolloutStatus::default())
        .iter()
        .map(|lookup| {
            let LookupTarget::Named(name) = &lookup.wanted else { panic!("{lookup:?}") };
            format!("{}.{} {}/{name}", lookup.plural, lookup.group, lookup.namespace.as_deref().unwrap())
        })
        .collect();
    let names = ["patch.10", "kube-patch.1", "kube-patch.2"].map(|id| format!("patches.example.com n/p-{id}"));
    assert_eq!(asked, names);
    let find = |lookup: &LookupRequest, changed: &str, answer: &Result<Vec<Value>, String>| {
        let LookupTarget::Named(name) = &lookup.wanted else { panic!("{lookup:?}") };
        match name.as_str() {
            name if name == changed => answer.clone(),
            "p-kube-patch.2" => patch("Available"),
            _ => patch("Applied"),
        }
    };
    let fine = patch("APPLIED");
    let objects = [at("1.16.4")];
    let begun = planned(
        &rollout,
        &RolloutStatus::default(),
        &objects,
        answered(&rollout, |one| find(one, "p-patch.10", &fine)),
    );
    assert_eq!((begun.status.phase, begun.status.in_flight.len()), (RolloutPhase::Rolling, 1));
    let must = "needs: PATCH.10 must be applied before a rollout to 1.17.1 starts";
    let mine = "patches.example.com n/p-patch.10";
    for (changed, answer, said) in [
        ("p-patch.10", patch("Available"), format!("{must}, and {mine} has \"Available\"")),
        ("p-patch.10", Ok(Vec::new()), format!("{must}, but {mine} does not exist")),
        ("p-patch.10", Err("GET /x: no".to_owned()), format!("{must}, and {mine} cannot be read: GET /x: no")),
        ("p-patch.10", Ok(vec![json!({"status": {}})]), format!("{must}, and {mine} has no value")),
        (
            "p-kube-patch.2",
            patch("Applied"),
            "needs: KUBE_PATCH.2 must be available before a rollout to 1.17.1 starts, and patches.example.com n/p-kube-patch.2 has \
             \"Applied\""
                .to_owned(),
        ),
    ] {
        let facts = answered(&rollout, |one| find(one, changed, &answer));
        assert_eq!(start_refusals(&rollout, &fleet(&rollout, &objects), &facts), std::slice::from_ref(&said));
        let refused = planned(&rollout, &RolloutStatus::default(), &objects, facts);
        assert_eq!((refused.status.phase, refused.status.message), (RolloutPhase::Refused, said));
        assert!(refused.status.in_flight.is_empty() && refused.status.started.is_none());
    }
    let nobody = start_refusals(&rollout, &fleet(&rollout, &objects), &PlanInput::default());
    assert_eq!(nobody.len(), 3, "{nobody:?}");
    assert!(nobody.iter().all(|why| why.contains("was not read yet")), "{nobody:?}");
    // A version without needs makes no lookups.
    assert!(
        rollout_lookups(
            &rollout_of(&kind, &json!({"from": "1.17.1", "to": "1.16.4", "acceptedRisks": ["no-way-back"]})),
            &RolloutStatus::default()
        )
        .is_empty()
    );
}

#[test]
fn start_needs_healthy_other_objects() {
    let kind = checked(&format!("{{start: [{APPS}]}}"), "").unwrap();
    let rollout = rollout_of(&kind, &json!({}));
    let lookups = rollout_lookups(&rollout, &RolloutStatus::default());
    assert_eq!((lookups[0].plural.as_str(), lookups[0].group.as_str()), ("helmreleases", "helm.toolkit.fluxcd.io"));
    assert_eq!(lookups[0].wanted, LookupTarget::Labelled("tier in (a, b)".to_owned()));
    let head = "apps: helmreleases.helm.toolkit.fluxcd.io";
    let not = |name: &str| format!("flux/{name}: condition Ready is False, and must be True");
    for (found, said) in [
        (Ok(vec![app("a", "True")]), Vec::new()),
        (Ok(Vec::new()), Vec::new()),
        (Ok(vec![app("a", "True"), app("b", "False")]), vec![format!("{head} {}", not("b"))]),
        (
            Ok(["a", "b", "c", "d", "e"].map(|name| app(name, "False")).to_vec()),
            vec![format!("{head} {}; {}; {}; and 2 more", not("a"), not("b"), not("c"))],
        ),
        (Err("forbidden".to_owned()), vec![format!("{head} cannot be read: forbidden")]),
    ] {
        let facts = answered(&rollout, |_| found.clone());
        assert_eq!(start_refusals(&rollout, &[], &facts), said);
    }
    // A failure on the first page is kept while later pages arrive.
    let mut answers = LookupResults::default();
    [app("a", "False"), app("b", "True")].iter().for_each(|one| answers.saw(&lookups[0], std::slice::from_ref(one)));
    assert_eq!(start_refusals(&rollout, &[], &PlanInput { answers, ..PlanInput::default() }).len(), 1);
}

#[test]
fn start_needs_upgrade_path() {
    let kind = checked("{start: [paths]}", "").unwrap();
    let refused = |members: Value, objects: &[Value]| {
        let rollout = rollout_of(&kind, &members);
        start_refusals(&rollout, &fleet(&rollout, objects), &PlanInput::default())
    };
    let skips = json!({"to": "1.18.1", "acceptedRisks": ["no-way-back"]});
    let why = "paths: no upgrade from 1.16.4 to 1.18.1 is allowed; first move to 1.17.1";
    assert_eq!(refused(json!({}), &[at("1.16.4")]), [""; 0]);
    assert_eq!(refused(skips.clone(), &[at("1.16.4"), at("1.17.1")]), [why]);
    assert_eq!(refused(skips.clone(), &[]), [why], "the StagedRollout decides for empty fleets");
    let from_anywhere = json!({"from": null, "to": "1.18.1"});
    assert_eq!(refused(from_anywhere.clone(), &[at("1.17.1"), at("1.18.1")]), [""; 0]);
    assert_eq!(refused(from_anywhere, &[at("1.17.1"), at("1.16.4"), at("1.16.4")]), [why], "once for each version");
    let free = database(json!({"labels": {KEY: "1.16.4"}, "annotations": {"example.com/any": "true"}}));
    assert_eq!(refused(skips, &[free]), [""; 0], "it opts out");
}

#[test]
fn start_needs_crd_and_controllers() {
    let lease = "lease: {namespace: h, name: \"b-{version}\"}";
    let kind = checked("{start: [crd, controllers]}", lease).unwrap();
    let rollout = rollout_of(&kind, &json!({}));
    let mut begun = RolloutStatus { started: Some("2026-11-18T10:00:00Z".to_owned()), ..RolloutStatus::default() };
    assert!(needs_crd(&rollout, &RolloutStatus::default()) && !needs_crd(&rollout, &begun));
    begun.phase = RolloutPhase::Rolling;
    for (crd, shut, said) in [
        (Some(Ok(Vec::new())), None, vec![]),
        (
            Some(Ok(vec!["spec.a is not there".to_owned()])),
            None,
            vec![
                "crd: the CRD databases.example.com lacks parts of the definition: spec.a is not there; first install the newest CRD",
            ],
        ),
        (Some(Err("forbidden".to_owned())), None, vec!["crd: the CRD databases.example.com cannot be read: forbidden"]),
        (None, None, vec!["crd: the CRD databases.example.com was not read yet"]),
        (
            Some(Ok(Vec::new())),
            Some("controller 1.17.1 does not run"),
            vec!["controllers: controller 1.17.1 does not run"],
        ),
    ] {
        let mut answers = LookupResults::default();
        crd.into_iter().for_each(|crd| answers.crd_lacks(crd));
        let facts = PlanInput { answers, closed_gate: shut.map(str::to_owned), ..PlanInput::default() };
        assert_eq!(start_refusals(&rollout, &[], &facts), said);
    }
}

/// All blockers at once, so that an operator can fix them in one pass.
#[test]
fn start_lists_all_blockers() {
    let kind = checked(&format!("{{start: [crd, paths, {APPS}]}}"), "").unwrap();
    let rollout = rollout_of(&kind, &json!({"to": "1.18.1"}));
    let facts = PlanInput { others: vec![("other".to_owned(), vec!["n/b".to_owned()])], ..PlanInput::default() };
    let refusals = start_refusals(&rollout, &fleet(&rollout, &[at("1.16.4")]), &facts);
    let begins =
        ["no way back: ", "rollout other has 1 of the same objects in flight: n/b", "crd: ", "paths: ", "apps: "];
    assert_eq!(refusals.len(), begins.len(), "{refusals:?}");
    refusals.iter().zip(begins).for_each(|(why, begins)| assert!(why.starts_with(begins), "{why}"));
    let refused = planned(&rollout, &RolloutStatus::default(), &[at("1.16.4")], facts);
    assert_eq!((refused.status.phase, refused.status.message), (RolloutPhase::Refused, refusals.join("; ")));
    // Abort and undo do not require a fix.
    for direction in ["Abort", "Undo"] {
        let given_up = rollout_of(&kind, &json!({"to": "1.18.1", "direction": direction}));
        let aborted = planned(&given_up, &RolloutStatus::default(), &[at("1.16.4")], PlanInput::default());
        assert_eq!(
            (aborted.status.phase, aborted.status.message.as_str()),
            (RolloutPhase::Aborted, "no object was moved")
        );
    }
}

#[test]
fn finished_rollout_waits_for_another() {
    let kind = checked(&format!("{{start: [{APPS}]}}"), "").unwrap();
    let facts = PlanInput { others: vec![("other".to_owned(), vec!["n/b".to_owned()])], ..PlanInput::default() };
    for (phase, wanted, stays) in [
        ("Complete", "Undo", true),
        ("Failed", "Undo", true),
        ("Complete", "Forward", false),
        ("Rolling", "Undo", false),
        ("Paused", "Undo", false),
    ] {
        let rollout = rollout_of(&kind, &json!({"to": "1.18.1", "direction": wanted}));
        let started = json!({"phase": phase, "direction": "Forward", "started": "2026-01-01T00:00:00Z"});
        let status = RolloutStatus::of(&json!({"status": started}));
        let told = stays_over(&rollout, &status, &facts);
        assert_eq!(told.is_some(), stays, "{phase} {wanted}: {told:?}");
        assert_eq!(needs_other_rollouts(&rollout, &status), stays, "{phase} {wanted}");
        assert!(
            told.is_none_or(|told| told.contains("has ended, and does not have direction Undo: rollout other has 1 of"))
        );
        assert_eq!(stays_over(&rollout, &status, &PlanInput::default()), None);
    }
}

/// Two rollouts that start at the same time observe each other only afterwards.
#[test]
fn later_of_two_starts_yields() {
    let kind = checked("{start: []}", "").unwrap();
    let rollout = rollout_of(&kind, &json!({"to": "1.17.1"}));
    let alone = planned(&rollout, &RolloutStatus::default(), &[at("1.16.4")], PlanInput::default());
    assert!(alone.status.started.is_some() && !alone.status.in_flight.is_empty(), "{:?}", alone.status);
    let facts = PlanInput { others: vec![("other".to_owned(), vec!["n/b".to_owned()])], ..PlanInput::default() };
    let beside = planned(&rollout, &alone.status, &[at("1.16.4")], facts);
    let told = (beside.status.phase, beside.status.started.is_some(), beside.status.in_flight.len());
    assert_eq!(told, (RolloutPhase::Refused, false, 0), "{:?}", beside.status);
    assert!(beside.writes.iter().all(|write| matches!(write, RolloutWrite::Status(_))), "{:?}", beside.writes);
    assert!(beside.status.message.contains("rollout other has 1 of the same objects in flight: n/b"));
    let again = planned(&rollout, &beside.status, &[at("1.16.4")], PlanInput::default());
    assert_eq!((again.status.phase, again.status.in_flight.len()), (RolloutPhase::Rolling, 1));
}

#[test]
fn failing_check_stops_forward_moves() {
    let kind = checked(&format!("{{during: [{APPS}]}}"), "").unwrap();
    let facts = |rollout: &Rollout, ready: &'static str| answered(rollout, |_| Ok(vec![app("a", ready)]));
    let rollout = rollout_of(&kind, &json!({}));
    let waits = planned(&rollout, &RolloutStatus::default(), &[at("1.16.4")], facts(&rollout, "False"));
    assert!(waits.status.in_flight.is_empty() && waits.status.started.is_some(), "{:?}", waits.status);
    assert_eq!(
        (waits.status.phase, waits.status.reason.as_deref()),
        (RolloutPhase::Waiting, Some("PreconditionsNotMet"))
    );
    let said = "all 0/1, apps: helmreleases.helm.toolkit.fluxcd.io flux/a: condition Ready is False, and must be True";
    assert_eq!(waits.status.message, said);
    assert_eq!(planned(&rollout, &waits.status, &[at("1.16.4")], facts(&rollout, "True")).status.in_flight.len(), 1);
    let unread = answered(&rollout, |_| Err("forbidden".to_owned()));
    assert!(
        planned(&rollout, &waits.status, &[at("1.16.4")], unread).status.message.ends_with("cannot be read: forbidden")
    );
    // An undo is allowed despite the failing check.
    let mark =
        json!({"rollout": "rollout-1", "was": "1.16.4", "to": "1.17.1", "at": "2026-11-18T10:00:00Z"}).to_string();
    let moved = database(json!({"labels": {KEY: "1.17.1"}, "annotations": {"pointsman.dev/rollout": mark}}));
    let back = rollout_of(&kind, &json!({"direction": "Undo"}));
    assert!(rollout_lookups(&back, &waits.status).is_empty());
    let goes = planned(&back, &waits.status, std::slice::from_ref(&moved), facts(&rollout, "False"));
    assert_eq!(goes.status.in_flight.len(), 1, "{:?}", goes.status);
}

#[test]
fn impossible_check_is_refused() {
    let no_place = "paths: {all: {versions: [{version: 1.0.0, needs: {applied: [A]}}]}}";
    for (definition, said) in [
        ("checks: {start: [crds]}", "definition:4: checks.start: \"crds\" is unknown, did you mean \"crd\"?"),
        (
            "checks: {start: [paths]}",
            "checks.start: paths: the definition has no `versionPath`, so the check could never fail",
        ),
        ("checks: {start: [needs]}", "needs: no version of the path of `versionPath` needs anything"),
        ("checks: {start: [controllers]}", "controllers: the definition names no `lease`"),
        ("checks: {start: [crd, crd]}", "checks.start: two checks have the name \"crd\""),
        ("checks: {stat: [crd]}", "unknown key \"stat\", did you mean \"start\"?"),
        (
            "checks: {start: [{name: a, list: b.c, evry: {condition: A}}]}",
            "unknown key \"evry\", did you mean \"every\"?",
        ),
        ("checks: {start: [{name: a, list: b.c}]}", "the key \"every\" is missing"),
        ("checks: {start: [{name: A, list: b.c, every: {condition: A}}]}", "checks.start: \"A\" is no name"),
        ("checks: {start: [{name: a, list: B, every: {condition: A}}]}", "a: \"B\" is no resource: write the plural"),
        ("checks: {start: [{name: a, list: b.c, where: \"a b\", every: {condition: A}}]}", "a: selector \"a b\""),
        (
            "checks: {start: [{name: a, list: b.c, namespace: B, every: {condition: A}}]}",
            "\"B\" is no name of a namespace",
        ),
        ("checks: {start: [{name: a, list: b.c, every: {field: x}}]}", "a: every: x needs one of `is`, `in`"),
        ("checks: {during: [crd]}", "checks.during: "),
        ("admission: {prerequisites: {resource: P, name: \"{id}\", state: s}}", "prerequisites: \"P\" is no resource"),
        (
            "admission: {prerequisites: {resource: p, name: x, state: s}}",
            "prerequisites: name: \"x\" must contain {id} once",
        ),
        ("admission: {prerequisites: {resource: p, name: \"{id}\", state: \"\"}}", "prerequisites: an empty path"),
        (&format!("admission: {{versionPath: all, {no_place}}}"), "paths.all: 1.0.0 needs A, and no lookup is defined"),
        (&format!("admission: {{{no_place}}}"), "1.0.0 has needs, but only the path in `versionPath` supports needs"),
    ] {
        let bad = define(&format!("{definition}\n")).map(|_| ()).expect_err(definition).to_string();
        assert!(bad.contains(said), "{definition}: {bad}");
    }
    for (ids, said) in [
        ("applied: [A], available: [A]", "1.0.0 needs A to be applied, and to be available and not applied"),
        ("applied: [\"a b\"]", "1.0.0 needs \"a b\", and no object can be called \"a b\""),
        ("applied: [A_1, a-1]", "A_1 and a-1 are different, but both use the lookup name a-1"),
        ("applied: [A]", "definition:0: checks.start: 1.0.0 has needs without a check"),
    ] {
        let place = "prerequisites: {resource: p.q, name: \"{id}\", state: s}";
        let versions = format!("versions: [{{version: 1.0.0, needs: {{{ids}}}}}]");
        let bad = define(&format!("admission: {{versionPath: all, paths: {{all: {{{versions}}}}}, {place}}}\n"));
        let bad = bad.map(|_| ()).expect_err(ids).to_string();
        assert!(bad.contains(said.trim_start_matches("definition:0: ")), "{ids}: {bad}");
    }
}
