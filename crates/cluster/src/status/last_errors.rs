//! Asking those who answer for their last errors, at their admin ports.

use std::time::Duration;

use http::Request;
use http::header::HOST;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::kind_status::AdminPorts;
use super::reported_errors::{NO_LIST, ReportedErrors};
use crate::call_error::{CallError, RIGHTS};
use crate::cluster::Cluster;
use crate::conversion::Replica;

/// Asks everybody, or says of whom they are not known, and why. `kind` is as its definition names it: errors of others
/// are left out.
pub(super) async fn last_errors(
    cluster: &Cluster,
    ports: &AdminPorts,
    replicas: &[Replica],
    kind: &str,
) -> ReportedErrors {
    let mut seen = ReportedErrors::default();
    match ports {
        AdminPorts::Nobody => {}
        AdminPorts::These(addresses) => {
            for address in addresses {
                seen.take(address, kind, ask(address).await);
            }
        }
        AdminPorts::OfPods(port) => by_the_api_server(cluster, *port, replicas, kind, &mut seen).await,
    }
    seen.errors.sort_by(|one, other| (&other.last, &one.endpoint).cmp(&(&one.last, &other.endpoint)));
    seen
}

/// The API server reaches Pods from wherever it is asked, and asks them for whoever may have it do so.
async fn by_the_api_server(cluster: &Cluster, port: u16, replicas: &[Replica], kind: &str, seen: &mut ReportedErrors) {
    let mut pods = replicas.iter().filter_map(|one| Some((&one.address, one.pod.as_ref()?))).peekable();
    if pods.peek().is_none() {
        seen.unknown.push("no Pod is named that answers; --admin HOST:PORT says whom to ask".to_owned());
    }
    for (endpoint, pod) in pods {
        let told = cluster.get_once(&format!("{pod}:{port}/proxy/errors"), PATIENCE).await;
        if let Err(error) = &told
            && error.is_of_missing_rights()
        {
            // It is the same for the next one.
            seen.unknown.push(format!("{}; {RIGHTS}", error.message()));
            return;
        }
        seen.take(endpoint, kind, told.map_err(|error| reason(&error)));
    }
}

fn reason(error: &CallError) -> String {
    match error {
        CallError::Refused { code: 404, .. } => OLDER.to_owned(),
        CallError::NotJson { .. } => NO_LIST.to_owned(),
        error => error.message(),
    }
}

/// What `host:port` tells, which is plain HTTP.
async fn ask(address: &str) -> Result<Value, String> {
    let late = |_| Err(format!("no answer within {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, fetch(address)).await.unwrap_or_else(late)
}

async fn fetch(address: &str) -> Result<Value, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let text = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(text)?;
    let connection = tokio::spawn(connection);
    let request = Request::get("/errors").header(HOST, address).body(Empty::<Bytes>::new());
    let response = sender.send_request(request.map_err(|error| error.to_string())?).await.map_err(text)?;
    let code = response.status().as_u16();
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    connection.abort();
    match code {
        200 => {
            let body = body.map_err(|error| format!("the answer ends early or never: {error}"))?.to_bytes();
            Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
        }
        404 => Err(OLDER.to_owned()),
        code => Err(format!("HTTP {code}")),
    }
}

/// Ten times what a server remembers.
const LARGEST: usize = 1 << 20;

const OLDER: &str = "it tells no errors: its pointsman is older than this one, or the Pod has just gone";

/// Somebody waits, and can do without the answer.
const PATIENCE: Duration = Duration::from_secs(5);
