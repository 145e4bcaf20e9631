//! A temporary authority and certificate for `serve --dev`. Unsuitable for a cluster: it is never renewed.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

use super::key_pair::{CertPaths, load_pair};

/// A certificate for `localhost`, `127.0.0.1` and `::1`, and the authority to trust.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct DevPair {
    /// The authority's certificate: `curl --cacert`, `caBundle`. Its key is never stored.
    pub ca: PathBuf,
    /// The certificate to serve and its key.
    pub paths: CertPaths,
}

/// An error of creating the temporary certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DevError {
    /// The certificates cannot be created.
    #[error("failed to create a temporary certificate")]
    Generate {
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A file cannot be written.
    #[error("failed to write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// The temporary certificate in `dir`: an existing one if valid for another day, otherwise a new one for 30 days.
/// Clients can keep trusting `ca.crt` over restarts.
///
/// # Errors
/// [`DevError`], with the path.
pub fn prepare(dir: &Path) -> Result<DevPair, DevError> {
    let ca = dir.join("ca.crt");
    let paths = CertPaths { cert: dir.join("tls.crt"), key: dir.join("tls.key") };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let tomorrow = (now + DAY).as_secs();
    if ca.exists() && load_pair(&paths).is_ok_and(|pair| pair.leaf.not_after > tomorrow) {
        return Ok(DevPair { ca, paths });
    }

    let made = generate(now).map_err(|source| DevError::Generate { source: source.into() })?;
    fs::create_dir_all(dir).map_err(|source| DevError::Write { path: dir.to_owned(), source })?;
    // In any repository: keys must not be committed.
    write(&dir.join(".gitignore"), "*\n", 0o644)?;
    write(&ca, &made.ca, 0o644)?;
    write(&paths.key, &made.key, 0o600)?;
    write(&paths.cert, &made.cert, 0o644)?;
    Ok(DevPair { ca, paths })
}

struct Made {
    ca: String,
    cert: String,
    key: String,
}

fn generate(now: Duration) -> Result<Made, rcgen::Error> {
    let epoch = date_time_ymd(1970, 1, 1);
    // One day back, for a client in a container or VM whose clock is behind.
    let not_before = epoch + now.saturating_sub(DAY);
    let not_after = epoch + (now + LIFETIME);

    let mut ca = CertificateParams::new(Vec::new())?;
    ca.distinguished_name.push(DnType::CommonName, "pointsman throw-away authority");
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (ca.not_before, ca.not_after) = (not_before, not_after);
    let ca_key = KeyPair::generate()?;
    let ca_cert = ca.self_signed(&ca_key)?;

    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let mut leaf = CertificateParams::new(names)?;
    leaf.distinguished_name.push(DnType::CommonName, "pointsman");
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    (leaf.not_before, leaf.not_after) = (not_before, not_after);
    let key = KeyPair::generate()?;
    let cert = leaf.signed_by(&key, &Issuer::new(ca, ca_key))?;
    Ok(Made { ca: ca_cert.pem(), cert: cert.pem(), key: key.serialize_pem() })
}

/// Replaces a file, so that it has this mode.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), DevError> {
    let failed = |source| DevError::Write { path: path.to_owned(), source };
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
