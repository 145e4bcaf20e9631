//! `clientConfig`: where a webhook is, and whose certificate it must show.

use serde_json::Value;

use super::address::{Address, NamespacedName};
use super::ca_bundle::CaBundle;
use super::document::set;
use crate::definition::SYSTEM_NAMESPACE;
use crate::webhook::ControllerVersion;

/// How the API server connects to a webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientConfig {
    /// Where it is.
    pub address: Address,
    /// Whose certificate it must show.
    pub trust: Trust,
}

/// Whose certificates the API server takes for a webhook's.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Trust {
    /// Those of these authorities.
    CaBundle(CaBundle),
    /// Those of the authority that signed a cert-manager `Certificate`: cert-manager writes it into the document.
    CertManager(NamespacedName),
    /// Those of public authorities, as the API server's host knows them.
    SystemRoots,
}

impl ClientConfig {
    /// The stanza for the conversion webhook.
    #[must_use]
    pub fn for_conversion(&self) -> Value {
        self.trusting(self.address.for_conversion())
    }

    /// The stanza for an admission webhook of a controller version.
    pub(super) fn for_version(&self, version: &ControllerVersion, path: &str) -> Value {
        self.trusting(self.address.for_version(version, path))
    }

    /// The stanza for the webhook of stages, which have no controller version.
    pub(super) fn for_mutations(&self, path: &str) -> Value {
        self.trusting(self.address.for_mutations(path))
    }

    /// The namespaces that a webhook is not asked about which names none: who answers runs in its own, and what it runs
    /// on in the other one. A write there that waits for the answer may be the one that brings it back.
    pub(super) fn spared(&self) -> Vec<&str> {
        let own = self.address.namespace().filter(|own| *own != SYSTEM_NAMESPACE);
        own.into_iter().chain([SYSTEM_NAMESPACE]).collect()
    }

    fn trusting(&self, mut config: Value) -> Value {
        if let Trust::CaBundle(bundle) = &self.trust {
            set(&mut config, "caBundle", bundle.as_str().into());
        }
        config
    }

    /// Asks cert-manager, by an annotation, to write its authority into a document
    /// (<https://cert-manager.io/docs/concepts/ca-injector/>).
    pub(super) fn annotate(&self, metadata: &mut Value) {
        if let Trust::CertManager(certificate) = &self.trust {
            let mut annotations = metadata.get("annotations").cloned().unwrap_or(Value::Null);
            set(&mut annotations, "cert-manager.io/inject-ca-from", certificate.to_string().into());
            set(metadata, "annotations", annotations);
        }
    }
}
