//! Where the API server finds the webhook, as flags say it.

use std::str::FromStr;

/// A Service, as `namespace/name:port`.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Service {
    pub(in crate::commands) namespace: String,
    pub(in crate::commands) name: String,
    pub(in crate::commands) port: u16,
}

impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, port) = match text.rsplit_once(':') {
            Some((path, port)) => (
                path,
                port.parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| format!("{port:?} is no port"))?,
            ),
            None => (text, 443),
        };
        match namespaced(path)?.split_once('/') {
            Some((namespace, name)) => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned(), port })
            }
            None => Err("write it as namespace/name".to_owned()),
        }
    }
}

/// `namespace/name`.
pub(in crate::commands) fn namespaced(text: &str) -> Result<String, String> {
    let label = |text: &str| {
        let inside =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        !text.is_empty() && text.chars().all(inside)
    };
    match text.split_once('/') {
        Some((namespace, name)) if label(namespace) && label(name) => Ok(text.to_owned()),
        _ => Err("write it as namespace/name, in lower case".to_owned()),
    }
}

/// An address that the API server takes, with a path.
pub(super) fn url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").ok_or("the API server calls https:// only")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || text.contains(['@', '?', '#']) || text.contains(char::is_whitespace) {
        return Err("the API server takes a host, a port and a path only".to_owned());
    }
    let path = if path.is_empty() { "convert" } else { path };
    Ok(format!("https://{host}/{path}"))
}
