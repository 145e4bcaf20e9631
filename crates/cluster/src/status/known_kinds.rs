//! The part of a kind's status that its CRD declares.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::certificate_end::CertificateEnd;
use super::kind_status::KindStatus;
use crate::annotations::RELEASED_ANNOTATION;
use crate::bundle_faults::bundle_faults;
use crate::conversion::{ClientStanza, client_config};
use crate::crd_state::CrdState;
use crate::disable::leads_nowhere;

/// Evaluates a CRD of a cluster or a file. `drift` contains differences from its definition, `now` is in seconds since
/// 1970.
pub(crate) fn declared(crd: &CrdState, drift: Vec<String>, now: u64) -> KindStatus {
    let texts = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let stanza = ClientStanza::of(crd.document()).filter(|_| crd.is_converted());
    let disabling = leads_nowhere(crd);
    let trusting = stanza.as_ref().filter(|_| !disabling);
    let config = client_config(crd.document()).filter(|_| trusting.is_some());
    let mut stored = texts(crd.stored_versions());
    if stored.is_empty() {
        // The API server has not processed it yet.
        stored.push(crd.storage().to_owned());
    }
    KindStatus {
        crd: crd.name(),
        converted_by: stanza.as_ref().map(|stanza| format!("{}{}", stanza.place, stanza.path)),
        disabling,
        one_schema: crd.has_one_schema(&[crd.served(), stored.iter().map(String::as_str).collect()].concat()),
        released: crd.annotation(RELEASED_ANNOTATION).is_some(),
        served: texts(crd.served()),
        storage: crd.storage().to_owned(),
        stored,
        authorities: trusting.map(authorities).unwrap_or_default(),
        bundle: config.map(|config| bundle_faults(config, now)).unwrap_or_default(),
        drift,
        ..KindStatus::default()
    }
}

/// The authorities of a stanza.
fn authorities(stanza: &ClientStanza) -> Vec<CertificateEnd> {
    let pem = stanza.authorities.as_deref().unwrap_or_default();
    let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
    certificates.filter_map(|certificate| CertificateEnd::of(&certificate)).collect()
}
