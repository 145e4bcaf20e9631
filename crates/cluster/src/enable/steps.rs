//! The steps of `enable`, in order.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::bundle::remarks;
use super::client_config::ClientConfigChange;
use super::creatable::{collection, creatable};
use super::leftovers::replacing;
use super::options::{DesiredCrd, EnableError, EnableEvent, EnableOptions, EnableStep, Enabled};
use super::refusals::refusal;
use super::registration::Registering;
use super::restore::undo;
use crate::annotations::DISABLING;
use crate::call_error::CallError;
use crate::cluster::{Cluster, DRY, Extent, MANAGER, PatchForm, title};
use crate::conversion::{ClientStanza, SelfTest, endpoints};
use crate::crd_state::{CrdState, REPLACED_WITHIN};
use crate::dry_run::DryRun;
use crate::stopwatch::Stopwatch;
use crate::superset::says;

/// Points the conversion of a CRD to our webhook: every endpoint is asked first what an API server would ask, trusting
/// only what the API server will trust. Then the CRD is applied as a whole (objects of a version that is served before
/// its conversion is there would be relabelled, and lose fields), every version is read, and an object created at each,
/// as a dry run. Only then is registered what is to be. If something of that fails, everything is put back.
///
/// Run again, it tests again and changes nothing. Where somebody else changes the CRD meanwhile, it looks again.
///
/// # Errors
/// [`EnableError`]: what was in the way, and whether anything was changed.
pub async fn enable(
    cluster: &Cluster,
    options: &EnableOptions,
    say: &mut dyn FnMut(EnableEvent),
) -> Result<Enabled, EnableError> {
    let (mut said, mut before) = (Vec::new(), None);
    for _ in 0..TRIES {
        let found = CrdState::find(cluster, &options.name).await?;
        let wanted = chosen(options, found.as_ref())?;
        let target = CrdState::new(wanted.crd.clone())?;
        if let Some(found) = &found
            && let Some(reason) = refusal(found, &target, options.repoint)
        {
            return Err(EnableError::Refused(format!("nothing was changed: {reason}")));
        }
        let steps = plan(&target, wanted, options);
        if said != steps {
            said.clone_from(&steps);
            say(EnableEvent::Plan(steps.clone()));
            found.iter().flat_map(|found| remarks(found.document(), &wanted.crd)).for_each(&mut *say);
        }
        let endpoints = test(cluster, &target, found.as_ref(), options, say).await?;
        let unchanged = found.as_ref().is_some_and(|found| says(found.document(), &wanted.crd));
        let mut enabled = Enabled { crd: target.name(), steps, endpoints, versions: Vec::new(), unchanged };
        if options.dry_run != Some(DryRun::Client) {
            try_out(cluster, wanted, &target, found.as_ref(), options, say).await?;
        }
        if options.dry_run.is_some() {
            return Ok(enabled);
        }
        let Some(applied) = apply(cluster, wanted, found.as_ref(), say).await? else {
            before = Some(found);
            continue;
        };
        // Where an apply of ours was done and not heard, the CRD is as wanted now: put back is what was there before.
        let found = before.filter(|_| unchanged).unwrap_or(found);
        if found.as_ref().is_some_and(|found| found.generation() != applied.generation()) {
            sleep(REPLACED_WITHIN).await;
        }
        let mut registering = Registering::default();
        match come_into_force(cluster, &applied, options, &mut registering, say).await {
            Ok(versions) => {
                enabled.versions = versions;
                // It is enabled, whatever becomes of a note on it.
                if let Err(error) = forget_the_way_out(cluster, &applied).await {
                    say(EnableEvent::NoteLeft { annotation: DISABLING, reason: error.to_string() });
                }
            }
            Err(reason) => {
                let registered = registering.undo(cluster).await;
                let after = put_back(cluster, found.as_ref(), &applied, wanted, say).await;
                return Err(EnableError::Unread { reason, after: format!("{after}{registered}") });
            }
        }
        return Ok(enabled);
    }
    Err(EnableError::Changing { crd: options.name.clone(), times: TRIES })
}

/// What is going to be done.
fn plan(target: &CrdState, wanted: &DesiredCrd, options: &EnableOptions) -> Vec<EnableStep> {
    let place = ClientStanza::of(target.document()).map_or_else(String::new, |stanza| stanza.place.to_string());
    let apply = |document: &Value| EnableStep::Apply { document: title(document) };
    let tried = || target.served().into_iter().map(|version| EnableStep::Try { version: version.to_owned() });
    let mut steps = vec![EnableStep::Ask { place }];
    steps.extend(wanted.before.iter().chain([&wanted.crd]).map(apply));
    steps.extend(tried());
    if !options.registered.is_empty() {
        steps.extend(options.registered.iter().map(apply));
        steps.extend(tried());
    }
    steps
}

