//! A hostile neighbour beside callers that behave: a kept connection and fresh ones that ask for one small object at a
//! time, as kube-apiservers do. All on the loopback address, bounded in number and time.

use std::thread;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::support::client::{Answer, Client, Dial, get};
use crate::support::server::{TestServer, echo};

/// What fits into 128 MiB.
const BUDGET: u64 = 48 << 20;
const CONNECTIONS: usize = 341;

#[derive(Clone, Copy, Debug)]
enum Attack {
    /// Connections to the webhooks that say nothing, not even for TLS.
    Silent,
    /// The same on the port of the probes.
    SilentAdmin,
    /// TLS, and half a head.
    HalfHeads,
    /// Most of a large body, and then nothing more.
    HalfBodies,
    /// HTTP/2 streams whose body never begins.
    Announced,
    /// Answers that are never read.
    Unread,
}

impl Attack {
    const ALL: [Self; 6] =
        [Self::Silent, Self::SilentAdmin, Self::HalfHeads, Self::HalfBodies, Self::Announced, Self::Unread];

    /// Begins it, on a thread of its own, and keeps it up until the result is dropped.
    fn begin(self, server: &TestServer) -> oneshot::Sender<()> {
        let (addr, admin, dial) = (server.addr, server.admin, server.dial());
        let (running, end) = oneshot::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut attackers = JoinSet::new();
                for _ in 0..self.times() {
                    let dial = dial.clone();
                    attackers.spawn(async move {
                        // What goes wrong here is the attacker's business.
                        let _ = match self {
                            Self::Silent => hold(TcpStream::connect(addr).await).await,
                            Self::SilentAdmin => hold(TcpStream::connect(admin).await).await,
                            Self::HalfHeads => write(&dial, HALF_A_HEAD, 0).await,
                            Self::HalfBodies => write(&dial, HEAD, 1_000_000).await,
                            Self::Announced => streams(&dial.http2(), false).await,
                            Self::Unread => streams(&dial.http2().window(0), true).await,
                        };
                    });
                }
                // It is dropped, and so are they.
                let _ = end.await;
            });
        });
        running
    }

    fn times(self) -> usize {
        match self {
            Self::Silent | Self::SilentAdmin => 500,
            Self::HalfHeads => 400,
            Self::HalfBodies => 100,
            Self::Announced => 9,
            Self::Unread => 4,
        }
    }
}

const HALF_A_HEAD: &str = "POST /convert HTTP/1.1\r\nHost:";

const HEAD: &str =
    "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000001\r\n\r\n";

async fn hold<T>(held: std::io::Result<T>) -> Option<()> {
    let _held = held.ok()?;
    std::future::pending().await
}

async fn write(dial: &Dial, head: &str, body: usize) -> Option<()> {
    let mut tls = dial.handshake().await.ok()?;
    tls.write_all(head.as_bytes()).await.ok()?;
    tls.write_all(&vec![b' '; body]).await.ok()?;
    tls.flush().await.ok()?;
    hold(Ok(tls)).await
}

async fn streams(dial: &Dial, whole: bool) -> Option<()> {
    let client = dial.connect().await.ok()?;
    let mut streams = JoinSet::new();
    for _ in 0..250 {
        let mut stream = client.stream();
        streams.spawn(async move {
            match whole {
                true => stream.post("/convert", vec![b' '; 50_000]).await.map(drop),
                false => stream.announce("/convert", 1 << 20).await.map(drop),
            }
        });
    }
    while streams.join_next().await.is_some() {}
    Some(())
}

/// A call as client-go makes it: 503 with `Retry-After` is asked again, up to ten times.
async fn call(client: &mut Client) -> hyper::Result<Answer> {
    for _ in 0..10 {
        let answer = client.post("/convert", vec![b' '; 20_000]).await?;
        if answer.status != 503 {
            return Ok(answer);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    client.post("/convert", vec![b' '; 20_000]).await
}

/// A call on a connection of its own. One that is closed before anything was sent on it is dialled again, as Go does.
async fn fresh_call(server: &TestServer) -> bool {
    for _ in 0..3 {
        if let Ok(mut client) = server.dial().connect().await
            && let Ok(answer) = call(&mut client).await
        {
            return answer.status == 200;
        }
    }
    false
}

/// A kubelet's probe, which may miss twice.
async fn probe(server: &TestServer) -> bool {
    for _ in 0..3 {
        if let Ok(answer) = get(server.admin, "/livez").await {
            return answer.status == 200;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_attack_fails_a_kept_call_or_holds_off_a_fresh_one() {
    for attack in Attack::ALL {
        let server = TestServer::start(echo(), |options| {
            options.memory_budget = BUDGET;
            options.max_connections = CONNECTIONS;
        })
        .await;
        let mut kept = server.http1().await;
        assert_eq!(call(&mut kept).await.unwrap().status, 200);
        let running = attack.begin(&server);
        let (begun, mut slowest) = (Instant::now(), [Duration::ZERO; 3]);
        while begun.elapsed() < Duration::from_secs(4) {
            let at = Instant::now();
            let answer = call(&mut kept).await;
            assert!(answer.is_ok_and(|answer| answer.status == 200), "{attack:?}: kept");
            slowest[0] = slowest[0].max(at.elapsed());

            let at = Instant::now();
            assert!(fresh_call(&server).await, "{attack:?}: fresh");
            slowest[1] = slowest[1].max(at.elapsed());

            let at = Instant::now();
            assert!(probe(&server).await, "{attack:?}: livez");
            slowest[2] = slowest[2].max(at.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let [kept, fresh, livez] = slowest;
        let held = server.metric("memory_held_bytes").await;
        eprintln!("{attack:?}: kept {kept:?}, fresh {fresh:?}, livez {livez:?}, held {held:?}");
        // Alone on two cores it is half a second. The attackers and all other tests are on them as well.
        assert!(kept < Duration::from_secs(4), "{attack:?}: kept {kept:?}");
        assert!(fresh < Duration::from_secs(4), "{attack:?}: fresh {fresh:?}");
        assert!(livez < Duration::from_secs(2), "{attack:?}: livez {livez:?}");
        drop(running);
    }
}
