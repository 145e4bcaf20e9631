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
use crate::superset::is_superset_of;

/// Points the conversion of a CRD to the pointsman webhook. First tests every endpoint with the requests and trust
/// settings of an API server. Then applies the whole CRD at once: objects of a version served without its conversion
/// would be relabelled, and lose fields. Then reads every version, and creates an object in each as dry run. Finally
/// applies webhook configurations and policies. Restores everything after a failure.
///
/// A repeated run tests again and is otherwise a no-op. After a concurrent change of the CRD, it starts over.
///
/// # Errors
/// [`EnableError`]: the obstacle, and whether anything was changed.
pub async fn enable(
    cluster: &Cluster,
    options: &EnableOptions,
    report: &mut dyn FnMut(EnableEvent),
) -> Result<Enabled, EnableError> {
    let (mut planned, mut before) = (Vec::new(), None);
    for _ in 0..TRIES {
        let found = CrdState::find(cluster, &options.name).await?;
        let wanted = chosen(options, found.as_ref())?;
        let target = CrdState::new(wanted.crd.clone())?;
        if let Some(found) = &found
            && let Some(reason) = refusal(found, &target, options.repoint)
        {
            return Err(EnableError::Refused(format!("the cluster is unchanged: {reason}")));
        }
        let steps = plan(&target, wanted, options);
        if planned != steps {
            planned.clone_from(&steps);
            report(EnableEvent::Plan(steps.clone()));
            found.iter().flat_map(|found| remarks(found.document(), &wanted.crd)).for_each(&mut *report);
        }
        let endpoints = test(cluster, &target, found.as_ref(), options, report).await?;
        let unchanged = found.as_ref().is_some_and(|found| is_superset_of(found.document(), &wanted.crd));
        let mut enabled = Enabled { crd: target.name(), steps, endpoints, versions: Vec::new(), unchanged };
        if options.dry_run != Some(DryRun::Client) {
            try_out(cluster, wanted, &target, found.as_ref(), options, report).await?;
        }
        if options.dry_run.is_some() {
            return Ok(enabled);
        }
        let Some(applied) = apply(cluster, wanted, found.as_ref(), report).await? else {
            before = Some(found);
            continue;
        };
        // After an apply without received response, the earlier CRD is the one to restore.
        let found = before.filter(|_| unchanged).unwrap_or(found);
        if found.as_ref().is_some_and(|found| found.generation() != applied.generation()) {
            sleep(REPLACED_WITHIN).await;
        }
        let mut registering = Registering::default();
        match verify_and_register(cluster, &applied, options, &mut registering, report).await {
            Ok(versions) => {
                enabled.versions = versions;
                // The CRD is enabled, even if the annotation remains.
                if let Err(error) = forget_the_way_out(cluster, &applied).await {
                    report(EnableEvent::NoteLeft { annotation: DISABLING, reason: error.to_string() });
                }
            }
            Err(reason) => {
                let registered = registering.undo(cluster).await;
                let after = put_back(cluster, found.as_ref(), &applied, wanted, report).await;
                return Err(EnableError::Unread { reason, after: format!("{after}{registered}") });
            }
        }
        return Ok(enabled);
    }
    Err(EnableError::Changing { crd: options.name.clone(), times: TRIES })
}

/// The planned steps.
fn plan(target: &CrdState, wanted: &DesiredCrd, options: &EnableOptions) -> Vec<EnableStep> {
    let place = ClientStanza::of(target.document()).map_or_else(String::new, |stanza| stanza.place.to_string());
    let apply = |document: &Value| EnableStep::Apply { document: title(document) };
    let tried = || target.served().into_iter().map(|version| EnableStep::Try { version: version.to_owned() });
    let mut steps = vec![EnableStep::TestEndpoints { place }];
    steps.extend(wanted.before.iter().chain([&wanted.crd]).map(apply));
    steps.extend(tried());
    if !options.registered.is_empty() {
        steps.extend(options.registered.iter().map(apply));
        steps.extend(tried());
    }
    steps
}

