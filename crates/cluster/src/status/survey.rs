//! Reads the status of a kind, without writes.

use super::certificate_end::CertificateEnd;
use super::findings::findings;
use super::kind_status::{EndpointStatus, KindStatus, ObjectCounts, StatusOptions};
use super::known_kinds::declared;
use super::last_errors::last_errors;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::conversion::{ClientStanza, Replica, TlsClient, Unconnected, replicas};
use crate::crd_state::CrdState;
use crate::migrate::Mark;
use crate::pages::{Pages, items};

/// Reads the status of a kind: the CRD, every served version, the metadata of every object, and all endpoints.
///
/// # Errors
/// The CRD does not exist or cannot be read. Other failed reads are in [`KindStatus::findings`].
pub async fn status(cluster: &Cluster, options: &StatusOptions<'_>) -> Result<KindStatus, CallError> {
    let crd = CrdState::fetch(cluster, &options.name).await?;
    let mut seen = declared(&crd, (options.drift)(crd.document()), options.now);
    let stanza = ClientStanza::of(crd.document()).filter(|_| crd.is_converted());
    let counted = crd.readable();
    for version in crd.served() {
        let objects = (Some(version) == counted).then_some(&mut seen.objects);
        if let Err(error) = read(cluster, &crd, version, options, objects).await {
            seen.unread.insert(version.to_owned(), error.message());
        }
    }
    if let Some(stanza) = stanza.filter(|_| !seen.disabling) {
        check_endpoints(cluster, &stanza, options, &mut seen).await;
    }
    seen.findings = findings(&seen, &options.kind, options.now);
    Ok(seen)
}

/// Lists a version: one version is counted completely, for others a few objects are sufficient.
async fn read(
    cluster: &Cluster,
    crd: &CrdState,
    version: &str,
    options: &StatusOptions<'_>,
    counts: Option<&mut ObjectCounts>,
) -> Result<(), CallError> {
    let collection = crd.collection(version);
    let Some(counts) = counts else {
        return cluster.read(&format!("{collection}?limit={SAMPLE}"), Extent::MetadataOfAll).await.map(drop);
    };
    let mark = Mark::of(crd);
    counts.written_since = mark.as_ref().map(|_| 0);
    let mut count = |list| items(&list).for_each(|item| counts.add(item, mark.as_ref(), &options.version_label, crd));
    Pages::new(cluster, collection, Extent::MetadataOfAll, options.page).all(&mut |_, _| {}, &mut count).await
}

/// Verifies the certificates of all endpoints with the trust settings of the API server, and reads their last errors.
async fn check_endpoints(cluster: &Cluster, stanza: &ClientStanza, options: &StatusOptions<'_>, seen: &mut KindStatus) {
    let named = |address: &String| Replica { address: address.clone(), pod: None };
    let found = match options.endpoints.is_empty() {
        true => replicas(cluster, &stanza.place).await.map_err(|error| error.to_string()),
        false => Ok(options.endpoints.iter().map(named).collect()),
    };
    let replicas = found.as_deref().unwrap_or_default();
    seen.errors = last_errors(cluster, options.errors, replicas, &options.kind).await;
    let prepared = found.and_then(|found| Ok((found, TlsClient::new(stanza)?)));
    let (found, client) = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => {
            seen.no_endpoints = Some(reason);
            return;
        }
    };
    for Replica { address: endpoint, .. } in found {
        let connected = client.connect(&endpoint).await;
        let reached = !matches!(connected, Err(Unconnected::Unreached(_)));
        let certificate = connected.map_err(|error| error.to_string()).and_then(|stream| {
            let (_, connection) = stream.get_ref();
            let leaf = connection.peer_certificates().and_then(|chain| chain.first());
            leaf.and_then(|leaf| CertificateEnd::of(leaf))
                .ok_or_else(|| "the endpoint presents no certificate".to_owned())
        });
        seen.endpoints.push(EndpointStatus { endpoint, certificate, reached });
    }
}

/// The number of objects that prove a version readable.
const SAMPLE: u32 = 10;
