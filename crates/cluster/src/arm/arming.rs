//! Arming from the first look to the first read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::client_stanza::ClientStanza;
use super::endpoints::endpoints;
use super::options::{ArmError, ArmEvent, ArmOptions, Armed};
use super::refusals::{refusal, says};
use super::self_test::SelfTest;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent, PatchForm};
use crate::crd_state::{CrdState, crd_path};

/// Points the conversion of a CRD to our webhook: every endpoint is asked first what an API server would ask, trusting
/// only what the API server will trust. Then the CRD is applied as a whole (objects of a version that is served before
/// its conversion is there would be relabelled, and lose fields), and every version is read. If one cannot be, the CRD
/// is put back.
///
/// Run again, it tests again and changes nothing.
///
/// # Errors
/// [`ArmError`]: what was in the way, and whether anything was changed.
pub async fn arm(
    cluster: &Cluster,
    options: &ArmOptions<'_>,
    say: &mut dyn FnMut(ArmEvent),
) -> Result<Armed, ArmError> {
    let found = found(cluster, &options.name).await?;
    let wanted = (options.wanted)(found.as_ref());
    let target = CrdState::new(wanted.crd.clone())?;
    if let Some(found) = &found
        && let Some(reason) = refusal(found, &target, options.repoint)
    {
        return Err(ArmError::Refused(format!("nothing was changed: {reason}")));
    }
    let tested = test(cluster, &target, found.as_ref(), options, say).await?;
    let unchanged = found.as_ref().is_some_and(|found| says(found.document(), &wanted.crd));
    let served = target.served().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let mut armed = Armed { crd: target.name(), endpoints: tested, versions: Vec::new(), unchanged };
    if options.dry_run {
        return Ok(armed);
    }
    for document in wanted.before.iter().chain([&wanted.crd]) {
        cluster.apply(document, options.force).await.map_err(conflict)?;
        let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
        say(ArmEvent::Applied { document: format!("{} {}", text("/kind"), text("/metadata/name")) });
    }
    for version in served {
        if let Err(reason) = readable(cluster, &target, &version).await {
            let after = put_back(cluster, found.as_ref(), say).await;
            return Err(ArmError::Unread { reason, after });
        }
        say(ArmEvent::Reads { version: version.clone() });
        armed.versions.push(version);
    }
    Ok(armed)
}

async fn found(cluster: &Cluster, name: &str) -> Result<Option<CrdState>, ArmError> {
    match cluster.get(&crd_path(name)).await {
        Ok(document) => Ok(Some(CrdState::new(document)?)),
        Err(CallError::Refused { code: 404, .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn conflict(error: CallError) -> ArmError {
    match error {
        CallError::Refused { code: 409, message, .. } => ArmError::Conflict { message },
        error => error.into(),
    }
}

/// Asks everybody. Returns whom.
async fn test(
    cluster: &Cluster,
    target: &CrdState,
    found: Option<&CrdState>,
    options: &ArmOptions<'_>,
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
        let Err(error) = cluster.read(&path, Extent::Metadata).await else { return Ok(()) };
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

/// An API server replaces its handlers within a second, and waits five before a new CRD is called established.
const SERVED_WITHIN: Duration = Duration::from_secs(20);

/// As long as that lasts, whoever reads another version fails.
const CONVERTED_WITHIN: Duration = Duration::from_secs(6);
const OFTEN: Duration = Duration::from_millis(250);

/// Makes the CRD what it was. Says what became of it.
async fn put_back(cluster: &Cluster, found: Option<&CrdState>, say: &mut dyn FnMut(ArmEvent)) -> String {
    let Some(found) = found else {
        return "the CRD was not there before, and stays: delete it, if nobody has made objects of it".to_owned();
    };
    // Whole, as RFC 6902 replaces: a merge would leave members of the webhook beside the old strategy.
    let part = |path: &str| found.document().pointer(path).cloned();
    let none = || json!({"strategy": "None"});
    let patch = json!([
        {"op": "replace", "path": "/spec/conversion", "value": part("/spec/conversion").unwrap_or_else(none)},
        {"op": "replace", "path": "/spec/versions", "value": part("/spec/versions")},
    ]);
    match cluster.patch(&found.path(), PatchForm::Json, &patch, Extent::Metadata).await {
        Ok(_) => {
            say(ArmEvent::PutBack);
            "the CRD is again what it was".to_owned()
        }
        Err(error) => format!("and it could not be put back: {error}"),
    }
}