/// Waits until every version is readable and writable, and applies webhook configurations and policies. Returns the
/// versions.
async fn verify_and_register(
    cluster: &Cluster,
    crd: &CrdState,
    options: &EnableOptions,
    registering: &mut Registering,
    report: &mut dyn FnMut(EnableEvent),
) -> Result<Vec<String>, String> {
    let mut versions = Vec::new();
    for version in crd.served() {
        readable(cluster, crd, version).await?;
        report(EnableEvent::Reads { version: version.to_owned() });
        versions.push(version.to_owned());
    }
    match creatable(cluster, crd, &options.samples, report).await {
        // An existing webhook has another address, which the next step fixes. The test is repeated afterwards.
        Err(reason) if fails(&options.registered, &reason) => {}
        created => created?,
    }
    if options.registered.is_empty() {
        return Ok(versions);
    }
    registering.apply(cluster, &options.registered, options.force, report).await.map_err(|error| error.to_string())?;
    // The API server does not call the webhooks before it has received them.
    sleep(REPLACED_WITHIN).await;
    creatable(cluster, crd, &options.judged, report).await?;
    Ok(versions)
}

/// True if the API server's error is about one of these webhooks.
fn fails(registered: &[Value], reason: &str) -> bool {
    let webhooks = registered.iter().filter_map(|document| document.get("webhooks")?.as_array()).flatten();
    let names = webhooks.filter_map(|webhook| webhook.get("name")?.as_str());
    names.into_iter().any(|name| reason.contains(&format!("failed calling webhook {name:?}")))
}

/// Removes the annotation of an interrupted disable.
async fn forget_the_way_out(cluster: &Cluster, crd: &CrdState) -> Result<(), CallError> {
    if crd.annotation(DISABLING).is_none() {
        return Ok(());
    }
    let patch = json!({"metadata": {"annotations": {DISABLING: null}}});
    cluster.patch(&crd.path(), PatchForm::Merge, &patch, Extent::Metadata).await.map(drop)
}

/// Other clients write a CRD occasionally.
const TRIES: u16 = 5;

/// The desired documents for the existing CRD.
fn chosen<'o>(options: &'o EnableOptions, found: Option<&CrdState>) -> Result<&'o DesiredCrd, EnableError> {
    let storage = found.map(CrdState::storage);
    let wanted = options.wanted.iter().find(|wanted| storage.is_none_or(|storage| wanted.storage == storage));
    wanted.ok_or_else(|| {
        EnableError::Refused(format!(
            "the cluster is unchanged: {} stores {}, a version without definition: its objects would become \
                 unreadable. Add the version to the definition, or store another version first",
            options.name,
            storage.unwrap_or_default()
        ))
    })
}

/// Dry runs of all changes, to find conflicts and missing permissions.
async fn try_out(
    cluster: &Cluster,
    wanted: &DesiredCrd,
    target: &CrdState,
    found: Option<&CrdState>,
    options: &EnableOptions,
    report: &mut dyn FnMut(EnableEvent),
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
            report(EnableEvent::TakenOver { document: title(document), conflict });
        }
        match replaces {
            Some((path, patch)) => {
                cluster.patch(&format!("{path}{DRY}"), PatchForm::Merge, &patch, Extent::Metadata).await?;
            }
            None => drop(cluster.try_apply(document, true).await?),
        }
    }
    Registering::may(cluster, &options.registered).await?;
    // Other existing problems are allowed, since `enable` may fix them.
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

/// The path of a webhook configuration, and the change of address, if that may explain the failed apply.
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

/// True if the conflict is with pointsman itself, by a write other than apply: a restore, or a migration.
fn is_ours(conflict: &str) -> bool {
    conflict.starts_with(&format!("conflict with \"{MANAGER}\""))
}

