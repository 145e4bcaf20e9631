//! Asking an endpoint what an API server would ask, over TLS as it would.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::client_stanza::ClientStanza;
use super::options::Probe;

/// A client that trusts what the API server is told to trust, and nothing else.
pub(super) struct SelfTest {
    tls: TlsConnector,
    name: ServerName<'static>,
    path: String,
}

impl SelfTest {
    /// A client for this stanza.
    pub(super) fn new(stanza: &ClientStanza) -> Result<Self, String> {
        let Some(pem) = &stanza.authorities else {
            return Err("there is no authority yet to judge its certificate by: give --ca-file".to_owned());
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| format!("caBundle: {error}"))?;
            roots.add(certificate).map_err(|error| format!("caBundle: {error}"))?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = stanza.server_name();
        let name = ServerName::try_from(name.clone()).map_err(|_| format!("{name:?} is no name of a server"))?;
        Ok(Self { tls: TlsConnector::from(Arc::new(config)), name, path: stanza.path.clone() })
    }

    /// Sends every review; says what is wrong with the first answer that is.
    pub(super) async fn run(&self, endpoint: &str, probes: &[Probe]) -> Result<(), String> {
        for probe in probes {
            let answer = timeout(PATIENCE, self.call(endpoint, &probe.review)).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())));
            let response = answer.map_err(|problem| format!("{endpoint}: {problem}"))?;
            let status = response.pointer("/response/result/status").and_then(Value::as_str);
            if status != Some("Success") {
                let said = response.pointer("/response/result/message").and_then(Value::as_str);
                return Err(format!(
                    "{endpoint}: cannot convert to {}: {}",
                    probe.to,
                    said.unwrap_or("no reason given")
                ));
            }
            if response.pointer("/response/convertedObjects") != Some(&probe.converted) {
                return Err(format!(
                    "{endpoint}: converts to {} otherwise than the definition here: is it served with the same one?",
                    probe.to
                ));
            }
        }
        Ok(())
    }

    async fn call(&self, endpoint: &str, review: &Value) -> Result<Value, String> {
        let unreached = |error: std::io::Error| {
            format!(
                "cannot be reached from here: {error}. Run this where Pods can be reached, as a Job in the cluster, or \
                 give --endpoint HOST:PORT after kubectl port-forward"
            )
        };
        let stream = TcpStream::connect(endpoint).await.map_err(unreached)?;
        let stream = self.tls.connect(self.name.clone(), stream).await;
        let stream = stream.map_err(|error| format!("TLS as {}: {error}", self.name.to_str()))?;
        let text = |error: hyper::Error| error.to_string();
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(text)?;
        let connection = tokio::spawn(connection);
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.path)
            .header(HOST, self.name.to_str().as_ref())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::<Bytes>::from(review.to_string()))
            .map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await.map_err(text)?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(text)?.to_bytes();
        connection.abort();
        if code != 200 {
            return Err(format!("HTTP {code}"));
        }
        serde_json::from_slice(&body).map_err(|_| "the answer is not JSON".to_owned())
    }
}

/// A third of what the API server waits for a conversion.
const PATIENCE: Duration = Duration::from_secs(10);
