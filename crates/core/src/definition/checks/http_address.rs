//! Addresses that are asked by HTTP. What is taken can be read in one way only, and holds neither user nor password:
//! messages name the address.

use std::fmt;
use std::str::FromStr;

/// An `http://` or `https://` address.
#[derive(Clone, Eq, PartialEq)]
pub struct HttpAddress {
    is_https: bool,
    /// Host and port, as they are written.
    authority: String,
    host: String,
    port: u16,
    /// What is asked for there: path and query.
    target: String,
}

/// Why a text is no such address. It is never repeated: it may hold a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadHttpAddress {
    /// Another scheme, or none.
    #[error("an address begins with http:// or https://")]
    Scheme,
    /// Somebody's name, and maybe a password.
    #[error("an address with a user or a password in it (USER:PASSWORD@) is not taken: everybody reads it here")]
    UserInfo,
    /// No host, or something that is none.
    #[error("the address names no host: write http://HOST, http://HOST:PORT or http://[IPV6]:PORT")]
    Host,
    /// What is behind the colon is no port.
    #[error("the port of the address is not between 1 and 65535")]
    Port,
    /// A character that is read in several ways, or never sent.
    #[error("the address holds a character that no address has, or a fragment (#): write characters as %20")]
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

/// The host, without the brackets of an IPv6 address, and the port, where one is named.
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
    /// Whether it is asked over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Whom to connect to: a name or an IP address.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, which is the usual one where none is named.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// As the header `Host` has it.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether there is something behind the path.
    #[must_use]
    pub fn has_query(&self) -> bool {
        self.target.contains('?')
    }

    /// What is below it, at this path and query, both already written as addresses have them.
    #[must_use]
    pub fn below(&self, target: &str) -> Self {
        Self { target: format!("{}{target}", self.target.trim_end_matches('/')), ..self.clone() }
    }
}

/// Without what stands behind a `?`: some servers are given a password there.
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

/// The same: what is printed in a hurry ends in logs as well.
impl fmt::Debug for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What an address has beside letters and digits (RFC 3986, 2.2 and 2.3), but for `#`: fragments are never sent.
const SIGNS: &str = "-._~:/?[]@!$&'()*+,;=%";

/// As long as a name may be (RFC 1035, 2.3.4).
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
            // Whoever reads on to the last `@` would send a password, and whoever does not would ask `amy`.
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
