//! CA certificates for the API server, without other contents of their file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// CA certificates, in the form of `caBundle`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CaBundle(String);

/// Why the bytes are no valid bundle.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadBundle {
    /// A certificate is truncated or invalid base64, counted from 1.
    #[error("certificate {number} is truncated or damaged")]
    Damaged {
        /// The number of the certificate.
        number: usize,
    },
    /// The file contains no certificate.
    #[error("the file contains no certificate in PEM form")]
    NoCertificate,
}

impl CaBundle {
    /// Extracts the certificates of a PEM file, and encodes them again. Documents with a bundle are readable by every
    /// user with read access to the CRD, so private keys, comments and other contents are left out.
    ///
    /// # Errors
    /// The file has no certificate, or a damaged one. The API server checks the contents of the certificates.
    ///
    /// # Examples
    /// ```
    /// use pointsman_core::registration::CaBundle;
    ///
    /// let certificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    /// let key = "-----BEGIN SECRET-----\nMAA=\n-----END SECRET-----\n";
    /// let both = format!("{key}Our authority:\n{certificate}");
    /// assert_eq!(CaBundle::from_pem(both.as_bytes()), CaBundle::from_pem(certificate.as_bytes()));
    /// assert!(CaBundle::from_pem(key.as_bytes()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_pem(pem: &[u8]) -> Result<Self, BadBundle> {
        let pem = String::from_utf8_lossy(pem);
        let mut written = String::new();
        for (index, section) in pem.split(BEGIN).skip(1).enumerate() {
            let damaged = BadBundle::Damaged { number: index + 1 };
            let (base64, _) = section.split_once(END).ok_or(damaged)?;
            let base64: String = base64.split_ascii_whitespace().collect();
            let der = STANDARD.decode(base64).map_err(|_| damaged)?;
            if !is_one_sequence(&der) {
                return Err(damaged);
            }
            write(&der, &mut written);
        }
        if written.is_empty() {
            return Err(BadBundle::NoCertificate);
        }
        Ok(Self(STANDARD.encode(written)))
    }

    /// The PEM text in base64: the value of `caBundle`.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether this is exactly one DER sequence, like a certificate (X.690, 8.1.3).
fn is_one_sequence(der: &[u8]) -> bool {
    let [0x30, length, rest @ ..] = der else {
        return false;
    };
    if *length < 0x80 {
        return rest.len() == usize::from(*length);
    }
    let Some((long, content)) = rest.split_at_checked(usize::from(*length & 0x7f)).filter(|(long, _)| long.len() <= 4)
    else {
        return false;
    };
    long.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)) == content.len()
}

/// Writes a section in the format of OpenSSL: lines of 64 characters (RFC 7468).
fn write(der: &[u8], out: &mut String) {
    out.push_str(BEGIN);
    for (index, character) in STANDARD.encode(der).chars().enumerate() {
        if index % 64 == 0 {
            out.push('\n');
        }
        out.push(character);
    }
    out.push('\n');
    out.push_str(END);
    out.push('\n');
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, der: &[u8]) -> String {
        format!("-----BEGIN {name}-----\r\n{}\r\n-----END {name}-----\r\n", STANDARD.encode(der))
    }

    fn published(pem: &str) -> Result<String, BadBundle> {
        CaBundle::from_pem(pem.as_bytes()).map(|bundle| String::from_utf8(STANDARD.decode(bundle.0).unwrap()).unwrap())
    }

    #[test]
    fn only_certificates_are_published() {
        let long: Vec<u8> = [0x30, 0x81, 200].into_iter().chain((0..200).map(|byte| byte ^ 0x5a)).collect();
        let key = section("PRIVATE KEY", &long);
        for pem in [
            format!("{key}{}", section("CERTIFICATE", &long)),
            format!("{}{key}", section("CERTIFICATE", &long)),
            format!("password: hunter2\n{key}subject=CN = a\n{}trailing", section("CERTIFICATE", &long)),
            format!("{}{}", section("ENCRYPTED PRIVATE KEY", &long), section("CERTIFICATE", &long)),
        ] {
            let text = published(&pem).unwrap();
            assert_eq!(text.matches("-----").count(), 4, "{text}");
            assert_eq!(published(&text).unwrap(), text);
            assert!(!text.contains("hunter2") && !text.contains("KEY") && !text.contains("trailing"), "{text}");
        }
        let two = published(&[section("CERTIFICATE", &long), section("CERTIFICATE", &[0x30, 0])].concat()).unwrap();
        assert_eq!(two.matches(BEGIN).count(), 2);
    }

    #[test]
    fn disguised_key_is_damage() {
        assert_eq!(published("no PEM"), Err(BadBundle::NoCertificate));
        assert_eq!(published(&section("PRIVATE KEY", &[0x30, 0])), Err(BadBundle::NoCertificate));
        let damaged = Err(BadBundle::Damaged { number: 1 });
        assert_eq!(published(&format!("{BEGIN}\nMAA=\n")), damaged);
        assert_eq!(published(&section("CERTIFICATE", b"hunter2")), damaged);
        assert_eq!(published(&section("CERTIFICATE", &[0x30, 0, 7])), damaged);
        assert_eq!(published(&section("CERTIFICATE", &[0x30, 0x89, 0])), damaged);
        let key_inside = format!("{BEGIN}\nMAA=\n{}{END}\n", section("PRIVATE KEY", &[0x30, 0]));
        assert_eq!(published(&key_inside), damaged);
    }
}
