//! Examines admission documents and their servers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::agreement::{TrustedServer, disagreements};
use super::processes::{RunningServer, running};
use super::registration_problem::RegisteredFinding;
use super::webhook_clients::WebhookClient;
use crate::admission_documents::{AdmissionDocument, admission_documents};
use crate::bundle_faults::BundleFault;
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::conversion::{ClientStanza, NoEndpoints, TlsClient, Unconnected, WebhookPlace, endpoints};
use crate::crd_state::CrdState;

/// The result of an examination.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// Every webhook configuration and policy of the cluster.
    pub documents: Vec<Value>,
    /// The Pods of pointsman.
    pub servers: Vec<RunningServer>,
    /// Findings.
    pub findings: Vec<RegisteredFinding>,
    /// Failed checks, with reasons.
    pub unknown: Vec<String>,
}

/// Examines the admission documents and their servers: whether every ready endpoint presents a certificate that the API
/// server trusts, by every published bundle, and how the servers were started. Includes documents of other authors that
/// refer to a pointsman server, or to a server that converts one of these CRDs. `now` is in seconds since 1970.
///
/// # Errors
/// A CRD or the admission documents cannot be read. Other failed checks are in [`Examined::unknown`].
pub async fn examine(cluster: &Cluster, crds: &[String], now: u64) -> Result<Examined, CallError> {
    let documents = admission_documents(cluster).await?;
    let (mut examined, mut unknown) = (Examined::default(), BTreeSet::new());
    let own = documents.iter().filter(|one| one.is_ours());
    let own = own.flat_map(|one| WebhookClient::all(&one.document));
    let own: BTreeSet<WebhookPlace> = own.map(|client| client.stanza.place).collect();
    let (mut places, mut servers) = (own.clone(), Vec::new());
    for name in crds {
        let converted = CrdState::find(cluster, name).await?.filter(CrdState::is_converted);
        let Some(stanza) = converted.and_then(|crd| ClientStanza::of(crd.document())) else { continue };
        places.insert(stanza.place.clone());
        servers.push(TrustedServer { title: format!("CustomResourceDefinition {name}"), stanza });
    }
    for one in &documents {
        for client in WebhookClient::all(&one.document) {
            if one.is_ours() || places.iter().any(|place| client.stanza.place.is_of(place)) {
                let faults = client.faults(now);
                examined.findings.extend(faults.iter().map(|fault| client.finding(&one.title(), fault, Some(ROTATE))));
                if !faults.iter().any(BundleFault::is_unusable) {
                    trusted(cluster, one, &client.stanza, &mut examined.findings, &mut unknown).await;
                }
                servers.push(TrustedServer { title: one.title(), stanza: client.stanza });
            }
        }
    }
    examined.findings.extend(disagreements(&servers));
    let services: BTreeSet<(&str, &str)> = own.iter().filter_map(service).collect();
    for (namespace, name) in services {
        match running(cluster, namespace, name).await {
            Ok(servers) => examined.servers.extend(servers),
            Err(error) => {
                unknown.insert(format!("how the servers of {namespace}/{name} were started: {error}"));
            }
        }
    }
    examined.documents = documents.into_iter().map(|one| one.document).collect();
    examined.unknown = unknown.into_iter().collect();
    Ok(examined)
}

fn service(place: &WebhookPlace) -> Option<(&str, &str)> {
    match place {
        WebhookPlace::Service { namespace, name, .. } => Some((namespace, name)),
        WebhookPlace::Url { .. } => None,
    }
}

/// Connects to all endpoints of a stanza, and verifies their certificates by its bundle.
async fn trusted(
    cluster: &Cluster,
    one: &AdmissionDocument,
    stanza: &ClientStanza,
    findings: &mut Vec<RegisteredFinding>,
    unknown: &mut BTreeSet<String>,
) {
    let mut find = |problem: String, fix: &str| {
        let (document, fix) = (one.title(), fix.to_owned());
        findings.push(RegisteredFinding { document, problem, fix });
    };
    let found = match endpoints(cluster, &stanza.place).await {
        Ok(found) => found,
        Err(NoEndpoints::Missing(reason)) => {
            return find(
                format!("{reason}: the objects of this webhook cannot be written"),
                "docs/running.md, First checks",
            );
        }
        Err(NoEndpoints::Call(error)) => {
            unknown.insert(format!("cannot find the endpoints of {}: {error}", stanza.place));
            return;
        }
    };
    if stanza.authorities.is_none() {
        // The certificate may be from a public authority.
        unknown.insert(format!(
            "cannot verify the certificate of {}: without a caBundle, the trust of the API server is unknown",
            stanza.place
        ));
        return;
    }
    let client = match TlsClient::new(stanza) {
        Ok(client) => client,
        Err(reason) => return find(format!("{}: {reason}", stanza.place), ROTATE),
    };
    for endpoint in found {
        match client.connect(&endpoint).await {
            Ok(_) => {}
            Err(Unconnected::Unreached(reason)) => {
                unknown
                    .insert(format!("cannot verify the certificate of {endpoint}: unreachable from here ({reason})"));
            }
            Err(error @ Unconnected::Refused(_)) => {
                find(format!("{endpoint}: {error}"), "docs/running.md, First checks")
            }
            Err(error @ Unconnected::Untrusted { .. }) => {
                find(format!("{endpoint}: the API server would not trust the certificate: {error}"), ROTATE);
            }
        }
    }
}

const ROTATE: &str = "pointsman rotate-ca --ca-file FILE …, with the authority of the certificate: docs/rotate.md";
