//! Arming from the first look to the first read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::options::{ArmError, ArmEvent, ArmOptions, Armed, Wanted};
use super::refusals::{refusal, says};
use crate::cluster::{Cluster, Extent, MANAGER, PatchForm, title};
use crate::conversion::{ClientStanza, SelfTest, endpoints};
use crate::crd_state::{CrdState, REPLACED_WITHIN};

/// Points the conversion of a CRD to our webhook: every endpoint is asked first what an API server would ask, trusting
/// only what the API server will trust. Then the CRD is applied as a whole (objects of a version that is served before
/// its conversion is there would be relabelled, and lose fields), and every version is read. If one cannot be, the CRD
/// is put back.
///
/// Run again, it tests again and changes nothing. Where somebody else changes the CRD meanwhile, it looks again.
///
/// # Errors
/// [`ArmError`]: what was in the way, and whether anything was changed.
pub async fn arm(cluster: &Cluster, options: &ArmOptions, say: &mut dyn FnMut(ArmEvent)) -> Result<Armed, ArmError> {
    for _ in 0..TRIES {
        let found = CrdState::find(cluster, &options.name).await?;
        let wanted = chosen(options, found.as_ref())?;
        let target = CrdState::new(wanted.crd.clone())?;
        if let Some(found) = &found
            && let Some(reason) = refusal(found, &target, options.repoint)
        {
            return Err(ArmError::Refused(format!("nothing was changed: {reason}")));
        }
        let endpoints = test(cluster, &target, found.as_ref(), options, say).await?;
        try_out(cluster, wanted, &target, options.force, say).await?;
        let unchanged = found.as_ref().is_some_and(|found| says(found.document(), &wanted.crd));
        let mut armed = Armed { crd: target.name(), endpoints, versions: Vec::new(), unchanged };
        if options.dry_run {
            return Ok(armed);
        }
        let Some(applied) = apply(cluster, wanted, found.as_ref(), say).await? else { continue };
        if found.as_ref().is_some_and(|found| found.generation() != applied.generation()) {
            // Until then a list is answered as the CRD was before, and proves nothing.
            sleep(REPLACED_WITHIN).await;
        }
        for version in applied.served() {
            if let Err(reason) = readable(cluster, &target, version).await {
                let after = put_back(cluster, found.as_ref(), &applied, wanted, say).await;
                return Err(ArmError::Unread { reason, after });
            }
            say(ArmEvent::Reads { version: version.to_owned() });
            armed.versions.push(version.to_owned());
        }
        return Ok(armed);
    }
    Err(ArmError::Changing { crd: options.name.clone(), times: TRIES })
}

/// Others write a CRD now and then, and not all the time.
const TRIES: u16 = 5;

/// What is to be there, for the CRD that is.
fn chosen<'o>(options: &'o ArmOptions, found: Option<&CrdState>) -> Result<&'o Wanted, ArmError> {
    let storage = found.map(CrdState::storage);
    let wanted = options.wanted.iter().find(|wanted| storage.is_none_or(|storage| wanted.storage == storage));
    wanted.ok_or_else(|| {
        ArmError::Refused(format!(
            "nothing was changed: {} stores {}, which the definition does not know: its objects could not be read any \
             more. Add it to the definition, or store another version first",
            options.name,
            storage.unwrap_or_default()
        ))
    })
}

/// Asks the API server what it would say, and changes nothing: who else applied what, and what we may not do.
async fn try_out(
    cluster: &Cluster,
    wanted: &Wanted,
    target: &CrdState,
    force: bool,
    say: &mut dyn FnMut(ArmEvent),
) -> Result<(), ArmError> {
    for document in wanted.before.iter().chain([&wanted.crd]) {
        let Err(error) = cluster.try_apply(document, false).await else { continue };
        let others: Vec<&String> = error.conflicts().iter().filter(|conflict| !is_ours(conflict)).collect();
        if error.conflicts().is_empty() {
            return Err(error.into());
        }
        if !others.is_empty() && !force {
            let conflicts = others.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(ArmError::Conflict { document: title(document), conflicts });
        }
        for conflict in others {
            say(ArmEvent::TakenOver { document: title(document), conflict: conflict.clone() });
        }
        cluster.try_apply(document, true).await?;
    }
    let first = target.served().first().map(|version| target.collection(version));
    let Some(path) = first.map(|collection| format!("{collection}?limit=1")) else { return Ok(()) };
    match cluster.read(&path, Extent::MetadataOfAll).await {
        Err(error) if error.code() == Some(403) => Err(error.into()),
        // Whatever else is wrong is there already; it may be what arming mends.
        _ => Ok(()),
    }
}

/// Whether a conflict is with what we wrote ourselves, otherwise than by applying it: what was put back, or what a
/// migration stores.
fn is_ours(conflict: &str) -> bool {
    conflict.starts_with(&format!("conflict with \"{MANAGER}\""))
}

