//! A proxy between a program and the API server. It passes calls on, and injects the faults of networks and busy
//! servers into chosen calls.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::client::{Client, Passed, RUNTIME, whole};

/// The treatment of a call.
pub(crate) enum Fate {
    Pass,
    /// The proxy answers; the API server receives nothing.
    Answer(u16, Option<u16>, String),
    /// The connection breaks; the API server receives nothing.
    CutBefore,
    /// The connection breaks, and the API server receives the call only after this delay.
    CutAndLate(Duration),
    /// The API server processes the call, and the connection breaks before the complete response.
    CutAfter,
    /// The call waits for [`Proxy::release`] and is passed on then.
    HeldBefore,
    /// The API server processes the call, and the response waits for [`Proxy::release`].
    HeldAfter,
    Late(Duration),
}

/// Takes the number of the call (from 0), the method and the path.
type Judge = dyn Fn(usize, &Method, &str) -> Fate + Send + Sync;

struct Between {
    judge: Box<Judge>,
    calls: Mutex<Vec<String>>,
    released: AtomicBool,
    target: Mutex<Arc<Client>>,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    between: Arc<Between>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(crate) fn start(client: &Client, judge: impl Fn(usize, &Method, &str) -> Fate + Send + Sync + 'static) -> Self {
        let between = Arc::new(Between {
            judge: Box::new(judge),
            calls: Mutex::default(),
            released: AtomicBool::new(false),
            target: Mutex::new(Arc::new(client.another())),
        });
        let listener = RUNTIME.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let all = between.clone();
        let accepting = RUNTIME.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let between = all.clone();
                tokio::spawn(async move {
                    let serve = service_fn(|request| between.answer(request));
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await;
                });
            }
        });
        Self { port, between, accepting }
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.between.calls.lock().unwrap().clone()
    }

    /// Releases all held calls, now and later.
    pub(crate) fn release(&self) {
        self.between.released.store(true, Ordering::Relaxed);
    }

    /// Connects to another API server from now on.
    pub(crate) fn lead_to(&self, client: &Client) {
        *self.between.target.lock().unwrap() = Arc::new(client.another());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Between {
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<Passed>> {
        let path = request.uri().path_and_query().unwrap().to_string();
        let number = {
            let mut calls = self.calls.lock().unwrap();
            calls.push(format!("{} {path}", request.method()));
            calls.len() - 1
        };
        let fate = (self.judge)(number, request.method(), &path);
        match &fate {
            Fate::Answer(code, retry_after, body) => {
                let mut response = Response::builder().status(*code).header("content-type", "application/json");
                if let Some(seconds) = retry_after {
                    response = response.header("retry-after", *seconds);
                }
                return Ok(response.body(whole(body.clone())).unwrap());
            }
            Fate::CutBefore => return Err(cut()),
            Fate::HeldBefore => self.released().await,
            Fate::Late(time) => sleep(*time).await,
            Fate::Pass | Fate::CutAfter | Fate::HeldAfter | Fate::CutAndLate(_) => {}
        }
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let target = self.target.lock().unwrap().clone();
        if let Fate::CutAndLate(time) = fate {
            tokio::spawn(async move {
                sleep(time).await;
                target.forward(head, &path, body).await
            });
            return Err(cut());
        }
        let response = target.forward(head, &path, body).await;
        match fate {
            Fate::CutAfter => return Err(cut()),
            Fate::HeldAfter => self.released().await,
            _ => {}
        }
        response.ok_or_else(cut)
    }

    async fn released(&self) {
        while !self.released.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

fn cut() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// The body of a failure of an API server.
pub(crate) fn status(code: u16, message: &str) -> String {
    serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code})
        .to_string()
}
