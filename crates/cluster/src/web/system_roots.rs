//! The trusted authorities of this machine.

use rustls::RootCertStore;
use rustls_native_certs::load_native_certs;

/// The authorities of this machine, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`. Skips invalid certificates, as is common.
pub(super) fn system_roots() -> Result<RootCertStore, String> {
    let found = load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(format!("no system authority can verify the certificate{why}: set SSL_CERT_FILE to a file of authorities"))
}
