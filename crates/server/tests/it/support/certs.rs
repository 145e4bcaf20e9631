//! Certificates made for a test.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::pki_types::CertificateDer;

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key).unwrap();
        Self { der: cert.der().clone(), pem: cert.pem(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for the server, as `localhost` and `127.0.0.1`, valid until the end of 2099.
    pub(crate) fn issue(&self) -> Pair {
        self.issue_until(2099)
    }

    /// A server certificate, valid until the first day of `year`.
    pub(crate) fn issue_until(&self, year: i32) -> Pair {
        self.sign(ExtendedKeyUsagePurpose::ServerAuth, year)
    }

    /// A certificate for a client.
    pub(crate) fn issue_client(&self) -> Pair {
        self.sign(ExtendedKeyUsagePurpose::ClientAuth, 2099)
    }

    fn sign(&self, usage: ExtendedKeyUsagePurpose, year: i32) -> Pair {
        self.issue_as(|params| {
            params.extended_key_usages = vec![usage];
            params.not_after = date_time_ymd(year, 1, 1);
        })
    }

    /// A server certificate with the changes of `change`.
    pub(crate) fn issue_as(&self, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let mut params = CertificateParams::new(["localhost", "127.0.0.1"].map(str::to_owned)).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.not_after = date_time_ymd(2099, 1, 1);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        Pair { cert: cert.pem(), key: key.serialize_pem(), der: cert.der().clone() }
    }
}

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) cert: String,
    pub(crate) key: String,
    pub(crate) der: CertificateDer<'static>,
}
