//! Where a CRD says that its webhook is.

use serde_json::Value;

use crate::bundle_faults::decoded;

/// `spec.conversion.webhook.clientConfig`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClientStanza {
    pub(crate) place: WebhookPlace,
    pub(crate) path: String,
    /// PEM; what cert-manager has yet to write is not there.
    pub(crate) authorities: Option<Vec<u8>>,
}

/// Whom the API server calls.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum WebhookPlace {
    Service { namespace: String, name: String, port: u16 },
    Url { host: String, port: u16 },
}

impl ClientStanza {
    /// The stanza of a CRD that is converted by a webhook.
    pub(crate) fn of(crd: &Value) -> Option<Self> {
        Self::of_config(client_config(crd)?)
    }

    /// A `clientConfig`, of a CRD or of a webhook configuration.
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

    /// The name that its certificate must have.
    pub(crate) fn server_name(&self) -> String {
        match &self.place {
            WebhookPlace::Service { namespace, name, .. } => format!("{name}.{namespace}.svc"),
            WebhookPlace::Url { host, .. } => host.clone(),
        }
    }
}

/// Where a CRD says how its webhook is called.
pub(crate) fn client_config(crd: &Value) -> Option<&Value> {
    crd.pointer("/spec/conversion/webhook/clientConfig")
}

impl WebhookPlace {
    /// Whether it is the same server: behind one Service, that has one certificate at whatever port.
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

/// The port, where none is said.
const HTTPS: u16 = 443;
