//! Authority certificates of a `caBundle`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A PEM text with its certificates.
#[derive(Clone, Debug)]
pub(super) struct Authorities {
    pem: Vec<u8>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Authorities {
    /// Parses a PEM text; `None` without certificates, or if one is invalid.
    pub(super) fn of(pem: &[u8]) -> Option<Self> {
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().ok()?;
        (!certificates.is_empty()).then(|| Self { pem: pem.to_vec(), certificates })
    }

    /// Parses a bundle like an API server: all readable certificates, possibly none.
    pub(super) fn in_bundle(pem: &[u8]) -> Self {
        if let Some(all) = Self::of(pem) {
            return all;
        }
        let text = String::from_utf8_lossy(pem);
        let sections = text.split(BEGIN).skip(1).map(|section| format!("{BEGIN}{section}"));
        let read = sections.filter_map(|section| CertificateDer::from_pem_slice(section.as_bytes()).ok());
        let certificates: Vec<CertificateDer<'static>> = read.collect();
        let again =
            |one: &CertificateDer<'_>| format!("{BEGIN}\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(one));
        Self { pem: certificates.iter().map(again).collect::<String>().into_bytes(), certificates }
    }

    /// True if all of `those` are contained.
    pub(super) fn hold(&self, those: &Self) -> bool {
        those.certificates.iter().all(|certificate| self.certificates.contains(certificate))
    }

    /// The union: these first, then `those`.
    pub(super) fn and(&self, those: &Self) -> Self {
        if self.certificates.is_empty() {
            return those.clone();
        }
        let pem = [&self.pem, &b"\n"[..], &those.pem].concat();
        Self { pem, certificates: [&self.certificates[..], &those.certificates[..]].concat() }
    }

    /// As `caBundle` value.
    pub(super) fn bundle(&self) -> String {
        STANDARD.encode(&self.pem)
    }

    pub(super) fn pem(&self) -> Vec<u8> {
        self.pem.clone()
    }
}

/// The first line of a certificate.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contents: &[&str]) -> Authorities {
        let section = |content: &&str| {
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(content))
        };
        Authorities::of(contents.iter().map(section).collect::<String>().as_bytes()).unwrap()
    }

    #[test]
    fn readable_part_of_bundle_is_kept() {
        let (old, new) = (of(&["old"]), of(&["new"]));
        let damaged = [&b"a note\n-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n"[..], &old.pem].concat();
        assert!(Authorities::of(&damaged).is_none());
        let read = Authorities::in_bundle(&damaged);
        assert!(read.hold(&old) && old.hold(&read));
        let none = Authorities::in_bundle(b"garbage");
        assert!(!none.hold(&new) && none.and(&new).hold(&new) && old.hold(&none));
    }

    #[test]
    fn both_are_trusted_before_one_is() {
        let (old, new) = (of(&["old"]), of(&["new"]));
        assert!(!old.hold(&new) && old.hold(&old));
        let both = old.and(&new);
        assert!(both.hold(&new) && both.hold(&old) && !new.hold(&both));
        let read = Authorities::of(&STANDARD.decode(both.bundle()).unwrap()).unwrap();
        assert!(read.hold(&both) && both.hold(&read));
        assert!(Authorities::of(b"").is_none() && Authorities::of(b"-----BEGIN CERTIFICATE-----\nhalf").is_none());
    }
}
