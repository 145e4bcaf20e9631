//! Addresses of HTTP checks. Their path and query may contain the versions of a rollout.

use std::fmt;

use super::address::{BadHttpAddress, HttpAddress};
use super::quotation::quoted_in_address;
use crate::definition::rollout_versions::{RolloutVersions, with_any_versions};
use pointsman_core::definition::version_words::{KNOWN, is_version, near_version, words};

/// An address with `{from}` and `{to}` in its path or query. The host is fixed, so that the author of a StagedRollout
/// cannot direct requests to other hosts.
#[derive(Clone)]
pub(crate) struct AddressTemplate {
    base: HttpAddress,
    target: String,
}

impl AddressTemplate {
    /// Parses an address, or returns the error message. The message never contains the address, which may contain a
    /// password.
    pub(in crate::definition::checks) fn parse(text: &str) -> Result<Self, String> {
        let whole = with_any_versions(text);
        let error_text = |bad: BadHttpAddress| match words(text).find(|word| !is_version(word)) {
            Some(word) if bad == BadHttpAddress::Character => {
                let hint = near_version(word);
                format!("unknown placeholder in braces{hint}. {KNOWN}; write a literal brace as %7B")
            }
            _ => bad.to_string(),
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| BadHttpAddress::Scheme.to_string())?;
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if let Some(word) = words(authority).find(|word| is_version(word) && !authority.contains('@')) {
            return Err(format!(
                "{{{word}}} is in the host or the port, and a StagedRollout must not change the target host: \
                     move the variable behind the first / of the address"
            ));
        }
        whole.parse::<HttpAddress>().map_err(error_text)?;
        let base: HttpAddress = format!("{scheme}://{authority}").parse().map_err(error_text)?;
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Self { base, target })
    }

    /// The address for a rollout. Each version is one encoded value, with any content.
    pub(crate) fn filled(&self, versions: RolloutVersions<'_>) -> HttpAddress {
        self.base.below(&versions.filled_as(&self.target, quoted_in_address))
    }

    /// Returns whether the address contains a placeholder.
    pub(in crate::definition::checks) fn mentions(&self, word: &str) -> bool {
        words(&self.target).any(|it| it == word)
    }
}

/// Omits the query, as for an address.
impl fmt::Debug for AddressTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.base.below(&self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointsman_core::laws::Random;

    fn filled(text: &str, to: &str) -> String {
        let versions = RolloutVersions { from: Some("v1.16.4"), to };
        AddressTemplate::parse(text).unwrap().filled(versions).target().to_owned()
    }

    #[test]
    fn version_is_one_url_value() {
        for (text, to, wanted) in [
            ("http://a", "v1.17.1", "/"),
            ("http://a?", "v1.17.1", "/?"),
            ("http://a/ok", "v1.17.1", "/ok"),
            ("http://a:9001/v2/kube-apiserver/manifests/{to}", "v1.17.1", "/v2/kube-apiserver/manifests/v1.17.1"),
            ("https://a?from={from}&to={to}", "v1.17.1", "/?from=v1.16.4&to=v1.17.1"),
            ("http://a/x-{to}.y/{to}", "1_0~a", "/x-1_0~a.y/1_0~a"),
            ("http://a/{to}?b={to}", "a/b?c&d=%2e #e", "/a%2Fb%3Fc%26d%3D%252e%20%23e?b=a%2Fb%3Fc%26d%3D%252e%20%23e"),
            ("http://a/{to}", "\u{e9}\r\nHost: b", "/%C3%A9%0D%0AHost%3A%20b"),
        ] {
            assert_eq!(filled(text, to), wanted, "{text}");
        }
    }

    #[test]
    fn unexpected_placeholders_are_refused() {
        let host = "is in the host or the port, and a StagedRollout must not change the target host";
        for (text, error_text) in [
            ("http://{to}/ok", host),
            ("http://a-{from}.example.com", host),
            ("http://a:{to}/ok", host),
            ("http://{secret}/ok", "unknown placeholder in braces. Known variables: {from} and {to}"),
            ("{to}://a/ok", "an address must begin with http:// or https://"),
            ("http://a/{to}?token={secret}", "unknown placeholder in braces. Known variables: {from} and {to}"),
            (
                "http://a/{form}",
                "unknown placeholder in braces, did you mean \"from\"?. Known variables: {from} and {to}",
            ),
            ("http://a/{ to}", "the address contains an invalid character"),
            ("http://a/{to", "the address contains an invalid character"),
            ("http://a/{to}#b", "the address contains an invalid character"),
            ("http://amy:{to}@a/ok", "an address must not contain a user or a password"),
        ] {
            let bad = AddressTemplate::parse(text).unwrap_err();
            assert!(bad.contains(error_text) && !bad.contains("secret"), "{text}: {bad}");
        }
    }

    /// For any version, the address has the same host and the same parts, and each part contains the version.
    #[test]
    fn version_cannot_change_the_host() {
        const SIGNS: [char; 16] =
            ['a', '1', '.', '/', '?', '&', '=', '#', '%', '@', ':', '\\', ' ', '\n', '{', '\u{e9}'];
        let mut random = Random::new(12);
        for _ in 0..2_000 {
            let to: String = (0..random.below(8)).filter_map(|_| random.pick(&SIGNS)).collect();
            let template = AddressTemplate::parse("https://a.b:9/x/{to}/y?q=z-{to}&r=1").unwrap();
            let address = template.filled(RolloutVersions { from: None, to: &to });
            assert_eq!((address.authority(), address.is_https()), ("a.b:9", true));
            let whole: HttpAddress = format!("https://a.b:9{}", address.target()).parse().unwrap();
            assert_eq!(whole, address, "{to:?}");
            let (path, query) = address.target().split_once('?').unwrap();
            let parts: Vec<String> = path.split('/').chain(query.split('&')).map(unquoted).collect();
            assert_eq!(parts, ["", "x", &to, "y", &format!("q=z-{to}"), "r=1"], "{to:?}");
        }
    }

    /// Decodes as a server does (RFC 3986, 2.1).
    fn unquoted(text: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte == b'%' {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            } else {
                bytes.push(byte);
            }
        }
        String::from_utf8(bytes).unwrap()
    }
}
