//! Servers with a prepared response and no decisions: the lower limit of the comparison.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointsman_core::webhook::{self, Endpoint, Outcome, Reply};
use pointsman_server::{CertPaths, Options, RequestHandler, Server, Shutdown};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::reviews;
use crate::scenario::{Call, Scenario};

/// The response of pointsman to a scenario.
pub(crate) fn answer(scenario: &Scenario) -> Vec<u8> {
    let endpoint = match scenario.call {
        Call::Convert => Endpoint::Convert,
        Call::Mutate => Endpoint::Mutate,
        Call::Validate => Endpoint::Validate,
    };
    reviews::webhook().handle(&webhook::Request::new(endpoint, &scenario.body)).expect("an answer").body
}

/// Sends `answer` as response to every request until the process is killed.
pub(crate) fn serve(kind: &str, port: u16, certs: &Path, answer: Vec<u8>) {
    let runtime = runtime();
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match kind {
        "null" => runtime.block_on(null(listen, certs, answer)),
        _ => runtime.block_on(plain(listen, certs, answer.into())),
    }
}

/// The runtime of `pointsman serve`.
fn runtime() -> Runtime {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut builder = if cores == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().max_blocking_threads(cores + 2).build().expect("a runtime")
}

/// The listener of `pointsman serve`, with a prepared response.
async fn null(listen: SocketAddr, certs: &Path, answer: Vec<u8>) {
    let paths = CertPaths { cert: certs.join("tls.crt"), key: certs.join("tls.key") };
    let mut options = Options::new(listen, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), paths);
    options.body_limits = pointsman_server::BodyLimits::up_to(256 << 20);
    options.memory_budget = 2 << 30;
    let decide = RequestHandler::from_fn(move |_| {
        Ok(Reply {
            body: answer.clone(),
            outcome: Outcome::Convert,
            uid: String::new(),
            message: None,
            conversions: Vec::new(),
            notices: Vec::new(),
            verdicts: Vec::new(),
            flip: None,
            failed: None,
            failures: Vec::new(),
        })
    });
    let shutdown = Shutdown::on_signals().expect("signals");
    let bound = Server::bind(options, decide).await.expect("a server");
    bound.run(shutdown).await.expect("served");
}

/// hyper on tokio-rustls alone.
async fn plain(listen: SocketAddr, certs: &Path, answer: Bytes) {
    let chain = CertificateDer::pem_file_iter(certs.join("tls.crt")).expect("a certificate");
    let chain = chain.collect::<Result<_, _>>().expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(certs.join("tls.key")).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("versions").with_no_client_auth();
    let mut config = builder.with_single_cert(chain, key).expect("a pair");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(listen).await.expect("a socket");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let (acceptor, answer) = (acceptor.clone(), answer.clone());
        tokio::spawn(async move {
            stream.set_nodelay(true)?;
            let tls = acceptor.accept(stream).await?;
            let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    // Every server has to read the body.
                    let _ = request.into_body().collect().await;
                    let mut response = Response::new(Full::new(answer));
                    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                    Ok::<_, Infallible>(response)
                }
            });
            let io = TokioIo::new(tls);
            // A client that disconnects is no failure.
            let _ = match is_http2 {
                true => http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await,
                false => http1::Builder::new().serve_connection(io, service).await,
            };
            Ok::<_, std::io::Error>(())
        });
    }
}
