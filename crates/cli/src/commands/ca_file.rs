//! `--ca-file`: certificate authorities for an API server.

use std::fs;
use std::path::Path;

use anyhow::Context;
use pointsman_core::registration::{CaBundle, NamespacedName, Trust};

use super::output::warn;

/// Checks the certificates of a PEM text and returns remarks. The binary with the TLS code passes it in.
pub type AuthorityRemarks = fn(&[u8]) -> anyhow::Result<Vec<String>>;

/// The certificates that the API server will trust, from flags. Prints remarks on stderr.
pub(super) fn trust(
    ca_file: Option<&Path>,
    cert_manager: Option<&NamespacedName>,
    remarks: AuthorityRemarks,
) -> anyhow::Result<Trust> {
    let Some(file) = ca_file else {
        let certificate = cert_manager.cloned().map(Trust::CertManager);
        return Ok(certificate.unwrap_or(Trust::SystemRoots));
    };
    let pem = fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    let bundle = CaBundle::from_pem(&pem).with_context(|| file.display().to_string())?;
    for remark in remarks(&pem).with_context(|| file.display().to_string())? {
        warn(&format!("{}: {remark}", file.display()));
    }
    if String::from_utf8_lossy(&pem).contains("PRIVATE KEY--") {
        warn(&format!(
            "{} also contains a private key. The key is ignored; remove the key from this file",
            file.display()
        ));
    }
    Ok(Trust::CaBundle(bundle))
}
