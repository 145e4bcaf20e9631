//! HTTP addresses. Accepts only unambiguous addresses without user and password, because messages contain the address.

use std::fmt;
use std::str::FromStr;

/// An `http://` or `https://` address.
#[derive(Clone, Eq, PartialEq)]
pub struct HttpAddress {
    is_https: bool,
    /// Host and port, as written.
    authority: String,
    host: String,
    port: u16,
    /// Path and query.
    target: String,
}

/// Why a text is no valid address. Never contains the text, which may contain a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadHttpAddress {
    /// Another scheme, or none.
    #[error("an address must begin with http:// or https://")]
    Scheme,
    /// A user name, and possibly a password.
    #[error(
        "an address must not contain a user or a password (USER:PASSWORD@): every reader of the definition would \
         see both"
    )]
    UserInfo,
    /// No host, or an invalid host.
    #[error("the address names no host: write http://HOST, http://HOST:PORT or http://[IPV6]:PORT")]
    Host,
    /// The port is invalid.
    #[error("the port of the address is not between 1 and 65535")]
    Port,
    /// A character that is ambiguous, or never sent.
    #[error("the address contains an invalid character or a fragment (#): write special characters as %20")]
    Character,
}

impl FromStr for HttpAddress {
    type Err = BadHttpAddress;

    fn from_str(text: &str) -> Result<Self, BadHttpAddress> {
        let (is_https, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(BadHttpAddress::Scheme),
        };
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(BadHttpAddress::UserInfo);
        }
        if !rest.chars().all(|sign| sign.is_ascii_alphanumeric() || SIGNS.contains(sign)) {
            return Err(BadHttpAddress::Character);
        }
        let (host, port) = host_and_port(authority)?;
        let usual = if is_https { 443 } else { 80 };
        Ok(Self {
            is_https,
            authority: authority.to_owned(),
            host: host.to_owned(),
            port: port.unwrap_or(usual),
            target: if target.starts_with('/') { target.to_owned() } else { format!("/{target}") },
        })
    }
}

/// The host, without the brackets of an IPv6 address, and the port, if present.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), BadHttpAddress> {
    let (host, rest, is_host): (_, _, fn(char) -> bool) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']').ok_or(BadHttpAddress::Host)?;
            (host, rest, |sign| sign.is_ascii_hexdigit() || sign == ':' || sign == '.')
        }
        None => {
            let (host, rest) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            (host, rest, |sign| sign.is_ascii_alphanumeric() || sign == '-' || sign == '.' || sign == '_')
        }
    };
    if host.is_empty() || host.len() > LONGEST_HOST || !host.chars().all(is_host) {
        return Err(BadHttpAddress::Host);
    }
    let port = match rest.strip_prefix(':') {
        Some(port) => {
            let digits = port.chars().all(|sign| sign.is_ascii_digit());
            Some(port.parse().ok().filter(|port| digits && *port > 0).ok_or(BadHttpAddress::Port)?)
        }
        None if rest.is_empty() => None,
        None => return Err(BadHttpAddress::Host),
    };
    Ok((host, port))
}

impl HttpAddress {
    /// Returns whether the connection uses TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// The host to connect to: a name or an IP address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, or the default port of the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of the `Host` header.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns whether there is a query.
    #[must_use]
    pub fn has_query(&self) -> bool {
        self.target.contains('?')
    }

    /// The address with this path and query appended, both already encoded.
    #[must_use]
    pub fn below(&self, target: &str) -> Self {
        Self { target: format!("{}{target}", self.target.trim_end_matches('/')), ..self.clone() }
    }
}

/// Omits the query, which may contain a password.
impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_https { "https" } else { "http" };
        let (path, more) = match self.target.split_once('?') {
            Some((path, _)) => (path, "?…"),
            None => (self.target.as_str(), ""),
        };
        write!(f, "{scheme}://{}{path}{more}", self.authority)
    }
}

/// Omits the query as well, because debug output may be logged.
impl fmt::Debug for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The valid characters other than letters and digits (RFC 3986, 2.2 and 2.3). Excludes `#`, because fragments are
/// never sent.
const SIGNS: &str = "-._~:/?[]@!$&'()*+,;=%";

/// The maximum length of a host name (RFC 1035, 2.3.4).
const LONGEST_HOST: usize = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_one_way() {
        let read = |text: &str| {
            let address: HttpAddress = text.parse().unwrap();
            let HttpAddress { is_https, authority, host, port, target } = address.clone();
            (is_https, authority, host, port, target, address.to_string())
        };
        let of = |is_https, authority: &str, host: &str, port, target: &str, shown: &str| {
            (is_https, authority.to_owned(), host.to_owned(), port, target.to_owned(), shown.to_owned())
        };
        for (text, wanted) in [
            (
                "http://prometheus:9090",
                of(false, "prometheus:9090", "prometheus", 9090, "/", "http://prometheus:9090/"),
            ),
            ("https://a.b/c/?x=1", of(true, "a.b", "a.b", 443, "/c/?x=1", "https://a.b/c/?…")),
            ("http://[fd00::1]:80/@", of(false, "[fd00::1]:80", "fd00::1", 80, "/@", "http://[fd00::1]:80/@")),
            ("http://10.0.0.1?a", of(false, "10.0.0.1", "10.0.0.1", 80, "/?a", "http://10.0.0.1/?…")),
        ] {
            assert_eq!(read(text), wanted);
        }
        let base: HttpAddress = "http://p:9090/metrics/".parse().unwrap();
        assert_eq!(base.below("/api/v1/query?query=up").target(), "/metrics/api/v1/query?query=up");
        assert!(!base.has_query() && base.below("/a?b").has_query());
    }

    #[test]
    fn invalid_address_is_not_echoed() {
        for (text, why) in [
            ("prometheus:9090", BadHttpAddress::Scheme),
            ("HTTP://a", BadHttpAddress::Scheme),
            ("ftp://amy:secret@a", BadHttpAddress::Scheme),
            ("http://amy:secret@a", BadHttpAddress::UserInfo),
            ("https://amy@a/b", BadHttpAddress::UserInfo),
            // A parser that reads up to the last `@` would send a password. Other parsers would connect to `amy`.
            ("http://amy:secret/@a", BadHttpAddress::Port),
            ("http://amy\\@a", BadHttpAddress::UserInfo),
            ("http://a\\b", BadHttpAddress::Character),
            ("http://a/b#c", BadHttpAddress::Character),
            ("http://a/b c", BadHttpAddress::Character),
            ("http://a/\u{e9}", BadHttpAddress::Character),
            ("http://a/\r\nHost: b", BadHttpAddress::Character),
            ("http://", BadHttpAddress::Host),
            ("http:///a", BadHttpAddress::Host),
            ("http://:80", BadHttpAddress::Host),
            ("http://[::1", BadHttpAddress::Host),
            ("http://[::1]80", BadHttpAddress::Host),
            ("http://[a.example]", BadHttpAddress::Host),
            ("http://a,b", BadHttpAddress::Host),
            ("http://a:", BadHttpAddress::Port),
            ("http://a:0", BadHttpAddress::Port),
            ("http://a:+80", BadHttpAddress::Port),
            ("http://a:65536", BadHttpAddress::Port),
        ] {
            assert_eq!(text.parse::<HttpAddress>(), Err(why), "{text}");
            assert!(!why.to_string().contains("secret"), "{why}");
        }
        assert_eq!(format!("http://{}", "a".repeat(254)).parse::<HttpAddress>(), Err(BadHttpAddress::Host));
    }
}
