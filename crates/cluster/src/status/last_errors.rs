//! Reads the last errors of servers at their admin ports.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use http::header::HOST;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::reported_errors::{NO_LIST, ReportedErrors, plain};
use crate::call_error::{CallError, RIGHTS, is_about_rights};
use crate::cluster::Cluster;
use crate::conversion::Replica;

/// The admin ports to read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AdminPorts {
    /// None.
    Disabled,
    /// Those of the Service's Pods, at this port, through the API server's proxy.
    OfPods(u16),
    /// These, as `host:port`, directly.
    These(Vec<String>),
}

/// The admin ports, and their responses: each is read once for several kinds.
#[derive(Debug)]
pub struct ErrorReports {
    ports: AdminPorts,
    responses: RefCell<BTreeMap<String, Result<Value, String>>>,
}

impl ErrorReports {
    /// Without responses.
    #[must_use]
    pub fn new(ports: AdminPorts) -> Self {
        Self { ports, responses: RefCell::default() }
    }

    /// The readable endpoints, each with its path in the API server's proxy, if used.
    fn endpoints(&self, replicas: &[Replica]) -> Vec<(String, Option<String>)> {
        match &self.ports {
            AdminPorts::Disabled => Vec::new(),
            AdminPorts::These(addresses) => addresses.iter().map(|address| (address.clone(), None)).collect(),
            AdminPorts::OfPods(port) => {
                let path = |pod: &String| format!("{pod}:{port}/proxy/errors");
                replicas.iter().filter_map(|one| Some((one.address.clone(), Some(path(one.pod.as_ref()?))))).collect()
            }
        }
    }

    /// Reads all unread endpoints concurrently: behind a firewall, each takes the full timeout.
    async fn read(&self, cluster: &Cluster, endpoints: &[(String, Option<String>)]) {
        let mut asking = JoinSet::new();
        for (endpoint, path) in
            endpoints.iter().filter(|(endpoint, _)| !self.responses.borrow().contains_key(endpoint)).cloned()
        {
            let cluster = cluster.clone();
            asking.spawn(async move {
                let response = match path {
                    Some(path) => cluster.get_once(&path, PATIENCE, LARGEST).await.map_err(|error| reason(&error)),
                    None => read(&endpoint).await,
                };
                (endpoint, response)
            });
        }
        while let Some(Ok((endpoint, response))) = asking.join_next().await {
            self.responses.borrow_mut().insert(endpoint, response);
        }
    }
}

/// All reports, and endpoints without report. `kind` is spelled as in its definition: errors of other kinds are
/// excluded.
pub(super) async fn last_errors(
    cluster: &Cluster,
    reports: &ErrorReports,
    replicas: &[Replica],
    kind: &str,
) -> ReportedErrors {
    let mut seen = ReportedErrors::default();
    let endpoints = reports.endpoints(replicas);
    if endpoints.is_empty() && reports.ports != AdminPorts::Disabled {
        seen.unknown.push("no Pod responds; name a Pod with --admin HOST:PORT".to_owned());
    }
    if !endpoints.is_empty() && matches!(reports.ports, AdminPorts::OfPods(_)) {
        let nameless = replicas.iter().filter(|one| one.pod.is_none());
        seen.unknown.extend(nameless.map(|one| format!("{}: the endpoint names no Pod", one.address)));
    }
    reports.read(cluster, &endpoints).await;
    let response = reports.responses.borrow();
    let mut may_not = None;
    for (endpoint, _) in &endpoints {
        match response.get(endpoint) {
            // Permissions are the same for all endpoints.
            Some(Err(reason)) if is_about_rights(reason) => may_not = Some(format!("{}; {RIGHTS}", plain(reason))),
            Some(response) => seen.take(endpoint, kind, response.as_ref()),
            None => {}
        }
    }
    seen.unknown.extend(may_not);
    seen.errors.sort_by(|one, other| (&other.last, &one.endpoint).cmp(&(&one.last, &other.endpoint)));
    seen
}

fn reason(error: &CallError) -> String {
    match error {
        CallError::Refused { code: 404, .. } => OLDER.to_owned(),
        CallError::NotJson { .. } => NO_LIST.to_owned(),
        error => error.message(),
    }
}

/// Reads `host:port` over plain HTTP.
async fn read(address: &str) -> Result<Value, String> {
    let late = |_| Err(format!("no answer within {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, fetch(address)).await.unwrap_or_else(late)
}

async fn fetch(address: &str) -> Result<Value, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let text = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(text)?;
    // Dropped at the end in any case, since `--watch` reads repeatedly.
    let mut connections = JoinSet::new();
    connections.spawn(connection);
    let request = Request::get("/errors").header(HOST, address).body(Empty::<Bytes>::new());
    let response = sender.send_request(request.map_err(|error| error.to_string())?).await.map_err(text)?;
    let code = response.status().as_u16();
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    match code {
        200 => {
            let body = body.map_err(|error| format!("the answer ends early or never: {error}"))?.to_bytes();
            Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
        }
        404 => Err(OLDER.to_owned()),
        code => Err(format!("HTTP {code}")),
    }
}

/// Ten times the memory of a server.
const LARGEST: usize = 1 << 20;

const OLDER: &str = "the Pod has no list of errors: its pointsman is older, or the Pod was just deleted";

/// Short, since the command is interactive and the result optional.
const PATIENCE: Duration = Duration::from_secs(3);
