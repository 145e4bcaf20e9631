//! A runner's writes to other objects, and their preconditions.

use pointsman_rollout::{
    ObjectCall, ObjectWrite, Propagation, Replacement, ReplacementObject, not_left_behind, rfc3339,
};
use serde_json::Value;

use super::fake_namespace::{FakeNamespace, No};
use super::fake_runner::{Fixture, is_controlled};

/// Performs a write as an API server does.
pub(super) fn write(fixture: &mut Fixture, write: &ObjectWrite) -> Result<(), No> {
    if let Some(no) = makes_no_way(fixture, write) {
        return Err(no);
    }
    stays(fixture, write)?;
    write_as_asked(fixture, write)
}

/// Same as [`write`], for a caller that has already checked the preconditions.
pub(super) fn write_as_asked(fixture: &mut Fixture, write: &ObjectWrite) -> Result<(), No> {
    let fake_namespace = &mut fixture.fake_namespace;
    match &write.call {
        ObjectCall::Readmit(_) => panic!("nothing here is mutated"),
        ObjectCall::Create(_) | ObjectCall::Succeed(_) if fixture.refuses => Err(No::Refused),
        ObjectCall::Create(object) | ObjectCall::Succeed(object) => {
            fake_namespace.create(&write.plural, object.clone())
        }
        ObjectCall::Patch(patch) | ObjectCall::ReportRefusal(patch) => {
            fake_namespace.patch(&write.plural, &write.name, patch)
        }
        ObjectCall::Delete { uid, resource_version, propagation, .. } => {
            let orphan = *propagation == Propagation::Orphan;
            fake_namespace.delete(&write.plural, &write.name, uid, resource_version, orphan)
        }
    }
}

/// The object for which another object is deleted must still be declared.
fn stays(fixture: &mut Fixture, write: &ObjectWrite) -> Result<(), No> {
    let ObjectCall::Delete { resource_version, replacement: Some(replacement), .. } = &write.call else {
        return Ok(());
    };
    let Replacement::Counterpart(one) = &**replacement else { return Ok(()) };
    let Some(patch) = one.stays(fixture.fake_namespace.get(&one.plural, &one.name), resource_version) else {
        return Ok(());
    };
    fixture.fake_namespace.patch(&one.plural, &one.name, &patch)
}

/// Why an object must not be deleted for its replacement, by the preceding check.
pub(super) fn makes_no_way(fixture: &Fixture, write: &ObjectWrite) -> Option<No> {
    let ObjectCall::Delete { uid, replacement, .. } = &write.call else { return None };
    match replacement.as_deref()? {
        Replacement::Successor(_) if fixture.refuses => Some(No::Refused),
        Replacement::Successor(next) => (!is_left(&fixture.fake_namespace, uid, next)).then_some(No::NotYet),
        Replacement::Counterpart(one) => {
            one.missing(fixture.fake_namespace.get(&one.plural, &one.name)).map(|_| No::NotYet)
        }
    }
}

/// True if a deletion would orphan dependents, by the check before it.
fn is_left(fake_namespace: &FakeNamespace, uid: &str, next: &ReplacementObject) -> bool {
    let wanted: Vec<(&str, &str)> = next.labels.split(',').filter_map(|one| one.split_once('=')).collect();
    let has = |one: &&Value| wanted.iter().all(|(label, value)| one["metadata"]["labels"][label] == *value);
    let owned: Vec<Value> = fake_namespace.all(&next.owned.0).filter(has).cloned().collect();
    not_left_behind(&owned, uid, &rfc3339(fake_namespace.now)).is_none()
}

