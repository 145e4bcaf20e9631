//! A server in this process, on its own ports, with a mounted certificate.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use pointsman_core::webhook::{Outcome, Reply};
use pointsman_server::{Options, RequestHandler, ServeError, Server, Shutdown, Trigger};
use tokio::task::JoinHandle;

use super::certs::{Authority, Pair};
use super::client::{Answer, Client, Dial, get};
use super::volume::Volume;

/// A running server; dropping it ends the server.
pub(crate) struct TestServer {
    pub(crate) addr: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) authority: Authority,
    /// The initial pair.
    pub(crate) pair: Pair,
    pub(crate) volume: Volume,
    trigger: Trigger,
    task: JoinHandle<Result<(), ServeError>>,
}

impl TestServer {
    /// A server that echoes.
    pub(crate) async fn echo() -> Self {
        Self::start(echo(), |_| {}).await
    }

    /// A server with the options changed by `tune`. Lame duck is 0 and certificates are read every 50 ms unless `tune`
    /// changes this; all other options are as in production.
    pub(crate) async fn start(decide: RequestHandler, tune: impl FnOnce(&mut Options)) -> Self {
        let authority = Authority::new();
        let pair = authority.issue();
        let volume = Volume::new(&pair);
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut options = Options::new(any, any, volume.cert_paths());
        options.lame_duck = Duration::ZERO;
        options.reload_interval = Duration::from_millis(50);
        tune(&mut options);
        let bound = Server::bind(options, decide).await.unwrap();
        let (addr, admin) = (bound.local_addr().unwrap(), bound.admin_addr().unwrap());
        let (trigger, shutdown) = Shutdown::channel();
        let task = tokio::spawn(bound.run(shutdown));
        Self { addr, admin, authority, pair, volume, trigger, task }
    }

    /// Connects to the server, over HTTP/1.1 by default.
    pub(crate) fn dial(&self) -> Dial {
        Dial::new(self.addr, &self.authority)
    }

    pub(crate) async fn http1(&self) -> Client {
        self.dial().connect().await.unwrap()
    }

    pub(crate) async fn http2(&self) -> Client {
        self.dial().http2().connect().await.unwrap()
    }

    /// Sends the first signal; a second call sends the second signal.
    pub(crate) fn stop(&self) {
        self.trigger.stop();
    }

    /// The server's result; fails if the server does not end.
    pub(crate) async fn ended(self) -> Result<(), ServeError> {
        tokio::time::timeout(Duration::from_secs(10), self.task).await.expect("the server ends").unwrap()
    }

    pub(crate) async fn admin(&self, path: &str) -> Answer {
        get(self.admin, path).await.unwrap()
    }

    /// The value of a series, named as in `/metrics` without the pointsman prefix; `None` if the series is absent.
    pub(crate) async fn metric(&self, series: &str) -> Option<f64> {
        let text = self.admin("/metrics").await.text();
        text.lines()
            .filter_map(|line| line.strip_prefix("pointsman_")?.rsplit_once(' '))
            .find(|(name, _)| *name == series)
            .map(|(_, value)| value.parse().unwrap())
    }
}

/// Answers with the request's own body.
pub(crate) fn echo() -> RequestHandler {
    RequestHandler::from_fn(|request| Ok(echo_reply(request.body())))
}

pub(crate) fn echo_reply(body: &[u8]) -> Reply {
    Reply {
        body: body.to_vec(),
        outcome: Outcome::Allow,
        uid: "uid".to_owned(),
        message: None,
        failed: None,
        failures: Vec::new(),
        conversions: Vec::new(),
        notices: Vec::new(),
        verdicts: Vec::new(),
        flip: None,
    }
}
