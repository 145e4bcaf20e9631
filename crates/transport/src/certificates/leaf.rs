//! Properties of a certificate, and whether an API server accepts it. Checked before use, since clients would refuse a
//! bad certificate, and the previous one may be good.

use std::collections::BTreeSet;
use std::net::IpAddr;

use x509_cert::Certificate;
use x509_cert::der::Error;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, SubjectAltName};

/// The relevant properties of a leaf certificate. Times are in seconds since the epoch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Leaf {
    /// The first second of its validity.
    pub not_before: u64,
    /// The last second of its validity.
    pub not_after: u64,
    /// The last second of its validity, as text.
    pub expires: String,
    names: BTreeSet<String>,
    authority: bool,
    for_servers: bool,
}

/// The reason why a certificate must not be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectionReason {
    /// It signs other certificates.
    #[error("is an authority: serve a certificate that the authority issued")]
    Authority,
    /// It has expired.
    #[error("expired at {at}")]
    Expired {
        /// The expiry.
        at: String,
    },
    /// API servers accept names only from the subject alternative names.
    #[error("has no DNS name and no IP address among its subject alternative names")]
    Nameless,
    /// Its extended key usage excludes server authentication.
    #[error("is not for server authentication")]
    NotForServers,
    /// It is not valid yet, or the clock is wrong.
    #[error("is not valid yet")]
    NotYetValid,
    /// It lacks the names that clients expect: those of the current certificate.
    #[error("has none of the served names: {served}")]
    OtherNames {
        /// The current names.
        served: String,
    },
}

impl Leaf {
    /// Reads the properties of a certificate.
    ///
    /// # Errors
    /// An extension is malformed.
    pub(super) fn read(certificate: &Certificate) -> Result<Self, Error> {
        let certificate = certificate.tbs_certificate();
        let validity = certificate.validity();
        let basic = certificate.get_extension::<BasicConstraints>()?;
        // Without it, any use is allowed (same as Go's crypto/x509).
        let usages = certificate.get_extension::<ExtendedKeyUsage>()?;
        let for_servers = usages.is_none_or(|(_, ExtendedKeyUsage(usages))| {
            usages.iter().any(|usage| [SERVER_AUTH, ANY_USE].contains(usage))
        });
        let names = certificate.get_extension::<SubjectAltName>()?;
        let names = names.iter().flat_map(|(_, SubjectAltName(names))| names).filter_map(name);
        Ok(Self {
            not_before: validity.not_before.to_unix_duration().as_secs(),
            not_after: validity.not_after.to_unix_duration().as_secs(),
            expires: validity.not_after.to_string(),
            names: names.collect(),
            authority: basic.is_some_and(|(_, basic)| basic.ca),
            for_servers,
        })
    }

    /// Checks the kind of certificate, regardless of time.
    ///
    /// # Errors
    /// The reason why it is unusable.
    pub fn judge_kind(&self) -> Result<(), RejectionReason> {
        match self {
            Self { authority: true, .. } => Err(RejectionReason::Authority),
            Self { for_servers: false, .. } => Err(RejectionReason::NotForServers),
            Self { names, .. } if names.is_empty() => Err(RejectionReason::Nameless),
            _ => Ok(()),
        }
    }

    /// True if it signs other certificates.
    pub(super) fn is_authority(&self) -> bool {
        self.authority
    }

    /// Its names, as text.
    pub(super) fn names(&self) -> String {
        self.names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Checks the validity at `now`.
    ///
    /// # Errors
    /// The reason why it is invalid.
    pub fn judge_time(&self, now: u64) -> Result<(), RejectionReason> {
        match now {
            _ if now < self.not_before => Err(RejectionReason::NotYetValid),
            _ if now > self.not_after => Err(RejectionReason::Expired { at: self.expires.clone() }),
            _ => Ok(()),
        }
    }

    /// Checks that it can replace the current certificate at `now`. One common name is sufficient: names may be added,
    /// and old ones removed.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn judge_succession(&self, served: &Self, now: u64) -> Result<(), RejectionReason> {
        self.judge_kind()?;
        self.judge_time(now)?;
        if self.names.is_disjoint(&served.names) {
            return Err(RejectionReason::OtherNames { served: served.names() });
        }
        Ok(())
    }
}

fn name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string().to_ascii_lowercase()),
        GeneralName::IpAddress(address) => {
            let bytes = address.as_bytes();
            let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
            let sixteen = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
            four.or(sixteen).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// id-kp-serverAuth and anyExtendedKeyUsage (RFC 5280, 4.2.1.12).
const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const ANY_USE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, IsCa, KeyPair, SanType};
    use x509_cert::der::Decode;

    impl Leaf {
        /// Without names.
        pub(crate) fn valid(not_before: u64, not_after: u64) -> Self {
            let expires = format!("at {not_after}");
            let names = BTreeSet::new();
            Self { not_before, not_after, expires, names, authority: false, for_servers: true }
        }
    }

    fn leaf(names: &[&str]) -> Leaf {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Leaf { names, ..Leaf::valid(100, 200) }
    }

    #[test]
    fn only_acceptable_leaf_is_loaded() {
        let served = leaf(&["a.svc", "b.svc"]);
        let judge = |leaf: &Leaf, now| leaf.judge_succession(&served, now);
        for second in [100, 200] {
            assert_eq!(judge(&leaf(&["b.svc", "c.svc"]), second), Ok(()));
        }
        assert_eq!(judge(&leaf(&["a.svc"]), 99), Err(RejectionReason::NotYetValid));
        assert_eq!(judge(&leaf(&["a.svc"]), 201), Err(RejectionReason::Expired { at: "at 200".to_owned() }));
        assert_eq!(judge(&leaf(&[]), 150), Err(RejectionReason::Nameless));
        let others = Err(RejectionReason::OtherNames { served: "a.svc, b.svc".to_owned() });
        assert_eq!(judge(&leaf(&["c.svc"]), 150), others);
        let authority = Leaf { authority: true, ..leaf(&["a.svc"]) };
        assert_eq!(judge(&authority, 150), Err(RejectionReason::Authority));
        let client = Leaf { for_servers: false, ..leaf(&["a.svc"]) };
        assert_eq!(judge(&client, 150), Err(RejectionReason::NotForServers));
    }

    /// Names as dialled by clients, normalized for comparison.
    #[test]
    fn names_match_dialled_hosts() {
        let mut params = CertificateParams::new(["A.svc", "127.0.0.1", "::1"].map(str::to_owned)).unwrap();
        params.subject_alt_names.push(SanType::Rfc822Name("somebody@example.com".try_into().unwrap()));
        let read = |params: &CertificateParams| {
            let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            Leaf::read(&Certificate::from_der(made.der()).unwrap()).unwrap()
        };
        let leaf = read(&params);
        assert_eq!((leaf.names().as_str(), leaf.is_authority()), ("127.0.0.1, ::1, a.svc", false));
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        assert!(read(&params).is_authority());
    }
}
