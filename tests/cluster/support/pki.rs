//! Certificates that tests create.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    PKCS_ECDSA_P256_SHA256, date_time_ymd,
};

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::lasting(1975, 4096)
    }

    /// An authority that is valid from the beginning of year `from` to the beginning of year `to`.
    pub(crate) fn lasting(from: i32, to: i32) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let name = "cluster test authority";
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A server certificate and its key, as PEM.
    pub(crate) fn issue(&self, names: &[String]) -> (String, String) {
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        (cert.pem(), key.serialize_pem())
    }
}

/// The key pair for service account tokens of the API server: the private key and the public key.
pub(crate) fn signing_key() -> (String, String) {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    (key.serialize_pem(), key.public_key_pem())
}
