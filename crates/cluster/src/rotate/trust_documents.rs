//! Documents with the trusted authorities of a server: CRDs and webhook configurations.

use pointsman_core::pointer_token;
use serde_json::{Value, json};

use super::authorities::Authorities;
use super::options::Trusting;
use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::conversion::{ClientStanza, Probe, WebhookPlace};
use crate::crd_state::CRDS;
use crate::pages::{Pages, items};

/// A document, and its parts about this server.
#[derive(Clone, Debug)]
pub(super) struct TrustingDocument {
    pub(super) named: Trusting,
    pub(super) path: String,
    resource_version: String,
    /// The annotation of another injector of its bundles.
    pub(super) injected: Option<&'static str>,
    /// The test request for a CRD's server: without objects, which every server can convert.
    pub(super) probe: Option<Probe>,
    /// Its `clientConfig`s by JSON pointer.
    stanzas: Vec<(String, ClientStanza)>,
}

/// Every document for this server, at any port and path. CRDs are last, since their changes are expensive.
pub(super) async fn trusting(cluster: &Cluster, to: &WebhookPlace) -> Result<Vec<TrustingDocument>, CallError> {
    let mut found = Vec::new();
    for (kind, collection) in [
        ("MutatingWebhookConfiguration", format!("{ADMISSION}/mutatingwebhookconfigurations")),
        ("ValidatingWebhookConfiguration", format!("{ADMISSION}/validatingwebhookconfigurations")),
        ("CustomResourceDefinition", CRDS.to_owned()),
    ] {
        let pages = Pages::new(cluster, collection.clone(), Extent::Objects, PAGE);
        let mut take = |list| {
            found.extend(items(&list).filter_map(|item| TrustingDocument::of(kind, &collection, item, to)));
        };
        pages.all(&mut |_, _| {}, &mut take).await?;
    }
    Ok(found)
}

impl TrustingDocument {
    fn of(kind: &str, collection: &str, document: &Value, to: &WebhookPlace) -> Option<Self> {
        let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let is_crd = document.get("webhooks").is_none();
        let stanzas: Vec<(String, ClientStanza)> = pointers(document)
            .into_iter()
            .filter_map(|at| Some((at.clone(), ClientStanza::of_config(document.pointer(&at)?)?)))
            .filter(|(_, stanza)| stanza.place.is_of(to))
            .collect();
        let name = text("/metadata/name");
        let has = |name: &&&str| document.pointer("/metadata/annotations").is_some_and(|all| all.get(**name).is_some());
        (!stanzas.is_empty()).then(|| Self {
            named: Trusting { document: format!("{kind} {name}"), is_crd },
            path: format!("{collection}/{name}"),
            resource_version: text("/metadata/resourceVersion").to_owned(),
            injected: INJECTED.iter().find(has).copied(),
            probe: is_crd.then(|| nothing(text("/spec/group"), text("/spec/versions/0/name"))),
            stanzas,
        })
    }

    /// The current document, if it still refers to the server.
    pub(super) async fn again(&self, cluster: &Cluster, to: &WebhookPlace) -> Result<Option<Self>, CallError> {
        let document = cluster.get(&self.path).await?;
        let (collection, _) = self.path.rsplit_once('/').unwrap_or_default();
        let (kind, _) = self.named.document.split_once(' ').unwrap_or_default();
        Ok(Self::of(kind, collection, &document, to))
    }

    /// Its parsed `clientConfig`s.
    pub(super) fn stanzas(&self) -> impl Iterator<Item = &ClientStanza> {
        self.stanzas.iter().map(|(_, stanza)| stanza)
    }

    /// The reason why its bundles cannot be changed.
    pub(super) fn problem(&self) -> Option<String> {
        self.stanzas().any(|stanza| stanza.authorities.is_none()).then(|| {
            format!(
                "{} has no caBundle, so the API server trusts public authorities. A caBundle would end this: \
                     first set the caBundle to the authority of the current certificate",
                self.named.document
            )
        })
    }

    /// True if each bundle contains all of these.
    pub(super) fn trusts(&self, wanted: &Authorities) -> bool {
        self.bundles().all(|bundle| bundle.hold(wanted))
    }

    /// True if a bundle contains others.
    pub(super) fn trusts_others(&self, wanted: &Authorities) -> bool {
        self.bundles().any(|bundle| !wanted.hold(&bundle))
    }

    /// The union of its bundles.
    pub(super) fn all(&self) -> Option<Authorities> {
        self.bundles().reduce(|all, bundle| if all.hold(&bundle) { all } else { all.and(&bundle) })
    }

    fn bundles(&self) -> impl Iterator<Item = Authorities> {
        self.stanzas().filter_map(|stanza| stanza.authorities.as_deref().map(Authorities::in_bundle))
    }

    /// A JSON patch that adds these to the trusted authorities, with a precondition on the document.
    pub(super) fn with(&self, wanted: &Authorities) -> Value {
        self.patch(|now| if now.hold(wanted) { now } else { now.and(wanted) })
    }

