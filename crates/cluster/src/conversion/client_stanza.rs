//! The `clientConfig` of a webhook.

use serde_json::Value;

use crate::bundle_faults::decoded;

/// `spec.conversion.webhook.clientConfig`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClientStanza {
    pub(crate) place: WebhookPlace,
    pub(crate) path: String,
    /// PEM; `None` until cert-manager has injected it.
    pub(crate) authorities: Option<Vec<u8>>,
}

/// The server that the API server calls.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum WebhookPlace {
    Service { namespace: String, name: String, port: u16 },
    Url { host: String, port: u16 },
}

impl ClientStanza {
    /// From a CRD with a conversion webhook.
    pub(crate) fn of(crd: &Value) -> Option<Self> {
        Self::of_config(client_config(crd)?)
    }

    /// From a `clientConfig` of a CRD or of a webhook configuration.
    pub(crate) fn of_config(config: &Value) -> Option<Self> {
        let bundle = config.get("caBundle").and_then(Value::as_str).filter(|text| !text.is_empty());
        let authorities = bundle.and_then(decoded);
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        if let Some(service) = config.get("service") {
            let port = service.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
            let (namespace, name) = (text(service, "namespace")?, text(service, "name")?);
            let place = WebhookPlace::Service { namespace, name, port: port.unwrap_or(HTTPS) };
            return Some(Self { place, path: text(service, "path").unwrap_or_default(), authorities });
        }
        let uri: http::Uri = text(config, "url")?.parse().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']).to_owned();
        let place = WebhookPlace::Url { host, port: uri.port_u16().unwrap_or(HTTPS) };
        Some(Self { place, path: uri.path().to_owned(), authorities })
    }

    /// The name that the certificate must have.
    pub(crate) fn server_name(&self) -> String {
        match &self.place {
            WebhookPlace::Service { namespace, name, .. } => format!("{name}.{namespace}.svc"),
            WebhookPlace::Url { host, .. } => host.clone(),
        }
    }
}

/// The `clientConfig` of a CRD.
pub(crate) fn client_config(crd: &Value) -> Option<&Value> {
    crd.pointer("/spec/conversion/webhook/clientConfig")
}

impl WebhookPlace {
    /// True for the same server: a Service has one certificate, at any port.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Service { namespace, name, .. }, Self::Service { namespace: theirs, name: other, .. }) => {
                (namespace, name) == (theirs, other)
            }
            _ => self == other,
        }
    }
}

impl std::fmt::Display for WebhookPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Service { namespace, name, port } => write!(f, "Service {namespace}/{name}:{port}"),
            Self::Url { host, port } => write!(f, "https://{host}:{port}"),
        }
    }
}

/// The default port.
const HTTPS: u16 = 443;
