//! What a runner does to other objects, and whether it may.

use pointsman_core::roll::{ObjectCall, ObjectWrite, Propagation};
use serde_json::Value;

use super::drover::{County, is_controlled};
use super::village::No;

/// Does what is asked for, as an API server does.
pub(super) fn write(county: &mut County, write: &ObjectWrite) -> Result<(), No> {
    let village = &mut county.village;
    match &write.call {
        ObjectCall::Readmit(_) => panic!("nothing here is staged"),
        ObjectCall::Create(_) if county.refuses => Err(No::Refused),
        ObjectCall::Create(object) => village.create(&write.plural, object.clone()),
        ObjectCall::Patch(patch) | ObjectCall::Tell(patch) => village.patch(&write.plural, &write.name, patch),
        ObjectCall::Delete { uid, resource_version, propagation } => {
            let orphan = *propagation == Propagation::Orphan;
            village.delete(&write.plural, &write.name, uid, resource_version, orphan)
        }
    }
}

/// Why something must not be deleted.
pub(super) fn must_not_go(county: &County, write: &ObjectWrite) -> Option<String> {
    let ObjectCall::Delete { uid, resource_version, propagation } = &write.call else { return None };
    let object = county.village.get(&write.plural, &write.name)?;
    let is_it = object["metadata"]["uid"] == uid.as_str();
    if !is_it || object["metadata"]["resourceVersion"] != resource_version.as_str() {
        return None;
    }
    let orphans = *propagation == Propagation::Orphan;
    let why = match write.plural.as_str() {
        "huts" => hut(county, object, orphans),
        "houses" if !orphans => Some("what belongs to it goes with it"),
        "houses" => {
            let of = &object["metadata"]["annotations"]["pointsman.dev/made-of"];
            (of != write.uid.as_str()).then_some("it was not made by the roll")
        }
        "deployments" if !orphans => Some("its Pods go with it"),
        "deployments" => {
            let mine = &write.uid;
            let saved = county.village.all("controllerrevisions");
            let saved = saved.filter(|saved| saved["metadata"]["labels"]["pointsman.dev/journey"] == mine.as_str());
            let has_all = |saved: &Value| {
                let [old, new] = [&saved["data"]["old"], &saved["data"]["new"]];
                let is_old = old["spec"]["selector"] == object["spec"]["selector"];
                // What somebody changed since is saved as well.
                let is_whole = old["metadata"]["labels"] == object["metadata"]["labels"];
                if is_old { is_whole } else { new["spec"]["selector"] == object["spec"]["selector"] }
            };
            let is_saved = saved.into_iter().any(has_all);
            (!is_saved).then_some("nothing is saved of it")
        }
        "replicasets" => is_controlled(object).then_some("somebody controls it"),
        "controllerrevisions" => {
            let name = &object["data"]["old"]["metadata"]["name"];
            let deployment = name.as_str().and_then(|name| county.village.get("deployments", name));
            deployment.is_none().then_some("it is all that there is of a Deployment")
        }
        _ => Some("nobody has said that it goes"),
    };
    why.map(|why| format!("{} {}: {why}", write.plural, write.name))
}

fn hut(county: &County, object: &Value, orphans: bool) -> Option<&'static str> {
    let uid = object["metadata"]["uid"].as_str().unwrap();
    let name = object["metadata"]["name"].as_str().unwrap();
    let house = county.village.get("houses", name);
    if !orphans {
        return Some("what belongs to it goes with it");
    }
    if house.is_none_or(|house| house["metadata"]["annotations"]["pointsman.dev/made-of"] != uid) {
        return Some("nothing is in its place");
    }
    if house.is_some_and(|house| house["spec"]["roof"] != object["spec"]["roof"]) {
        return Some("what somebody has changed of it is lost");
    }
    let accepts = county.roll["spec"]["accept"].as_array().is_some_and(|all| all.contains(&"old-hut".into()));
    (!accepts).then_some("nobody has accepted that")
}
