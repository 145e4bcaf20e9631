//! A replacement for kube-proxy and Pod readiness: one address in front of the ready instances.
//!
//! As in kube-proxy, the choice is per connection, established connections stay, and a refused connection is passed to
//! another instance.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hyper::Method;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::client::{RUNTIME, plain};

/// An instance: its port, and the port of its readiness probe.
pub(crate) type Backend = (u16, u16);

pub(crate) struct Balancer {
    backends: Arc<Mutex<Vec<Backend>>>,
    stop: Arc<AtomicBool>,
    breaks: Arc<Notify>,
    accepting: JoinHandle<()>,
}

impl Balancer {
    pub(crate) fn start(port: u16) -> Self {
        let backends = Arc::new(Mutex::new(Vec::<Backend>::new()));
        let ready = Arc::new(Mutex::new(Vec::<u16>::new()));
        let stop = Arc::new(AtomicBool::new(false));
        {
            let (backends, ready, stop) = (backends.clone(), ready.clone(), stop.clone());
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let all = backends.lock().unwrap().clone();
                    let is_ready = |(_, admin): &Backend| {
                        let answer = plain(Method::GET, *admin, "/readyz", String::new());
                        answer.is_some_and(|(code, _)| code == 200)
                    };
                    let now = all.into_iter().filter(is_ready).map(|(port, _)| port).collect();
                    *ready.lock().unwrap() = now;
                    thread::sleep(PROBE);
                }
            });
        }
        let listener = RUNTIME.block_on(TcpListener::bind(("127.0.0.1", port))).unwrap();
        let breaks = Arc::new(Notify::new());
        let broken = breaks.clone();
        let accepting = RUNTIME.spawn(async move {
            let turn = AtomicUsize::new(0);
            while let Ok((mut client, _)) = listener.accept().await {
                let chosen = {
                    let ready = ready.lock().unwrap();
                    ready.get(turn.fetch_add(1, Ordering::Relaxed) % ready.len().max(1)).copied()
                };
                let broken = broken.clone();
                tokio::spawn(async move {
                    let Some(port) = chosen else { return };
                    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                        let _ = client.set_nodelay(true);
                        let _ = server.set_nodelay(true);
                        tokio::select! {
                            _ = copy_bidirectional(&mut client, &mut server) => {}
                            () = broken.notified() => {}
                        }
                    }
                });
            }
        });
        Self { backends, stop, breaks, accepting }
    }

    /// Sets the instances, from the next probe on.
    pub(crate) fn set(&self, backends: &[Backend]) {
        *self.backends.lock().unwrap() = backends.to_vec();
        thread::sleep(PROBE * 3);
    }

    /// Closes established connections: the next ones lead to other instances.
    pub(crate) fn breaks(&self) {
        self.breaks.notify_waiters();
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.accepting.abort();
        // The port is free after this call.
        let _ = RUNTIME.block_on(&mut self.accepting);
    }
}

/// Much shorter than the lame duck period, as in a cluster.
const PROBE: Duration = Duration::from_millis(100);
