//! The address of the webhooks for the API server.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::names::dashed;
use crate::apimachinery::{is_dns_label, is_dns_subdomain, is_service_name};
use crate::webhook::ControllerVersion;

/// An invalid webhook address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAddress {
    /// No valid `namespace/name`.
    #[error("write namespace/name, in lower case")]
    Name,
    /// The port is not between 1 and 65535.
    #[error("{port:?} is no port")]
    Port {
        /// The invalid text.
        port: String,
    },
    /// The name is invalid for a Service.
    #[error(
        "{name:?} ({} characters) is no name of a Service: a name begins with a lower-case letter and has at \
             most 63 lower-case letters, digits and dashes, and no dot",
        .name.len()
    )]
    ServiceName {
        /// The name, including the controller version.
        name: String,
    },
    /// The name is invalid for a host.
    #[error("{host:?} is not a valid host name (at most 253 characters, 63 per label)")]
    Host {
        /// The name, including the controller version.
        host: String,
    },
    /// The scheme is not https.
    #[error("the API server calls https:// only")]
    Scheme,
    /// The URL has no host, or parts other than host, port and path.
    #[error("the API server accepts a host, a port and a path only")]
    Url,
}

/// A namespaced object, as `namespace/name`.
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
    /// The user name of the service account with this name.
    pub fn as_service_account(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A Service, as `namespace/name:port`. The port defaults to 443.
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
    /// Parses a Service for each controller version: `{version}` in its name stands for the version, with dashes.
    ///
    /// # Errors
    /// As for any other Service.
    pub fn per_version(text: &str) -> Result<Self, BadAddress> {
        // The length of the version is checked once the version is known.
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

/// An `https://` URL of a host, with an optional port and path. `{version}` stands for the controller version, with
/// dashes.
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
    /// Returns whether there is a path.
    fn has_path(&self) -> bool {
        // After the two slashes of the scheme.
        self.0.splitn(4, '/').nth(3).is_some_and(|path| !path.is_empty())
    }
}

/// The address of a webhook.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// A Service in the cluster.
    Service(Service),
    /// Any other address.
    Url(Url),
}

impl Address {
    /// Returns whether each controller version has its own address.
    #[must_use]
    pub fn is_per_version(&self) -> bool {
        match self {
            Self::Service(service) => service.name.name.contains(VERSION),
            Self::Url(url) => url.0.contains(VERSION),
        }
    }

    /// Checks the address for a controller version.
    ///
    /// # Errors
    /// The address with this version is no valid Service or host name.
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
                // An IPv6 address is in brackets and has no labels.
                let host = if host.starts_with('[') { "" } else { host.split(':').next().unwrap_or_default() };
                let is_short = host.len() <= 253 && host.split('.').all(|part| part.len() <= 63);
                if is_short { Ok(()) } else { Err(BadAddress::Host { host: host.to_owned() }) }
            }
        }
    }

    /// The address of the conversion webhook, which all controller versions share. A URL may contain its own path.
    pub(super) fn for_conversion(&self) -> Value {
        match self {
            Self::Url(url) if url.has_path() => json!({"url": url.0}),
            _ => self.at("/convert", str::to_owned),
        }
    }

    /// The address of an admission webhook of a controller version.
    pub(super) fn for_version(&self, version: &ControllerVersion, path: &str) -> Value {
        self.at(path, |text| text.replace(VERSION, &dashed(version)))
    }

    /// The address of the webhook for mutations, which have no controller version.
    pub(super) fn for_mutations(&self, path: &str) -> Value {
        self.at(path, str::to_owned)
    }

    /// The namespace of the Service, if the address is one.
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

/// The placeholder for the controller version in an address.
const VERSION: &str = "{version}";
