//! Proof that every endpoint uses a certificate of the new authority.

use std::collections::{BTreeMap, BTreeSet};

use super::authorities::Authorities;
use super::options::RotateError;
use super::trust_documents::TrustingDocument;
use crate::cluster::Cluster;
use crate::conversion::{ClientStanza, NoEndpoints, SelfTest, TlsClient, Unconnected, WebhookPlace, endpoints};

/// The endpoints to test, and the expected authority.
pub(super) struct Proof<'p> {
    pub(super) cluster: &'p Cluster,
    /// `host:port`, instead of the Service's endpoints.
    pub(super) endpoints: &'p [String],
    pub(super) found: &'p [TrustingDocument],
    pub(super) wanted: &'p Authorities,
}

impl Proof<'_> {
    /// Tests all ready endpoints, like an API server that trusts only the new authority. Returns the endpoints.
    pub(super) async fn test(&self) -> Result<Vec<String>, RotateError> {
        let (mut ready, mut shown) = (BTreeMap::new(), BTreeSet::new());
        for one in self.found {
            for stanza in one.stanzas() {
                if !ready.contains_key(&stanza.place) {
                    ready.insert(stanza.place.clone(), self.ready(&stanza.place).await?);
                }
                let new = ClientStanza { authorities: Some(self.wanted.pem()), ..stanza.clone() };
                let client = TlsClient::new(&new).map_err(RotateError::Refused)?;
                for endpoint in ready.get(&stanza.place).into_iter().flatten() {
                    self.shows(&client, endpoint, stanza).await?;
                    if let Some(probe) = &one.probe {
                        let test = SelfTest::new(&new).map_err(RotateError::Refused)?;
                        let answered = test.run(endpoint, std::slice::from_ref(probe)).await;
                        answered.map_err(|reason| self.unproven(reason, "Mend that"))?;
                    }
                    shown.insert(endpoint.clone());
                }
            }
        }
        Ok(shown.into_iter().collect())
    }

    async fn ready(&self, place: &WebhookPlace) -> Result<Vec<String>, RotateError> {
        if !self.endpoints.is_empty() {
            return Ok(self.endpoints.to_vec());
        }
        endpoints(self.cluster, place).await.map_err(|error| match error {
            NoEndpoints::Call(error) => error.into(),
            NoEndpoints::Missing(reason) => self.unproven(reason, "Have the servers run"),
        })
    }

    /// Checks that an endpoint uses a certificate of the new authority.
    async fn shows(&self, client: &TlsClient, endpoint: &str, stanza: &ClientStanza) -> Result<(), RotateError> {
        let Err(error) = client.connect(endpoint).await else { return Ok(()) };
        let problem = format!("{endpoint}: {error}");
        if !matches!(error, Unconnected::Untrusted { .. }) {
            return Err(self.unproven(problem, "Mend that"));
        }
        let shows_old = match TlsClient::new(stanza) {
            Ok(client) => client.connect(endpoint).await.is_ok(),
            Err(_) => false,
        };
        let old = format!("{endpoint} still shows a certificate of the old authority ({error})");
        let next = "Give the servers certificates of the new authority";
        Err(self.unproven(if shows_old { old } else { problem }, next))
    }

    fn unproven(&self, reason: String, next: &'static str) -> RotateError {
        let both = self.found.iter().any(|one| one.trusts_others(self.wanted));
        RotateError::Unproven { reason, both, next }
    }
}
