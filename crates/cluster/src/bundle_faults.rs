//! Faults of a `caBundle`, with which the API server verifies a webhook.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use x509_cert::Certificate;
use x509_cert::certificate::Version;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{BasicConstraints, KeyUsage};

/// A fault of the `caBundle` of a CRD or of a webhook configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleFault {
    /// A Service without bundle.
    #[error("has no caBundle: the API server trusts only certificates of public authorities")]
    Missing,
    /// The API server refuses the document.
    #[error("the caBundle is not base64")]
    NotBase64,
    /// A document is public, a key is not.
    #[error("the caBundle holds a private key, visible to every reader of the document: replace the key pair")]
    PrivateKey,
    /// The bundle is empty.
    #[error("the caBundle holds no PEM certificate: the API server trusts no server")]
    NoCertificate,
    /// A certificate is unreadable. Since Kubernetes 1.31, an API server refuses such a CRD.
    #[error("certificate {number} of the caBundle is damaged")]
    Damaged {
        /// Counted from 1.
        number: usize,
    },
    /// A marker is not on its own line. An API server refuses such a CRD.
    #[error("a PEM marker of the caBundle shares its line with other text: the API server cannot read the caBundle")]
    Misplaced,
    /// No certificate may sign another one.
    #[error(
        "the caBundle holds no authority: {subject} cannot sign certificates, so a renewed certificate is not trusted"
    )]
    NoAuthority {
        /// The subject of the first certificate.
        subject: String,
    },
    /// Every authority has expired.
    #[error("the authority in the caBundle has expired at {end}: the API server trusts no server")]
    Expired {
        /// The latest end.
        end: String,
    },
    /// No authority is valid yet.
    #[error("the authority in the caBundle is not valid before {start}")]
    NotYetValid {
        /// The start of the authority that ends last.
        start: String,
    },
    /// A rotation must begin.
    #[error("the authority in the caBundle expires in {days} days, at {end}")]
    Expires {
        /// Days left.
        days: u64,
        /// The latest end.
        end: String,
    },
}

impl BundleFault {
    /// Whether no server can be tested by the bundle.
    pub(crate) fn is_unusable(&self) -> bool {
        matches!(self, Self::Missing | Self::NotBase64 | Self::NoCertificate | Self::Damaged { .. } | Self::Misplaced)
    }

    /// True if a tool that injects the bundle removes the fault.
    pub(crate) fn is_placeholder(&self) -> bool {
        matches!(self, Self::Missing | Self::NoCertificate)
    }
}

/// The faults of the bundle in a `clientConfig`, at a time in seconds since 1970. An external address needs no bundle:
/// its certificate may be from a public authority.
pub(crate) fn bundle_faults(config: &Value, now: u64) -> Vec<BundleFault> {
    let Some(bundle) = bundle(config) else {
        return if config.get("service").is_some() { vec![BundleFault::Missing] } else { Vec::new() };
    };
    let Some(pem) = decoded(bundle) else { return vec![BundleFault::NotBase64] };
    let text = String::from_utf8_lossy(&pem);
    let mut faults = Vec::new();
    if text.lines().any(|line| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY")) {
        faults.push(BundleFault::PrivateKey);
    }
    let read: Vec<Option<Certificate>> = sections(&text).map(|section| certificate(&section)).collect();
    if read.is_empty() {
        faults.push(BundleFault::NoCertificate);
        return faults;
    }
    if !markers_stand_alone(&text) {
        faults.push(BundleFault::Misplaced);
    }
    if let Some(at) = read.iter().position(Option::is_none) {
        faults.push(BundleFault::Damaged { number: at + 1 });
    }
    let certificates: Vec<Certificate> = read.into_iter().flatten().collect();
    faults.extend(authority_fault(&certificates, now));
    faults
}

/// True if each marker of a PEM text is on its own line (Go's `encoding/pem`, `Decode`).
fn markers_stand_alone(text: &str) -> bool {
    text.split('\n').map(|line| line.trim_end_matches([' ', '\t', '\r'])).all(|line| {
        let is_marker = line.contains("-----BEGIN ") || line.contains("-----END ");
        !is_marker || line.starts_with("-----") && line.ends_with("-----") && line.matches("-----").count() == 2
    })
}