/// Applies all documents; `None` if the CRD changed since it was read. Conflicts were accepted or refused earlier.
async fn apply(
    cluster: &Cluster,
    wanted: &DesiredCrd,
    found: Option<&CrdState>,
    report: &mut dyn FnMut(EnableEvent),
) -> Result<Option<CrdState>, EnableError> {
    for document in &wanted.before {
        cluster.apply(document, true).await?;
        report(EnableEvent::Applied { document: title(document) });
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
    // Without an earlier CRD, a conflict is with a new one.
    match cluster.apply(&crd, found.is_some()).await {
        Ok(applied) => {
            report(EnableEvent::Applied { document: title(&crd) });
            Ok(Some(CrdState::new(applied)?))
        }
        Err(error) if error.code() == Some(409) => Ok(None),
        Err(error) => match replaced {
            // The conversion address has changed without a test.
            Some((found, now)) => {
                let after = put_back(cluster, Some(found), &now, wanted, report).await;
                Err(EnableError::Unread { reason: error.message(), after })
            }
            None => Err(error.into()),
        },
    }
}

/// Tests all endpoints. Returns them.
async fn test(
    cluster: &Cluster,
    target: &CrdState,
    found: Option<&CrdState>,
    options: &EnableOptions,
    report: &mut dyn FnMut(EnableEvent),
) -> Result<Vec<String>, EnableError> {
    let Some(mut stanza) = ClientStanza::of(target.document()) else {
        return Err(EnableError::Untested("the CRD has no webhook conversion".to_owned()));
    };
    if stanza.authorities.is_none() {
        // The authorities that cert-manager injected into the existing CRD.
        let theirs = found.and_then(|found| ClientStanza::of(found.document()));
        stanza.authorities = theirs.and_then(|theirs| theirs.authorities);
    }
    let client = SelfTest::new(&stanza).map_err(EnableError::Untested)?;
    let tested = match options.endpoints.is_empty() {
        true => endpoints(cluster, &stanza.place).await?,
        false => options.endpoints.clone(),
    };
    for endpoint in &tested {
        client.run(endpoint, &options.probes).await.map_err(EnableError::Untested)?;
        report(EnableEvent::Answers { endpoint: endpoint.clone(), probes: options.probes.len() });
    }
    Ok(tested)
}

/// Waits until a version is served, and a list succeeds, which converts objects of other versions.
async fn readable(cluster: &Cluster, target: &CrdState, version: &str) -> Result<(), String> {
    let path = format!("{}?limit=10", target.collection(version));
    let began = Stopwatch::start(cluster);
    loop {
        let Err(error) = cluster.read(&path, Extent::MetadataOfAll).await else { return Ok(()) };
        // 404: not served yet. 500: a failing conversion, possibly by a handler that is being replaced.
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

/// [`REPLACED_WITHIN`], and the five seconds before a new CRD counts as established.
const SERVED_WITHIN: Duration = Duration::from_secs(20);

/// Clients that read another version fail during this time.
const CONVERTED_WITHIN: Duration = Duration::from_secs(6);
const OFTEN: Duration = Duration::from_millis(250);

/// Restores the CRD. Returns the result as text.
async fn put_back(
    cluster: &Cluster,
    found: Option<&CrdState>,
    applied: &CrdState,
    wanted: &DesiredCrd,
    report: &mut dyn FnMut(EnableEvent),
) -> String {
    let Some(found) = found else {
        return "the CRD is new and stays: delete the CRD if no object exists".to_owned();
    };
    if found.generation() == applied.generation() {
        return "the CRD had this conversion before, and stays unchanged".to_owned();
    }
    match undo(cluster, &found.path(), found.document(), applied.document(), &wanted.crd, MANAGER).await {
        Ok(true) => {
            report(EnableEvent::PutBack);
            let policies: Vec<String> = wanted.before.iter().map(title).collect();
            let also = if policies.is_empty() { String::new() } else { format!("; {} stay", policies.join(" and ")) };
            format!("the CRD is restored{also}")
        }
        Ok(false) => "another client has changed the CRD since, so the CRD was not restored".to_owned(),
        Err(error) => format!("and the CRD could not be restored: {error}"),
    }
}