/// Waits until every version can be read and written, and registers what is to be. Returns the versions.
async fn come_into_force(
    cluster: &Cluster,
    crd: &CrdState,
    options: &EnableOptions,
    registering: &mut Registering,
    say: &mut dyn FnMut(EnableEvent),
) -> Result<Vec<String>, String> {
    let mut versions = Vec::new();
    for version in crd.served() {
        readable(cluster, crd, version).await?;
        say(EnableEvent::Reads { version: version.to_owned() });
        versions.push(version.to_owned());
    }
    match creatable(cluster, crd, &options.samples, say).await {
        // It stands there already and leads elsewhere, which is what registering mends. The same is tried after it.
        Err(reason) if fails(&options.registered, &reason) => {}
        created => created?,
    }
    if options.registered.is_empty() {
        return Ok(versions);
    }
    registering.apply(cluster, &options.registered, options.force, say).await.map_err(|error| error.to_string())?;
    // Until it has heard of them, the API server asks nobody.
    sleep(REPLACED_WITHIN).await;
    creatable(cluster, crd, &options.judged, say).await?;
    Ok(versions)
}

/// Whether one of these webhooks is what an API server complains of.
fn fails(registered: &[Value], reason: &str) -> bool {
    let webhooks = registered.iter().filter_map(|document| document.get("webhooks")?.as_array()).flatten();
    let names = webhooks.filter_map(|webhook| webhook.get("name")?.as_str());
    names.into_iter().any(|name| reason.contains(&format!("failed calling webhook {name:?}")))
}

/// Takes away what a way out that was not ended has left: where the conversion led before.
async fn forget_the_way_out(cluster: &Cluster, crd: &CrdState) -> Result<(), CallError> {
    if crd.annotation(DISABLING).is_none() {
        return Ok(());
    }
    let patch = json!({"metadata": {"annotations": {DISABLING: null}}});
    cluster.patch(&crd.path(), PatchForm::Merge, &patch, Extent::Metadata).await.map(drop)
}

/// Others write a CRD now and then, and not all the time.
const TRIES: u16 = 5;

