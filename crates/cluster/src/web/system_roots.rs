//! Whom this machine trusts.

use rustls::RootCertStore;
use rustls_native_certs::load_native_certs;

/// The authorities of this machine, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name. What is no authority among
/// them is left out, as everybody does.
pub(super) fn system_roots() -> Result<RootCertStore, String> {
    let found = load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(format!("there is no authority here to judge its certificate by{why}: SSL_CERT_FILE names a file of them"))
}
