//! A typical conversion webhook in Rust: axum, kube's types for reviews, and structs for both versions.
//!
//! It has no further decisions or checks. It uses a certificate and key file, and a port of the loopback address.

mod types;

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::{Json, Router, routing::post};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use kube_core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
use kube_core::response::Status;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::types::{CommonStatus, Kept, Object, SpecV1alpha1, SpecV1alpha2, StatusV1alpha1};

const OLDER: &str = "materialize.cloud/v1alpha1";
const NEWER: &str = "materialize.cloud/v1alpha2";
const KEPT: &str = "materialize.cloud/kept-v1alpha1";
const ROLE: &str = "eks.amazonaws.com/role-arn";
const NIL: &str = "00000000-0000-0000-0000-000000000000";

async fn review(Json(review): Json<ConversionReview>) -> Json<ConversionReview> {
    let request = match ConversionRequest::from_review(review) {
        Ok(request) => request,
        Err(error) => {
            return Json(
                ConversionResponse::invalid(Status::failure(&error.to_string(), "InvalidRequest")).into_review(),
            );
        }
    };
    let convert = if request.desired_api_version == OLDER { down } else { up };
    let converted: Result<Vec<Value>, _> = request.objects.iter().map(|object| convert(object.clone())).collect();
    let response = ConversionResponse::for_request(request);
    let response = match converted {
        Ok(objects) => response.success(objects),
        Err(error) => response.failure(Status::failure(&error.to_string(), "ConversionFailed")),
    };
    Json(response.into_review())
}

fn up(object: Value) -> Result<Value, serde_json::Error> {
    let older: Object<SpecV1alpha1, StatusV1alpha1> = serde_json::from_value(object)?;
    let SpecV1alpha1 { mut common, request_rollout, in_place_rollout, environmentd_iam_role_arn, force_promote } =
        older.spec;
    let mut metadata = older.metadata;
    let mut kept = Kept {
        request_rollout: request_rollout.clone(),
        in_place_rollout,
        environmentd_iam_role_arn: environmentd_iam_role_arn.clone(),
        force_promote: force_promote.clone(),
        ..Kept::default()
    };
    if let Some(role) = environmentd_iam_role_arn.filter(|role| !role.is_empty()) {
        let annotations = common.service_account_annotations.get_or_insert_default();
        annotations.entry(ROLE.to_owned()).or_insert(role);
    }
    let force_promote = Some(force_promote).filter(|promoted| !promoted.is_empty() && promoted != NIL);
    let spec = SpecV1alpha2 { common, force_promote };
    let hash = rollout_hash(&spec)?;
    let status = older.status.map(|status| {
        let done = status.last_completed_rollout_request == request_rollout;
        kept.last_completed_rollout_request = status.last_completed_rollout_request;
        kept.resources_hash = status.resources_hash;
        CommonStatus {
            last_completed_rollout_hash: done.then(|| hash.clone()),
            requested_rollout_hash: Some(hash),
            ..status.common
        }
    });
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.insert(KEPT.to_owned(), serde_json::to_string(&kept)?);
    serde_json::to_value(Object { api_version: NEWER.to_owned(), kind: older.kind, metadata, spec, status })
}

fn down(object: Value) -> Result<Value, serde_json::Error> {
    let newer: Object<SpecV1alpha2, CommonStatus> = serde_json::from_value(object)?;
    let SpecV1alpha2 { mut common, force_promote } = newer.spec;
    let mut metadata = newer.metadata;
    let kept = metadata.annotations.as_mut().and_then(|annotations| annotations.remove(KEPT));
    let kept: Kept = kept.map(|kept| serde_json::from_str(&kept)).transpose()?.unwrap_or_default();
    if let (Some(_), Some(annotations)) = (&kept.environmentd_iam_role_arn, &mut common.service_account_annotations) {
        annotations.remove(ROLE);
    }
    let spec = SpecV1alpha1 {
        common,
        request_rollout: kept.request_rollout,
        in_place_rollout: kept.in_place_rollout,
        environmentd_iam_role_arn: kept.environmentd_iam_role_arn,
        force_promote: force_promote.unwrap_or(kept.force_promote),
    };
    let status = newer.status.map(|common| StatusV1alpha1 {
        common,
        last_completed_rollout_request: kept.last_completed_rollout_request,
        resources_hash: kept.resources_hash,
    });
    serde_json::to_value(Object { api_version: OLDER.to_owned(), kind: newer.kind, metadata, spec, status })
}

fn rollout_hash(spec: &SpecV1alpha2) -> Result<String, serde_json::Error> {
    let mut hashed = spec.clone();
    hashed.common.balancerd_external_certificate_spec = None;
    hashed.common.balancerd_replicas = None;
    hashed.common.balancerd_resource_requirements = None;
    hashed.common.console_external_certificate_spec = None;
    hashed.common.console_replicas = None;
    hashed.common.console_resource_requirements = None;
    hashed.force_promote = None;
    let digest = Sha256::digest(serde_json::to_vec(&hashed)?);
    Ok(digest.iter().fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    }))
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, port, certs] = words.as_slice() else { panic!("usage: axum PORT DIRECTORY-OF-tls.crt-AND-tls.key") };
    let chain = CertificateDer::pem_file_iter(format!("{certs}/tls.crt")).unwrap().collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{certs}/tls.key")).unwrap();
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let app = Router::new().route("/convert", post(review)).layer(DefaultBodyLimit::disable());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, app) = (acceptor.clone(), app.clone());
        tokio::spawn(async move {
            stream.set_nodelay(true).unwrap();
            let Ok(tls) = acceptor.accept(stream).await else { return };
            let service = TowerToHyperService::new(app);
            // A client that disconnects is no failure.
            let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(tls), service).await;
        });
    }
}