/// What is to be there, for the CRD that is.
fn chosen<'o>(options: &'o EnableOptions, found: Option<&CrdState>) -> Result<&'o DesiredCrd, EnableError> {
    let storage = found.map(CrdState::storage);
    let wanted = options.wanted.iter().find(|wanted| storage.is_none_or(|storage| wanted.storage == storage));
    wanted.ok_or_else(|| {
        EnableError::Refused(format!(
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
    wanted: &DesiredCrd,
    target: &CrdState,
    found: Option<&CrdState>,
    options: &EnableOptions,
    say: &mut dyn FnMut(EnableEvent),
) -> Result<(), EnableError> {
    let replaces = found.and_then(|found| Some((found.path(), replacing(found, &wanted.crd)?)));
    for document in wanted.before.iter().chain([&wanted.crd]).chain(&options.registered) {
        let Err(error) = cluster.try_apply(document, false).await else { continue };
        let (replaces, led) = match *document == wanted.crd {
            true => (replaces.clone(), Vec::new()),
            false => leads(cluster, document, &error)
                .await?
                .map_or((None, Vec::new()), |(path, leading)| (Some((path, leading.patch)), leading.theirs)),
        };
        if error.conflicts().is_empty() && replaces.is_none() {
            return Err(error.into());
        }
        let conflicts = error.conflicts().iter().filter(|conflict| !is_ours(conflict)).cloned();
        let theirs: Vec<String> = conflicts.chain(led).collect();
        if !theirs.is_empty() && !options.force {
            return Err(EnableError::Conflict { document: title(document), conflicts: theirs.join(", ") });
        }
        for conflict in theirs {
            say(EnableEvent::TakenOver { document: title(document), conflict });
        }
        match replaces {
            Some((path, patch)) => {
                cluster.patch(&format!("{path}{DRY}"), PatchForm::Merge, &patch, Extent::Metadata).await?;
            }
            None => drop(cluster.try_apply(document, true).await?),
        }
    }
    Registering::may(cluster, &options.registered).await?;
    // Whatever else is wrong is there already; it may be what enabling mends.
    if let Some(version) = target.served().first() {
        let path = format!("{}?limit=1", target.collection(version));
        let listed = cluster.read(&path, Extent::MetadataOfAll).await;
        listed.err().filter(CallError::is_of_missing_rights).map_or(Ok(()), Err)?;
    }
    if let Some(object) = options.samples.first() {
        let created = cluster.try_create(&collection(target, object), object).await;
        created.err().filter(CallError::is_of_missing_rights).map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Where a webhook configuration stands one of whose webhooks is to have the other address, if that may be why it could
/// not be applied.
async fn leads(
    cluster: &Cluster,
    document: &Value,
    error: &CallError,
) -> Result<Option<(String, ClientConfigChange)>, CallError> {
    let may_be = error.code() == Some(422) || !error.conflicts().is_empty();
    if document.get("webhooks").is_none() || !may_be {
        return Ok(None);
    }
    let path = cluster.document_path(document).await?;
    let found = cluster.find(&path).await?;
    Ok(found.and_then(|found| ClientConfigChange::of(&found, document)).map(|leading| (path, leading)))
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
    wanted: &DesiredCrd,
    found: Option<&CrdState>,
    say: &mut dyn FnMut(EnableEvent),
) -> Result<Option<CrdState>, EnableError> {
    for document in &wanted.before {
        cluster.apply(document, true).await?;
        say(EnableEvent::Applied { document: title(document) });
    }
    let mut crd = wanted.crd.clone();
    let mut replaced = None;
    if let Some(found) = found {
        let mut seen = found.resource_version().to_owned();
        if let Some(patch) = replacing(found, &crd) {
            match cluster.patch(&found.path(), PatchForm::Merge, &patch, Extent::Objects).await {
                Ok(now) => {
                    let now = CrdState::new(now)?;
                    seen = now.resource_version().to_owned();
                    replaced = Some((found, now));
                }
                Err(error) if error.code() == Some(409) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), seen.into());
        }
    }
    // Where there was none, nothing conflicts but what somebody else has made since.
    match cluster.apply(&crd, found.is_some()).await {
        Ok(applied) => {
            say(EnableEvent::Applied { document: title(&crd) });
            Ok(Some(CrdState::new(applied)?))
        }
        Err(error) if error.code() == Some(409) => Ok(None),
        Err(error) => match replaced {
            // It leads elsewhere by now, and nobody has tried that.
            Some((found, now)) => {
                let after = put_back(cluster, Some(found), &now, wanted, say).await;
                Err(EnableError::Unread { reason: error.message(), after })
            }
            None => Err(error.into()),
        },
    }
}

/// Asks everybody. Returns whom.
async fn test(
    cluster: &Cluster,
    target: &CrdState,
    found: Option<&CrdState>,
    options: &EnableOptions,
    say: &mut dyn FnMut(EnableEvent),
) -> Result<Vec<String>, EnableError> {
    let Some(mut stanza) = ClientStanza::of(target.document()) else {
        return Err(EnableError::Untested("the CRD says nothing of a webhook".to_owned()));
    };
    if stanza.authorities.is_none() {
        // What cert-manager has written into the CRD that is there.
        let theirs = found.and_then(|found| ClientStanza::of(found.document()));
        stanza.authorities = theirs.and_then(|theirs| theirs.authorities);
    }
    let client = SelfTest::new(&stanza).map_err(EnableError::Untested)?;
    let asked = match options.endpoints.is_empty() {
        true => endpoints(cluster, &stanza.place).await?,
        false => options.endpoints.clone(),
    };
    for endpoint in &asked {
        client.run(endpoint, &options.probes).await.map_err(EnableError::Untested)?;
        say(EnableEvent::Answers { endpoint: endpoint.clone(), probes: options.probes.len() });
    }
    Ok(asked)
}

/// Waits until a version is served, and a list of it succeeds; with objects in another version, that converts them.
async fn readable(cluster: &Cluster, target: &CrdState, version: &str) -> Result<(), String> {
    let path = format!("{}?limit=10", target.collection(version));
    let began = Stopwatch::start(cluster);
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
    wanted: &DesiredCrd,
    say: &mut dyn FnMut(EnableEvent),
) -> String {
    let Some(found) = found else {
        return "the CRD was not there before, and stays: delete it, if nobody has made objects of it".to_owned();
    };
    if found.generation() == applied.generation() {
        return "the CRD said so before, and stays as it is".to_owned();
    }
    match undo(cluster, &found.path(), found.document(), applied.document(), &wanted.crd, MANAGER).await {
        Ok(true) => {
            say(EnableEvent::PutBack);
            let policies: Vec<String> = wanted.before.iter().map(title).collect();
            let also = if policies.is_empty() { String::new() } else { format!("; {} stay", policies.join(" and ")) };
            format!("the CRD is again what it was{also}")
        }
        Ok(false) => "somebody else has changed the CRD since, so that it was not put back".to_owned(),
        Err(error) => format!("and it could not be put back: {error}"),
    }
}
