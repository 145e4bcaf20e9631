//! Flags for the addresses and certificates of the servers.

use std::path::PathBuf;

use clap::Args;
use pointsman_core::registration::{Address, ClientConfig, NamespacedName, Service, Url};
use pointsman_core::webhook::ControllerVersion;

use crate::commands::ca_file::{AuthorityRemarks, trust};
use crate::commands::usage::Usage;

/// The addresses of the servers.
#[derive(Args, Debug)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerArgs {
    /// Service of the server. {version} in the name stands for the controller version: 2-17-0 for 2.17.0. A dash is
    /// doubled.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", value_parser = Service::per_version)]
    service: Option<Service>,
    /// URL of the server, without a path, if it has no Service.
    #[arg(long, value_name = "URL", conflicts_with = "service", value_parser = url)]
    url: Option<Url>,
    /// PEM file of the certificate authorities that the API server will trust.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager writes into the configurations.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file")]
    cert_manager: Option<NamespacedName>,
}

fn url(text: &str) -> Result<Url, &'static str> {
    text.parse().map_err(|_| "the API server accepts https://, a host and a port only")
}

impl ServerArgs {
    /// The address, if given.
    pub(super) fn address(&self) -> Option<Address> {
        let service = self.service.clone().map(Address::Service);
        service.or_else(|| self.url.clone().map(Address::Url))
    }

    /// The client configuration of a server for mutations, which have no controller version.
    pub(super) fn client_of_mutations(&self, remarks: AuthorityRemarks) -> anyhow::Result<ClientConfig> {
        let Some(address) = self.address() else {
            return Err(Usage("needs --service or --url".to_owned()).into());
        };
        if address.is_per_version() {
            let message = "mutations have no controller version: leave {version} out of --service and --url";
            return Err(Usage(message.to_owned()).into());
        }
        let trust = trust(self.ca_file.as_deref(), self.cert_manager.as_ref(), remarks)?;
        Ok(ClientConfig { address, trust })
    }

    /// The client configuration of the servers for the `printed` versions, of `all` versions.
    pub(super) fn client(
        &self,
        printed: &[ControllerVersion],
        all: usize,
        remarks: AuthorityRemarks,
    ) -> anyhow::Result<ClientConfig> {
        let Some(address) = self.address() else {
            return Err(Usage("needs --service or --url".to_owned()).into());
        };
        if all.max(printed.len()) > 1 && !address.is_per_version() {
            let message = "each controller version has its own server: put {version} into --service or --url";
            return Err(Usage(message.to_owned()).into());
        }
        fits(&address, printed)?;
        let trust = trust(self.ca_file.as_deref(), self.cert_manager.as_ref(), remarks)?;
        Ok(ClientConfig { address, trust })
    }
}

/// Rejects an address that is invalid for one of the versions.
pub(super) fn fits(address: &Address, versions: &[ControllerVersion]) -> Result<(), Usage> {
    for version in versions {
        address.check_for(version).map_err(|error| {
            let flag = if matches!(address, Address::Url(_)) { "--url" } else { "--service" };
            Usage(format!("{flag}, for {}: {error}", version.as_str()))
        })?;
    }
    Ok(())
}
