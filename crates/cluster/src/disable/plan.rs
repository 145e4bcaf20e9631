//! The plan of `disable`, and the reasons to refuse it.

use pointsman_core::did_you_mean;

use super::final_check::leads_nowhere;
use super::options::DisableStep;
use super::registrations::OwnDocument;
use crate::conversion::ClientStanza;
use crate::crd_state::CrdState;

/// The reason why a CRD cannot be disabled now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Unplanned {
    /// An operator must act first.
    Refused(String),
    /// Objects may be stored in another version than the remaining one.
    Stored(String),
}

/// The remaining version, and the pending steps.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DisablePlan {
    pub(super) version: String,
    pub(super) steps: Vec<DisableStep>,
}

/// `ours` is the conversion that may be removed; `deleted` are documents to delete.
pub(super) fn plan(
    crd: &CrdState,
    ours: Option<&ClientStanza>,
    served: Option<&str>,
    deleted: &[OwnDocument],
) -> Result<DisablePlan, Unplanned> {
    foreign_conversion(crd, ours).map_or(Ok(()), |reason| Err(Unplanned::Refused(reason)))?;
    let version = remaining(crd, served).map_err(Unplanned::Refused)?;
    other_than(crd, &version).map_or(Ok(()), |reason| Err(Unplanned::Stored(reason)))?;
    let mut steps = Vec::new();
    let removed: Vec<String> =
        crd.served().into_iter().filter(|served| *served != version).map(str::to_owned).collect();
    if !removed.is_empty() || !crd.served().contains(&version.as_str()) {
        steps.push(DisableStep::Unserve { stays: version.clone(), removed });
    }
    steps.extend(deleted.iter().map(|one| DisableStep::Delete { document: one.document.clone() }));
    if crd.is_converted() {
        steps.push(DisableStep::FinalCheck { version: version.clone() });
        steps.push(DisableStep::RemoveConversion);
    }
    Ok(DisablePlan { version, steps })
}

fn foreign_conversion(crd: &CrdState, ours: Option<&ClientStanza>) -> Option<String> {
    let theirs = ClientStanza::of(crd.document()).filter(|_| crd.is_converted() && !leads_nowhere(crd))?;
    let same = ours.is_some_and(|ours| (&ours.place, &ours.path) == (&theirs.place, &theirs.path));
    (!same).then(|| {
        let named = ours.map_or_else(|| "the given address".to_owned(), |ours| format!("{}{}", ours.place, ours.path));
        format!(
            "{} is converted by {}{}, not by {named}: another operator depends on this webhook. To remove the \
                 webhook anyway, name it with --service or --url",
            crd.name(),
            theirs.place,
            theirs.path
        )
    })
}

fn remaining(crd: &CrdState, served: Option<&str>) -> Result<String, String> {
    let name = crd.name();
    if let Some(served) = served {
        let known = crd.versions();
        return match known.contains(&served) {
            true => Ok(served.to_owned()),
            false => {
                let meant = did_you_mean(served, known.iter().copied());
                Err(format!("{name} has no version {served}; known versions: {}{meant}", known.join(", ")))
            }
        };
    }
    match crd.served().as_slice() {
        [one] => Ok((*one).to_owned()),
        several => Err(format!(
            "{name} serves {}: without a conversion, only apiVersion would change, and fields would be lost. \
                 --served {} keeps only this version; first find the clients of the other versions",
            several.join(" and "),
            crd.storage()
        )),
    }
}

fn other_than(crd: &CrdState, version: &str) -> Option<String> {
    let (name, storage) = (crd.name(), crd.storage());
    let stored: Vec<&str> = crd.stored_versions().into_iter().filter(|stored| *stored != version).collect();
    if storage == version && stored.is_empty() {
        return None;
    }
    let what = match storage == version {
        true => format!("{name} may have objects stored as {}", stored.join(" and ")),
        false => format!("{name} stores {storage}, not {version}"),
    };
    Some(format!(
        "{what}: these objects would lose fields without a conversion. First: pointsman migrate {name} --to {version}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(served: &[&str], storage: &str, stored: &[&str], service: Option<&str>) -> CrdState {
        let version = |name: &str| json!({"name": name, "served": served.contains(&name), "storage": name == storage});
        let mut document = json!({
            "metadata": {"name": "ws.e.com"},
            "spec": {"group": "e.com", "names": {"plural": "ws"}, "versions": [version("v1"), version("v2")]},
            "status": {"storedVersions": stored},
        });
        if let Some(name) = service {
            let service = json!({"namespace": "n", "name": name, "path": "/convert"});
            document["spec"]["conversion"] =
                json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}});
        }
        CrdState::new(document).unwrap()
    }

    fn planned(crd: &CrdState, served: Option<&str>) -> Result<DisablePlan, Unplanned> {
        let ours = self::crd(&[], "v1", &[], Some("us"));
        plan(crd, ClientStanza::of(ours.document()).as_ref(), served, &[])
    }

    #[test]
    fn lossy_disable_is_refused() {
        let refused = |crd: &CrdState, served| match planned(crd, served) {
            Err(Unplanned::Refused(reason) | Unplanned::Stored(reason)) => reason,
            Ok(plan) => panic!("{plan:?}"),
        };
        let us = Some("us");
        let both = crd(&["v1", "v2"], "v1", &["v1"], us);
        assert!(refused(&both, None).contains("serves v1 and v2") && refused(&both, None).contains("--served v1"));
        assert!(refused(&both, Some("v2")).contains("stores v1, not v2"), "{}", refused(&both, Some("v2")));
        assert!(refused(&both, Some("v3")).contains("has no version v3; known versions: v1, v2"));
        let mixed = crd(&["v1"], "v1", &["v2", "v1"], us);
        let message = refused(&mixed, None);
        assert!(
            message.contains("stored as v2") && message.ends_with("pointsman migrate ws.e.com --to v1"),
            "{message}"
        );
        let theirs = crd(&["v1"], "v1", &["v1"], Some("them"));
        assert!(refused(&theirs, None).contains("converted by Service n/them:443/convert, not by Service n/us:443"));
    }

    #[test]
    fn plan_lists_remaining_steps() {
        let steps = |crd: &CrdState, served| planned(crd, served).unwrap().steps;
        let final_steps = || vec![DisableStep::FinalCheck { version: "v1".to_owned() }, DisableStep::RemoveConversion];
        let unserve = DisableStep::Unserve { stays: "v1".to_owned(), removed: vec!["v2".to_owned()] };
        let us = Some("us");
        let all = steps(&crd(&["v1", "v2"], "v1", &["v1"], us), Some("v1"));
        assert_eq!(all, [vec![unserve], final_steps()].concat());
        assert_eq!(steps(&crd(&["v1"], "v1", &["v1"], us), None), final_steps());
        assert_eq!(steps(&crd(&["v1"], "v1", &["v1"], None), None), []);
    }
}