/// Applies all of it; nothing where the CRD is not the one that was found any more. What conflicts was taken over by
/// word, or was refused before.
async fn apply(
    cluster: &Cluster,
    wanted: &Wanted,
    found: Option<&CrdState>,
    say: &mut dyn FnMut(ArmEvent),
) -> Result<Option<CrdState>, ArmError> {
    for document in &wanted.before {
        cluster.apply(document, true).await?;
        say(ArmEvent::Applied { document: title(document) });
    }
    let mut crd = wanted.crd.clone();
    if let (Some(found), Some(metadata)) = (found, crd.get_mut("metadata").and_then(Value::as_object_mut)) {
        metadata.insert("resourceVersion".to_owned(), found.resource_version().into());
    }
    // Where there was none, nothing conflicts but what somebody else has made since.
    match cluster.apply(&crd, found.is_some()).await {
        Ok(applied) => {
            say(ArmEvent::Applied { document: title(&crd) });
            Ok(Some(CrdState::new(applied)?))
        }
        Err(error) if error.code() == Some(409) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Asks everybody. Returns whom.
async fn test(
    cluster: &Cluster,
    target: &CrdState,
    found: Option<&CrdState>,
    options: &ArmOptions,
    say: &mut dyn FnMut(ArmEvent),
) -> Result<Vec<String>, ArmError> {
    let Some(mut stanza) = ClientStanza::of(target.document()) else {
        return Err(ArmError::Untested("the CRD says nothing of a webhook".to_owned()));
    };
    if stanza.authorities.is_none() {
        // What cert-manager has written into the CRD that is there.
        let theirs = found.and_then(|found| ClientStanza::of(found.document()));
        stanza.authorities = theirs.and_then(|theirs| theirs.authorities);
    }
    let client = SelfTest::new(&stanza).map_err(ArmError::Untested)?;
    let asked = match options.endpoints.is_empty() {
        true => endpoints(cluster, &stanza.place).await?,
        false => options.endpoints.clone(),
    };
    for endpoint in &asked {
        client.run(endpoint, &options.probes).await.map_err(ArmError::Untested)?;
        say(ArmEvent::Answers { endpoint: endpoint.clone(), probes: options.probes.len() });
    }
    Ok(asked)
}

/// Waits until a version is served, and a list of it succeeds; with objects in another version, that converts them.
async fn readable(cluster: &Cluster, target: &CrdState, version: &str) -> Result<(), String> {
    let path = format!("{}?limit=10", target.collection(version));
    let began = Instant::now();
    loop {
        let Err(error) = cluster.read(&path, Extent::MetadataOfAll).await else { return Ok(()) };
        // 404: not served yet. 500 is what a conversion that fails is called, also by a handler that is on its way out.
        let patience = match error.code() {
            Some(404) => SERVED_WITHIN,
            Some(500) => CONVERTED_WITHIN,
            _ if error.passes() => SERVED_WITHIN,
            _ => Duration::ZERO,
        };
        if began.elapsed() > patience {
            return Err(format!("{version} cannot be read: {}", error.message()));
        }
        sleep(OFTEN).await;
    }
}

/// As [`REPLACED_WITHIN`], and the five seconds that it waits before a new CRD is called established.
const SERVED_WITHIN: Duration = Duration::from_secs(20);

/// As long as that lasts, whoever reads another version fails.
const CONVERTED_WITHIN: Duration = Duration::from_secs(6);
const OFTEN: Duration = Duration::from_millis(250);

/// Makes the CRD what it was. Says what became of it.
async fn put_back(
    cluster: &Cluster,
    found: Option<&CrdState>,
    applied: &CrdState,
    wanted: &Wanted,
    say: &mut dyn FnMut(ArmEvent),
) -> String {
    let Some(found) = found else {
        return "the CRD was not there before, and stays: delete it, if nobody has made objects of it".to_owned();
    };
    if found.generation() == applied.generation() {
        return "the CRD said so before, and stays as it is".to_owned();
    }
    match cluster.patch(&found.path(), PatchForm::Json, &undone(found, applied, wanted), Extent::Metadata).await {
        Ok(_) => {
            say(ArmEvent::PutBack);
            let policies: Vec<String> = wanted.before.iter().map(title).collect();
            let also = if policies.is_empty() { String::new() } else { format!("; {} stay", policies.join(" and ")) };
            format!("the CRD is again what it was{also}")
        }
        Err(error) if error.code() == Some(422) => {
            "somebody else has changed the CRD since, so that it was not put back".to_owned()
        }
        Err(error) => format!("and it could not be put back: {error}"),
    }
}

/// The patch that makes the CRD what was found, where nobody has changed it since. Its spec is replaced whole: a merge
/// would leave members of the webhook beside the old strategy.
fn undone(found: &CrdState, applied: &CrdState, wanted: &Wanted) -> Value {
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/generation", "value": applied.generation()}),
        json!({"op": "replace", "path": "/spec", "value": found.document().get("spec")}),
    ];
    for members in ["labels", "annotations"] {
        let at = format!("/metadata/{members}");
        let ours = wanted.crd.pointer(&at).and_then(Value::as_object);
        for name in ours.into_iter().flat_map(|ours| ours.keys()) {
            let path = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            let before = found.document().pointer(&at).and_then(|members| members.get(name));
            patch.push(match before {
                Some(value) => json!({"op": "replace", "path": path, "value": value}),
                None => json!({"op": "remove", "path": path}),
            });
        }
    }
    Value::Array(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(annotations: &Value, generation: u64) -> Value {
        let version = json!({"name": "v1", "served": true, "storage": true});
        json!({
            "metadata": {"name": "ws.e.com", "generation": generation, "annotations": annotations},
            "spec": {"group": "e.com", "names": {"plural": "ws"}, "versions": [version]},
        })
    }

    #[test]
    fn what_was_found_comes_back_and_nothing_stays() {
        let found = CrdState::new(crd(&json!({"a/b": "theirs", "c": "theirs"}), 1)).unwrap();
        let ours = crd(&json!({"a/b": "ours", "d~": "ours"}), 2);
        let applied = CrdState::new(ours.clone()).unwrap();
        let wanted = Wanted { storage: "v1".to_owned(), before: Vec::new(), crd: ours };
        assert_eq!(
            undone(&found, &applied, &wanted),
            json!([
                {"op": "test", "path": "/metadata/generation", "value": 2},
                {"op": "replace", "path": "/spec", "value": found.document()["spec"]},
                {"op": "replace", "path": "/metadata/annotations/a~1b", "value": "theirs"},
                {"op": "remove", "path": "/metadata/annotations/d~0"},
            ])
        );
    }
}