    /// A JSON patch that trusts only these.
    pub(super) fn only(&self, wanted: &Authorities) -> Value {
        self.patch(|_| wanted.clone())
    }

    fn patch(&self, replaces: impl Fn(Authorities) -> Authorities) -> Value {
        let seen = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": self.resource_version});
        let mut patch = vec![seen];
        let own = self.injected.map(|name| format!("/metadata/annotations/{}", pointer_token(name)));
        patch.extend(own.map(|path| json!({"op": "remove", "path": path})));
        for (at, stanza) in &self.stanzas {
            let Some(now) = stanza.authorities.as_deref().map(Authorities::in_bundle) else { continue };
            patch.push(json!({"op": "replace", "path": format!("{at}/caBundle"), "value": replaces(now).bundle()}));
        }
        Value::Array(patch)
    }
}

/// A review without an object.
fn nothing(group: &str, version: &str) -> Probe {
    let request = json!({"uid": "pointsman-rotate", "desiredAPIVersion": format!("{group}/{version}"), "objects": []});
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
    Probe { to: version.to_owned(), review, converted: json!([]) }
}

/// JSON pointers of the `clientConfig`s.
fn pointers(document: &Value) -> Vec<String> {
    let webhooks = document.get("webhooks").and_then(Value::as_array).map_or(0, Vec::len);
    let conversion = "/spec/conversion/webhook/clientConfig".to_owned();
    (0..webhooks).map(|at| format!("/webhooks/{at}/clientConfig")).chain([conversion]).collect()
}

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// The annotations by which cert-manager injects a bundle (<https://cert-manager.io/docs/concepts/ca-injector/>).
const INJECTED: [&str; 3] =
    ["cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca"];

/// CRDs have up to a megabyte each.
const PAGE: u32 = 20;

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn authority(name: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(name))
    }

    fn to() -> WebhookPlace {
        WebhookPlace::Service { namespace: "n".to_owned(), name: "us".to_owned(), port: 443 }
    }

    fn webhooks(annotations: &Value) -> Option<TrustingDocument> {
        let bundle = STANDARD.encode(authority("old"));
        let client = |name: &str, port: u16| {
            let service = json!({"namespace": "n", "name": name, "port": port, "path": "/validate"});
            json!({"clientConfig": {"caBundle": bundle, "service": service}})
        };
        let metadata = json!({"name": "w", "resourceVersion": "7", "annotations": annotations});
        let document = json!({"metadata": metadata, "webhooks": [client("them", 443), client("us", 8443)]});
        TrustingDocument::of("ValidatingWebhookConfiguration", "/c", &document, &to())
    }

    #[test]
    fn foreign_fields_are_kept() {
        let (old, new) = (Authorities::of(authority("old").as_bytes()), Authorities::of(authority("new").as_bytes()));
        let (old, new) = (old.unwrap(), new.unwrap());
        let found = webhooks(&json!({})).unwrap();
        assert_eq!((found.path.as_str(), found.injected, found.problem()), ("/c/w", None, None));
        assert!(!found.trusts(&new) && found.trusts_others(&new) && !found.trusts_others(&old));
        let seen = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"});
        let bundle =
            |value: String| json!({"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": value});
        assert_eq!(found.with(&new), json!([seen, bundle(old.and(&new).bundle())]));
        assert_eq!(found.only(&new), json!([seen, bundle(new.bundle())]));
        let injected = webhooks(&json!({"cert-manager.io/inject-ca-from": "n/c"})).unwrap();
        assert_eq!(injected.injected, Some("cert-manager.io/inject-ca-from"));
        assert_eq!(injected.only(&new)[1]["path"], "/metadata/annotations/cert-manager.io~1inject-ca-from");
    }

    #[test]
    fn missing_bundle_stays_damaged_is_repaired() {
        let crd = |config: Value| {
            let conversion = json!({"strategy": "Webhook", "webhook": {"clientConfig": config}});
            let document = json!({"metadata": {"name": "ws.e.com"}, "spec": {"conversion": conversion}});
            TrustingDocument::of("CustomResourceDefinition", "/c", &document, &to())
        };
        let service = json!({"namespace": "n", "name": "us"});
        let problem = |config: Value| crd(config).unwrap().problem().unwrap_or_default();
        assert!(problem(json!({"service": service})).contains("has no caBundle"));
        // An invalid bundle trusts no server: any change is an improvement.
        let garbage = crd(json!({"service": service, "caBundle": "AAAA"})).unwrap();
        let new = Authorities::of(authority("new").as_bytes()).unwrap();
        assert_eq!((garbage.problem(), garbage.trusts(&new)), (None, false));
        assert_eq!(garbage.with(&new)[1]["value"], new.bundle());
        assert!(crd(json!({"service": {"namespace": "n", "name": "them"}})).is_none());
        assert!(crd(json!({"url": "https://us.n.svc/convert"})).is_none());
    }
}
