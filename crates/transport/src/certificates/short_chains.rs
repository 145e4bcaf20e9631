//! Limits the length of client certificate chains. A long chain is free of cost for an unknown client, and its
//! verification costs up to a hundred signatures (`rustls-webpki verify_cert.rs`, `Budget`), or 20 ms of a serving
//! thread.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// Refuses long chains before any signature is verified.
#[derive(Debug)]
pub(super) struct ShortChains(pub(super) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for ShortChains {
    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let bytes = leaf.len() + intermediates.iter().map(|one| one.len()).sum::<usize>();
        if intermediates.len() > INTERMEDIATES || bytes > BYTES {
            // Beyond the limit, the chain counts as incomplete.
            return Err(CertificateError::UnknownIssuer.into());
        }
        self.0.verify_client_cert(leaf, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Between a leaf and its root. A cluster authority has one at most. With three, each may be tried under each, which is
/// fifteen signatures.
const INTERMEDIATES: usize = 3;

/// Four certificates of 4 KiB, half of which is an RSA key of 8192 bits with its signature.
const BYTES: usize = 16 << 10;
