//! TLS configuration from a key pair and client authorities.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

use super::error::CertificateError;
use super::key_pair::{CertPaths, ServingKeyPair};
use super::pem::{certificates, read};
use super::short_chains::ShortChains;
use super::volume::{beneath, directory, real};

/// The authorities of client certificates.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientCa(Vec<CertificateDer<'static>>);

/// Reads the authorities of client certificates.
///
/// # Errors
/// [`CertificateError`], with the path.
pub(super) fn load_client_ca(path: &Path) -> Result<ClientCa, CertificateError> {
    let now = beneath(&real(directory(path)), path);
    let authorities = ClientCa(certificates(path, &read(path, &now)?)?);
    roots(path, &authorities)?;
    Ok(authorities)
}

fn roots(path: &Path, ClientCa(authorities): &ClientCa) -> Result<RootCertStore, CertificateError> {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots
            .add(authority.clone())
            .map_err(|source| CertificateError::Refused { path: path.to_owned(), source: source.into() })?;
    }
    Ok(roots)
}

/// The configuration of handshakes; recreated after each file change.
///
/// The provider is passed explicitly instead of a process default. Sessions are not resumed: an API server never
/// resumes (its client has no session cache), and a resumed session would outlive a change of authorities.
///
/// # Errors
/// [`CertificateError::Refused`] and [`CertificateError::Verifier`].
pub fn server_config(
    paths: &CertPaths,
    pair: &ServingKeyPair,
    client_ca: Option<(&Path, &ClientCa)>,
) -> Result<ServerConfig, CertificateError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|source| CertificateError::Refused { path: paths.cert.clone(), source: source.into() })?;
    let builder = match client_ca {
        Some((path, authorities)) => builder.with_client_cert_verifier(verifier(path, authorities, provider)?),
        None => builder.with_no_client_auth(),
    };
    let key = CertifiedKey::new(pair.key.cert.clone(), Arc::clone(&pair.key.key));
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(key)));
    // Without ALPN a client gets HTTP/1.1. Services get it in any case, loopback URLs HTTP/2 (apiserver
    // pkg/util/webhook/client.go).
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Client certificates are optional here and required per path: conversion calls never have one.
fn verifier(
    path: &Path,
    authorities: &ClientCa,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, CertificateError> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(path, authorities)?), provider)
        .allow_unauthenticated()
        .build()
        .map_err(|source| CertificateError::Verifier { path: path.to_owned(), source: source.into() })?;
    Ok(Arc::new(ShortChains(verifier)))
}

/// The ALPN name of HTTP/2.
pub(crate) const HTTP2: &[u8] = b"h2";