/// The bundle of a `clientConfig`, in base64.
fn bundle(config: &Value) -> Option<&str> {
    config.get("caBundle").and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Decodes base64 by Go's rules, which allow line ends.
pub(crate) fn decoded(base64: &str) -> Option<Vec<u8>> {
    STANDARD.decode(base64.replace(['\r', '\n'], "")).ok()
}

/// The readable certificates of a PEM text.
pub(crate) fn certificates(pem: &[u8]) -> Vec<Certificate> {
    sections(&String::from_utf8_lossy(pem)).filter_map(|section| certificate(&section)).collect()
}

/// The sections of a PEM text that begin like a certificate.
fn sections(pem: &str) -> impl Iterator<Item = String> {
    pem.split(BEGIN).skip(1).map(|section| format!("{BEGIN}{section}"))
}

fn certificate(section: &str) -> Option<Certificate> {
    let der = CertificateDer::from_pem_slice(section.as_bytes()).ok()?;
    Certificate::from_der(&der).ok()
}

fn authority_fault(all: &[Certificate], now: u64) -> Option<BundleFault> {
    let first = all.first()?;
    let end = |one: &Certificate| one.tbs_certificate().validity().not_after.to_unix_duration().as_secs();
    let start = |one: &Certificate| one.tbs_certificate().validity().not_before.to_unix_duration().as_secs();
    let authorities: Vec<&Certificate> = all.iter().filter(|one| is_authority(one)).collect();
    let Some(last) = authorities.iter().max_by_key(|one| end(one)) else {
        return Some(BundleFault::NoAuthority { subject: first.tbs_certificate().subject().to_string() });
    };
    let validity = last.tbs_certificate().validity();
    let Some(left) = end(last).checked_sub(now) else {
        return Some(BundleFault::Expired { end: validity.not_after.to_string() });
    };
    if authorities.iter().all(|one| now < start(one) || end(one) < now) {
        return Some(BundleFault::NotYetValid { start: validity.not_before.to_string() });
    }
    let days = left / DAY;
    (days < SOON).then(|| BundleFault::Expires { days, end: validity.not_after.to_string() })
}

/// True if a certificate may sign others, by the rules of Go's `crypto/x509` (`CheckSignatureFrom`).
fn is_authority(certificate: &Certificate) -> bool {
    let read = certificate.tbs_certificate();
    let signs = match read.get_extension::<KeyUsage>() {
        Ok(usage) => usage.is_none_or(|(_, usage)| usage.key_cert_sign()),
        Err(_) => false,
    };
    let is_ca = match read.get_extension::<BasicConstraints>() {
        Ok(Some((_, basic))) => basic.ca,
        Ok(None) => read.version() != Version::V3,
        Err(_) => false,
    };
    signs && is_ca
}

/// The first line of a certificate.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// Seconds.
const DAY: u64 = 24 * 60 * 60;

/// Days: a rotation has three steps, and must begin now.
const SOON: u64 = 30;

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints as Constraint, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose};
    use serde_json::json;
    use x509_cert::der::DateTime;

    use super::*;

    const NOW: u64 = 1_790_000_000;

    /// A self-signed certificate, valid from and until a day relative to now.
    fn pem(is_ca: bool, days: [i64; 2], change: impl Fn(&mut CertificateParams)) -> String {
        let mut params = CertificateParams::new(vec!["w.n.svc".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "w");
        params.is_ca = if is_ca { IsCa::Ca(Constraint::Unconstrained) } else { IsCa::ExplicitNoCa };
        let at = |days: i64| {
            let seconds = NOW.saturating_add_signed(days * 86_400);
            let date = DateTime::from_unix_duration(std::time::Duration::from_secs(seconds)).unwrap();
            rcgen::date_time_ymd(date.year().into(), date.month(), date.day())
        };
        (params.not_before, params.not_after) = (at(days[0]), at(days[1]));
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    fn faults(pem: &str) -> Vec<BundleFault> {
        bundle_faults(&json!({"service": {"name": "w"}, "caBundle": STANDARD.encode(pem)}), NOW)
    }

    fn words(pem: &str) -> String {
        faults(pem).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    const DAYS: [i64; 2] = [-10, 3000];

    #[test]
    fn authority_has_no_fault() {
        let ca = pem(true, DAYS, |_| {});
        assert_eq!(faults(&ca), []);
        let signs = pem(true, DAYS, |params| params.key_usages = vec![KeyUsagePurpose::KeyCertSign]);
        assert_eq!(faults(&signs), []);
        // The old authority together with the new one.
        assert_eq!(faults(&format!("{}{ca}{}", pem(true, [-20, -10], |_| {}), pem(true, [10, 20], |_| {}))), []);
        assert_eq!(faults(&format!("a note\n{ca}{}", pem(false, DAYS, |_| {}))), []);
        let mut config = json!({"service": {}, "caBundle": STANDARD.encode(&ca)});
        let wrapped = config["caBundle"].as_str().unwrap().replace("CERT", "CERT\n");
        config["caBundle"] = json!(format!("{wrapped}\n"));
        assert_eq!(bundle_faults(&config, NOW), []);
    }

    #[test]
    fn misplaced_marker_is_found() {
        let ca = pem(true, DAYS, |_| {});
        let joined = format!("{}{ca}", ca.trim_end());
        for pem in [
            joined,
            format!(" {ca}"),
            format!("\u{feff}{ca}"),
            format!("text{ca}"),
            ca.replace("\r\n", "\r").replace('\n', "\r"),
        ] {
            assert!(faults(&pem).contains(&BundleFault::Misplaced), "{pem:?}: {:?}", faults(&pem));
        }
        assert_eq!(faults(&ca.replace("\r\n", "\n").replace('\n', "  \r\n")), []);
    }

    #[test]
    fn bundle_without_certificate_is_found() {
        for pem in ["\n", "x", "some text", "-----BEGIN X-----\nMAA=\n-----END X-----\n"] {
            assert_eq!(faults(pem), [BundleFault::NoCertificate], "{pem}");
        }
        let key = KeyPair::generate().unwrap().serialize_pem();
        assert_eq!(faults(&key), [BundleFault::PrivateKey, BundleFault::NoCertificate]);
        assert_eq!(faults(&format!("{}{key}", pem(true, DAYS, |_| {}))), [BundleFault::PrivateKey]);
        assert_eq!(bundle_faults(&json!({"service": {}}), NOW), [BundleFault::Missing]);
        assert_eq!(bundle_faults(&json!({"service": {}, "caBundle": ""}), NOW), [BundleFault::Missing]);
        assert_eq!(bundle_faults(&json!({"url": "https://w"}), NOW), []);
        assert_eq!(bundle_faults(&json!({"url": "https://w", "caBundle": "*"}), NOW), [BundleFault::NotBase64]);
    }

    #[test]
    fn damaged_certificate_is_counted() {
        let ca = pem(true, DAYS, |_| {});
        let half = &ca[..ca.len() / 2];
        assert_eq!(faults(&format!("{ca}{half}")), [BundleFault::Damaged { number: 2 }]);
        assert_eq!(faults(half), [BundleFault::Damaged { number: 1 }]);
        let no_der = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
        assert_eq!(faults(no_der), [BundleFault::Damaged { number: 1 }]);
    }

    #[test]
    fn leaf_is_no_authority() {
        let expected = "the caBundle holds no authority: CN=w cannot sign certificates";
        let leaves = [
            pem(false, DAYS, |_| {}),
            pem(false, DAYS, |params| params.is_ca = IsCa::NoCa),
            pem(true, DAYS, |params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature]),
        ];
        for leaf in leaves {
            assert!(words(&leaf).starts_with(expected), "{}", words(&leaf));
        }
    }

    #[test]
    fn authority_outside_its_time_is_found() {
        assert!(
            words(&pem(true, [-20, -10], |_| {})).starts_with("the authority in the caBundle has expired at 2026-")
        );
        assert!(words(&pem(true, [-20, 20], |_| {})).starts_with("the authority in the caBundle expires in "));
        let early = words(&pem(true, [10, 400], |_| {}));
        assert!(early.starts_with("the authority in the caBundle is not valid before 2026-"), "{early}");
    }
}
