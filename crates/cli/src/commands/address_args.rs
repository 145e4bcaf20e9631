//! Flags that say which server is meant.

use clap::Args;
use pointsman_core::registration::{Address, Service, Url};

/// One server.
#[derive(Args, Debug)]
pub(crate) struct AddressArgs {
    /// Service of the webhook. The port is 443 if none is given.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", required_unless_present = "url")]
    service: Option<Service>,
    /// Address of the webhook, where it is not behind a Service. Without a path, /convert is meant.
    #[arg(long, value_name = "URL", conflicts_with = "service")]
    url: Option<Url>,
}

impl AddressArgs {
    /// It is there: clap sees to that.
    pub(crate) fn address(&self) -> Option<Address> {
        self.service.clone().map(Address::Service).or_else(|| self.url.clone().map(Address::Url))
    }
}
