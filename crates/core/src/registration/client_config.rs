//! `clientConfig`: the address of a webhook, and the trusted certificates.

use serde_json::Value;

use super::address::{Address, NamespacedName};
use super::ca_bundle::CaBundle;
use super::document::set;
use crate::definition::SYSTEM_NAMESPACE;
use crate::webhook::ControllerVersion;

/// How the API server connects to a webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientConfig {
    /// The address of the webhook.
    pub address: Address,
    /// The trusted certificates.
    pub trust: Trust,
}

/// The certificates that the API server trusts for a webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Trust {
    /// Certificates of these CAs.
    CaBundle(CaBundle),
    /// Certificates of the CA of a cert-manager `Certificate`, which cert-manager injects into the document.
    CertManager(NamespacedName),
    /// Certificates of the public CAs on the API server's host.
    SystemRoots,
}

impl ClientConfig {
    /// The `clientConfig` of the conversion webhook.
    #[must_use]
    pub fn for_conversion(&self) -> Value {
        self.trusting(self.address.for_conversion())
    }

    /// The `clientConfig` of an admission webhook of a controller version.
    pub(super) fn for_version(&self, version: &ControllerVersion, path: &str) -> Value {
        self.trusting(self.address.for_version(version, path))
    }

    /// The `clientConfig` of the webhook for mutations, which have no controller version.
    pub(super) fn for_mutations(&self, path: &str) -> Value {
        self.trusting(self.address.for_mutations(path))
    }

    /// The namespaces that a webhook without namespaces excludes: that of the server, and that of the cluster's
    /// components. A write there may be needed to restore the server.
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

    /// Adds the annotation by which cert-manager injects its CA (<https://cert-manager.io/docs/concepts/ca-injector/>).
    pub(super) fn annotate(&self, metadata: &mut Value) {
        if let Trust::CertManager(certificate) = &self.trust {
            let mut annotations = metadata.get("annotations").cloned().unwrap_or(Value::Null);
            set(&mut annotations, "cert-manager.io/inject-ca-from", certificate.to_string().into());
            set(metadata, "annotations", annotations);
        }
    }
}
