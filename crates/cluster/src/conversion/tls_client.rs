//! TLS connections to an endpoint, as by an API server.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use super::client_stanza::ClientStanza;
use crate::tls_connector::tls_connector;

/// Connects with the trust settings of the API server.
pub(crate) struct TlsClient {
    tls: TlsConnector,
    name: ServerName<'static>,
    /// The reason why an authority is skipped.
    left_out: Option<String>,
}

impl TlsClient {
    /// A client for this stanza.
    pub(crate) fn new(stanza: &ClientStanza) -> Result<Self, String> {
        let Some(pem) = &stanza.authorities else {
            return Err("cannot verify the certificate without an authority: add --ca-file".to_owned());
        };
        let (mut roots, mut left_out) = (RootCertStore::empty(), None);
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| format!("caBundle: {error}"))?;
            match out_of_date(&certificate) {
                Some(reason) => left_out = Some(reason),
                None => roots.add(certificate).map_err(|error| format!("caBundle: {error}"))?,
            }
        }
        let name = stanza.server_name();
        let name = ServerName::try_from(name.clone()).map_err(|_| format!("{name:?} is no name of a server"))?;
        Ok(Self { tls: tls_connector(roots)?, name, left_out })
    }

    /// The name that the server certificate must have.
    pub(crate) fn server_name(&self) -> Cow<'_, str> {
        self.name.to_str()
    }

    /// Connects, and verifies the server.
    pub(crate) async fn connect(&self, endpoint: &str) -> Result<TlsStream<TcpStream>, Unconnected> {
        let refused = |error: std::io::Error| match error.kind() {
            ErrorKind::ConnectionRefused => Unconnected::Refused(error.to_string()),
            _ => Unconnected::Unreached(error.to_string()),
        };
        let stream = timeout(PATIENCE, TcpStream::connect(endpoint)).await;
        let late = || Unconnected::Unreached(format!("not within {} s", PATIENCE.as_secs()));
        let stream = stream.map_err(|_| late())?.map_err(refused)?;
        let stream = timeout(PATIENCE, self.tls.connect(self.name.clone(), stream)).await.map_err(|_| late())?;
        stream.map_err(|error| Unconnected::Untrusted {
            name: self.server_name().into_owned(),
            problem: self.left_out.iter().fold(error.to_string(), |problem, reason| format!("{problem}; {reason}")),
        })
    }
}

/// The reason why an API server does not trust an authority today. Go checks the validity of an authority as of any
/// certificate; rustls uses only its name and key.
fn out_of_date(certificate: &CertificateDer<'_>) -> Option<String> {
    let read = Certificate::from_der(certificate).ok()?;
    let validity = read.tbs_certificate().validity();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now > validity.not_after.to_unix_duration() {
        return Some(format!("an authority of the bundle has expired, at {}", validity.not_after));
    }
    (now < validity.not_before.to_unix_duration())
        .then(|| format!("an authority of the bundle is not valid before {}", validity.not_before))
}

/// The reason why an endpoint cannot be connected.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Unconnected {
    /// The host is up, and the port is closed.
    #[error("unreachable from here: {0}. {ELSEWHERE}")]
    Refused(String),
    /// No route, or none from this machine.
    #[error("unreachable from here: {0}. {ELSEWHERE}")]
    Unreached(String),
    /// The API server would not trust the server.
    #[error("TLS as {name}: {problem}")]
    Untrusted {
        /// The expected server name.
        name: String,
        /// The error.
        problem: String,
    },
}

const ELSEWHERE: &str = "Run this where Pods can be reached, as a Job in the cluster, or give --endpoint HOST:PORT after \
                         kubectl port-forward";

/// A third of the API server's timeout for a conversion.
const PATIENCE: Duration = Duration::from_secs(10);
