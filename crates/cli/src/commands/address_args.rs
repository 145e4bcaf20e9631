//! Flags for the address of a server.

use std::net::Ipv6Addr;

use clap::Args;
use pointsman_core::registration::{Address, Service, Url};

/// A server.
#[derive(Args, Debug)]
pub(crate) struct AddressArgs {
    /// Service of the webhook. The port defaults to 443.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", required_unless_present = "url")]
    service: Option<Service>,
    /// URL of the webhook, if it has no Service. The default path is /convert.
    #[arg(long, value_name = "URL", conflicts_with = "service")]
    url: Option<Url>,
}

impl AddressArgs {
    /// The address. clap requires one of the flags.
    pub(crate) fn address(&self) -> Option<Address> {
        self.service.clone().map(Address::Service).or_else(|| self.url.clone().map(Address::Url))
    }
}

/// Parses `HOST:PORT`. The host may be an IP address. IPv6 addresses need brackets.
pub(crate) fn host_and_port(text: &str) -> Result<String, &'static str> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', '@', '[', ']']) && !host.contains(char::is_whitespace),
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if is_host && is_number => Ok(text.to_owned()),
        _ => Err("write a host and a port, like localhost:8443 or [::1]:8443"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_has_host_and_port() {
        for good in ["localhost:8443", "10.0.0.1:1", "[::1]:8443", "pointsman.pointsman-system.svc:65535"] {
            assert_eq!(host_and_port(good).as_deref(), Ok(good));
        }
        let bad = ["", "x", "x:", ":1", "x:0", "x:65536", "::1:8443", "[::1]", "[x]:1", "https://x:1", "a b:1", "x:+1"];
        for bad in bad {
            assert!(host_and_port(bad).is_err(), "{bad}");
        }
    }
}
