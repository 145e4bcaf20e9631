//! Where the API server finds the webhooks.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::names::dashed;
use crate::apimachinery::{is_dns_label, is_dns_subdomain, is_service_name};
use crate::webhook::ControllerVersion;

/// A text that is no address the API server could call.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAddress {
    /// Not the name of an object in a namespace.
    #[error("write it as namespace/name, in lower case")]
    Name,
    /// What is behind the colon is not between 1 and 65535.
    #[error("{port:?} is no port")]
    Port {
        /// What is there.
        port: String,
    },
    /// No Service can have the name.
    #[error(
        "{name:?} ({} characters) is no name of a Service: that begins with a lower-case letter and has at most 63 \
         lower-case letters, digits and dashes, and no dot",
        .name.len()
    )]
    ServiceName {
        /// The name, with the controller version in it.
        name: String,
    },
    /// No host can have the name.
    #[error("{host:?} is not a valid host name (at most 253 characters, 63 per label)")]
    Host {
        /// The name, with the controller version in it.
        host: String,
    },
    /// Another scheme than https, or none.
    #[error("the API server calls https:// only")]
    Scheme,
    /// No host, or more than a host, a port and a path.
    #[error("the API server takes a host, a port and a path only")]
    Url,
}

/// An object in a namespace, as `namespace/name`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamespacedName {
    namespace: String,
    name: String,
}

impl FromStr for NamespacedName {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        match text.split_once('/') {
            Some((namespace, name)) if is_dns_label(namespace) && is_dns_subdomain(name) => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(BadAddress::Name),
        }
    }
}

impl NamespacedName {
    /// As whom a service account of that name asks.
    pub(super) fn as_service_account(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A Service, as `namespace/name:port`; the port is 443 if none is given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Service {
    name: NamespacedName,
    port: u16,
}

impl FromStr for Service {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        Self::read(text, str::to_owned)
    }
}

impl Service {
    /// Reads a Service for each controller version: `{version}` in its name stands for the version, with dashes.
    ///
    /// # Errors
    /// As for any other Service.
    pub fn per_version(text: &str) -> Result<Self, BadAddress> {
        // Whether a version fits there is known when there is one.
        Self::read(text, |name| name.replace(VERSION, "v"))
    }

    fn read(text: &str, plain: impl Fn(&str) -> String) -> Result<Self, BadAddress> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => {
                let number = port.parse().ok().filter(|port| *port > 0);
                (name, number.ok_or_else(|| BadAddress::Port { port: port.to_owned() })?)
            }
            None => (text, 443),
        };
        let (namespace, name) = name.split_once('/').ok_or(BadAddress::Name)?;
        if !is_dns_label(namespace) || name.is_empty() || name.contains(|sign: char| sign.is_uppercase() || sign == '/')
        {
            return Err(BadAddress::Name);
        }
        if !is_service_name(&plain(name)) {
            return Err(BadAddress::ServiceName { name: name.to_owned() });
        }
        Ok(Self { name: NamespacedName { namespace: namespace.to_owned(), name: name.to_owned() }, port })
    }
}

/// An `https://` URL of a host, with or without a port and a path. `{version}` in it stands for the controller version,
/// with dashes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Url(String);

impl FromStr for Url {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let rest = text.strip_prefix("https://").ok_or(BadAddress::Scheme)?;
        let has_host = !rest.is_empty() && !rest.starts_with('/');
        if !has_host || text.contains(['@', '?', '#']) || text.contains(char::is_whitespace) {
            return Err(BadAddress::Url);
        }
        Ok(Self(text.to_owned()))
    }
}

impl Url {
    /// Whether there is more than a host and a port.
    fn has_path(&self) -> bool {
        // After the scheme's two slashes.
        self.0.splitn(4, '/').nth(3).is_some_and(|path| !path.is_empty())
    }
}

/// How the API server reaches a webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// A Service in the cluster.
    Service(Service),
    /// An address of any other kind.
    Url(Url),
}

impl Address {
    /// Whether each controller version has an address of its own.
    #[must_use]
    pub fn is_per_version(&self) -> bool {
        match self {
            Self::Service(service) => service.name.name.contains(VERSION),
            Self::Url(url) => url.0.contains(VERSION),
        }
    }

    /// Checks that there can be such a thing for a controller version.
    ///
    /// # Errors
    /// With the version in it, no Service or host can be called so.
    pub fn check_for(&self, version: &ControllerVersion) -> Result<(), BadAddress> {
        let named = |text: &str| text.replace(VERSION, &dashed(version));
        match self {
            Self::Service(Service { name: NamespacedName { name, .. }, .. }) => {
                let name = named(name);
                if is_service_name(&name) { Ok(()) } else { Err(BadAddress::ServiceName { name }) }
            }
            Self::Url(Url(url)) => {
                let url = named(url);
                let host = url.split('/').nth(2).unwrap_or_default();
                // An IPv6 address is in brackets, and has no parts.
                let host = if host.starts_with('[') { "" } else { host.split(':').next().unwrap_or_default() };
                let is_short = host.len() <= 253 && host.split('.').all(|part| part.len() <= 63);
                if is_short { Ok(()) } else { Err(BadAddress::Host { host: host.to_owned() }) }
            }
        }
    }

    /// For the conversion webhook, which all controller versions share. A URL may name a path of its own.
    pub(super) fn for_conversion(&self) -> Value {
        match self {
            Self::Url(url) if url.has_path() => json!({"url": url.0}),
            _ => self.at("/convert", str::to_owned),
        }
    }

    /// For an admission webhook of a controller version.
    pub(super) fn for_version(&self, version: &ControllerVersion, path: &str) -> Value {
        self.at(path, |text| text.replace(VERSION, &dashed(version)))
    }

    /// For the webhook of stages, which have no controller version.
    pub(super) fn for_mutations(&self, path: &str) -> Value {
        self.at(path, str::to_owned)
    }

    /// The namespace of its Service, where it is behind one.
    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Service(service) => Some(&service.name.namespace),
            Self::Url(_) => None,
        }
    }

    fn at(&self, path: &str, named: impl Fn(&str) -> String) -> Value {
        match self {
            Self::Service(Service { name: NamespacedName { namespace, name }, port }) => {
                json!({"service": {"namespace": namespace, "name": named(name), "port": port, "path": path}})
            }
            Self::Url(Url(url)) => {
                json!({"url": format!("{}{path}", named(url).trim_end_matches('/'))})
            }
        }
    }
}

/// What stands for the controller version in an address.
const VERSION: &str = "{version}";
