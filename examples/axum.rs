//! `POST /convert` in your own server: the core is a function of bytes, so it works with any HTTP library. TLS is left
//! to a proxy in front of the server; an API server requires TLS.

use std::sync::Arc;

use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Endpoint, Metadata, Request, Webhook};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let webhook = Arc::new(Webhook::new(Kind::embedded()?, Metadata::Identity)?);
    let convert = |body: Bytes| async move {
        match webhook.handle(&Request::new(Endpoint::Convert, &body)) {
            Ok(reply) => (StatusCode::OK, reply.body),
            Err(bad) => (StatusCode::BAD_REQUEST, bad.to_string().into_bytes()),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    Ok(axum::serve(listener, Router::new().route("/convert", post(convert))).await?)
}
