//! Compares the trusted authorities of documents for the same server.

use x509_cert::Certificate;
use x509_cert::der::Encode;

use super::registration_problem::RegisteredFinding;
use crate::bundle_faults::certificates;
use crate::conversion::ClientStanza;

/// A document with its server.
pub(super) struct TrustedServer {
    /// Kind and name of the document.
    pub(super) title: String,
    pub(super) stanza: ClientStanza,
}

/// Documents whose authorities cannot sign the certificate that another document requires of the same server. During a
/// rotation, both share an authority.
pub(super) fn disagreements(all: &[TrustedServer]) -> Vec<RegisteredFinding> {
    let mut findings: Vec<RegisteredFinding> = Vec::new();
    let read = all.iter().map(|one| (one, certificates(one.stanza.authorities.as_deref().unwrap_or_default())));
    let read: Vec<(&TrustedServer, Vec<Certificate>)> =
        read.filter(|(_, authorities)| !authorities.is_empty()).collect();
    for (at, (one, authorities)) in read.iter().enumerate() {
        let is_first = |(other, _): &&(&TrustedServer, Vec<Certificate>)| other.stanza.place.is_of(&one.stanza.place);
        let Some((first, theirs)) = read.iter().take(at).find(is_first) else { continue };
        if authorities.iter().any(|own| theirs.iter().any(|other| is_related(own, other))) {
            continue;
        }
        let finding = RegisteredFinding {
            document: one.title.clone(),
            problem: format!(
                "the caBundle has another authority than {}, and both lead to {}: one of the two trusts no server",
                first.title, one.stanza.place
            ),
            fix: "pointsman rotate-ca --ca-file FILE …, or webhooks --ca-file FILE, with the same authority".to_owned(),
        };
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

/// True if one server certificate can satisfy both: the same authority, or one has signed the other.
fn is_related(one: &Certificate, other: &Certificate) -> bool {
    let (one, other) = (one.tbs_certificate(), other.tbs_certificate());
    let key = |of: &x509_cert::TbsCertificate| of.subject_public_key_info().to_der().ok();
    let is_same = one.subject() == other.subject() && key(one) == key(other);
    let has_signed =
        one.subject() != other.subject() && (one.subject() == other.issuer() || other.subject() == one.issuer());
    is_same || has_signed
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
    use serde_json::json;

    use super::*;

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    }

    fn found(bundles: &[(&str, &str)]) -> Vec<String> {
        let servers = bundles.iter().enumerate().map(|(at, (service, pem))| {
            let service = json!({"namespace": "n", "name": service, "path": format!("/{at}")});
            let stanza = ClientStanza::of_config(&json!({"service": service})).unwrap();
            let stanza = ClientStanza { authorities: Some(pem.as_bytes().to_vec()), ..stanza };
            TrustedServer { title: format!("Kind d{at}"), stanza }
        });
        let all: Vec<TrustedServer> = servers.collect();
        disagreements(&all).into_iter().map(|one| format!("{}: {}", one.document, one.problem)).collect()
    }

    #[test]
    fn two_authorities_of_one_service_disagree() {
        let key = KeyPair::generate().unwrap();
        let one = params("one").self_signed(&key).unwrap().pem();
        let again = params("one").self_signed(&key).unwrap().pem();
        let other = params("other").self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        let namesake = params("one").self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
        let issuer = Issuer::new(params("one"), key);
        let below = params("below").signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap().pem();
        let both = format!("{other}{one}");
        for other in [one.as_str(), &again, &both, &below, "", "text"] {
            assert_eq!(found(&[("s", &one), ("s", other)]), [""; 0], "{other}");
        }
        assert_eq!(found(&[("s", &one), ("t", &other)]), [""; 0]);
        for other in [&other, &namesake] {
            let problems = found(&[("s", &one), ("t", other), ("s", other)]);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(
                problems[0].starts_with("Kind d2: the caBundle has another authority than Kind d0"),
                "{problems:?}"
            );
            assert!(problems[0].contains("Service n/s:443"), "{problems:?}");
        }
    }
}