/// Why an object must not be deleted.
pub(super) fn must_not_go(fixture: &Fixture, write: &ObjectWrite) -> Option<String> {
    let ObjectCall::Delete { uid, resource_version, propagation, replacement } = &write.call else { return None };
    let object = fixture.fake_namespace.get(&write.plural, &write.name)?;
    let is_it = object["metadata"]["uid"] == uid.as_str();
    if !is_it || object["metadata"]["resourceVersion"] != resource_version.as_str() {
        return None;
    }
    let orphans = *propagation == Propagation::Orphan;
    let why = match write.plural.as_str() {
        "oldapps" => oldapp(fixture, object, orphans),
        "newapps" if !orphans => Some("its dependents would be deleted"),
        "newapps" => {
            let of = &object["metadata"]["annotations"]["pointsman.dev/created-from"];
            let oldapp = fixture.fake_namespace.get("oldapps", &write.name);
            // A newapp that was created from the recreated oldapp has its content of that time.
            let uid = object["metadata"]["uid"].as_str().unwrap();
            let is_again = |oldapp: &&Value| {
                let mark = oldapp["metadata"]["annotations"]["pointsman.dev/rollout"].as_str().unwrap_or_default();
                mark.contains(&format!(r#""target":"{uid}""#))
            };
            let is_lost = oldapp.filter(is_again).is_some_and(|oldapp| is_changed_since(fixture, object, oldapp));
            let why = is_lost.then_some("changes of a client would be lost");
            (of != write.uid.as_str()).then_some("it was not made by the rollout").or(why)
        }
        "deployments" if !orphans => Some("its Pods go with it"),
        "deployments" => {
            let next = replacement.as_deref().and_then(|replacement| match replacement {
                Replacement::Successor(next) => Some(&next.object),
                Replacement::Counterpart(_) => None,
            });
            deployment(fixture, &write.uid, object, next)
        }
        "replicasets" => is_controlled(object).then_some("a controller owns it"),
        "controllerrevisions" => {
            let name = &object["data"]["old"]["metadata"]["name"];
            let deployment = name.as_str().and_then(|name| fixture.fake_namespace.get("deployments", name));
            deployment.is_none().then_some("it is all that there is of a Deployment")
        }
        _ => Some("the workflow does not delete it"),
    };
    why.map(|why| format!("{} {}: {why}", write.plural, write.name))
}

/// True if an object differs both from the object that was created from it and from that object's original content.
fn is_changed_since(fixture: &Fixture, object: &Value, other: &Value) -> bool {
    let made = fixture.fake_namespace.first(other["metadata"]["uid"].as_str().unwrap());
    [&other["spec"]["roof"], &made["roof"]].iter().all(|roof| **roof != object["spec"]["roof"])
}

/// True if an oldapp was recreated from this newapp and is unchanged since: its content equals earlier content of the
/// newapp.
fn is_as_made_again(fixture: &Fixture, oldapp: &Value, newapp: &Value) -> bool {
    let mark = oldapp["metadata"]["annotations"]["pointsman.dev/rollout"].as_str().unwrap_or_default();
    let uid = newapp["metadata"]["uid"].as_str().unwrap();
    let made = fixture.fake_namespace.first(oldapp["metadata"]["uid"].as_str().unwrap());
    mark.contains(&format!(r#""target":"{uid}""#)) && oldapp["spec"]["roof"] == made["roof"]
}

fn oldapp(fixture: &Fixture, object: &Value, orphans: bool) -> Option<&'static str> {
    let uid = object["metadata"]["uid"].as_str().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    let newapp = fixture.fake_namespace.get("newapps", name);
    if !orphans {
        return Some("its dependents would be deleted");
    }
    if newapp.is_none_or(|newapp| newapp["metadata"]["annotations"]["pointsman.dev/created-from"] != uid) {
        return Some("nothing is in its place");
    }
    let lost =
        |newapp: &&Value| is_changed_since(fixture, object, newapp) && !is_as_made_again(fixture, object, newapp);
    if newapp.filter(lost).is_some() {
        return Some("changes of a client would be lost");
    }
    let accepts =
        fixture.rollout["spec"]["acceptedRisks"].as_array().is_some_and(|all| all.contains(&"old-oldapp".into()));
    (!accepts).then_some("the risk is not accepted")
}

/// Why a Deployment must not be deleted for its replacement: it must be saved completely, and the replacement must be
/// requested.
fn deployment(fixture: &Fixture, of: &str, object: &Value, successor: Option<&Value>) -> Option<&'static str> {
    let saved = fixture.fake_namespace.all("controllerrevisions");
    let saved = saved.filter(|saved| saved["metadata"]["labels"]["pointsman.dev/workflow"] == of);
    let selector = |object: &Value| object["spec"]["selector"].clone();
    let has_all = |saved: &Value| {
        let [old, new] = [&saved["data"]["old"], &saved["data"]["new"]];
        // Later changes by other clients are saved as well.
        let is_whole = ["labels", "ownerReferences"].iter().all(|it| old["metadata"][it] == object["metadata"][it]);
        if selector(old) == selector(object) { is_whole } else { selector(new) == selector(object) }
    };
    if !saved.into_iter().any(has_all) {
        return Some("nothing is saved of it");
    }
    let is_asked = successor.is_some_and(|next| selector(next) != selector(object));
    (!is_asked).then_some("no dry run has checked its replacement")
}
