//! Attacks of a client that reaches the port. All on the loopback address, bounded in number.

use std::iter;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::client::TlsStream;

use super::client::{Dial, get};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Attack {
    /// Connections to the webhooks that send nothing, not even TLS.
    Silent,
    /// Silent connections to the port of the probes.
    SilentAdmin,
    /// Silent connections from as many addresses.
    SilentAddresses,
    /// TLS handshakes without a request.
    IdleTls,
    /// TLS and half a head.
    HalfHeads,
    /// TLS and a head that arrives byte by byte.
    DrippingHeads,
    /// Most of a large body, then silence.
    HalfBodies,
    /// A body that arrives byte by byte.
    DrippingBodies,
    /// Large bodies on several streams of many HTTP/2 connections, as fast as the server accepts.
    Http2Bodies,
    /// One request on each of many connections, from several addresses, then silence.
    Asked,
    /// Consecutive requests on each of many connections, from several addresses.
    Busy,
    /// HTTP/2 streams whose body never starts.
    Announced,
    /// Announced streams with a path of the maximum head size.
    LongPaths,
    /// Announced streams, the maximum per connection, on one connection after another.
    Crowds,
    /// Unread responses over HTTP/2.
    Unread,
    /// Unread responses over HTTP/1.1, followed by further requests.
    UnreadHttp1,
    /// Consecutive handshakes.
    Handshakes,
    /// HTTP/2 streams that are reset directly after opening (CVE-2023-44487).
    RapidReset,
    /// An endless HTTP/2 head (CVE-2024-27316).
    Continuation,
    /// HTTP/2 heads of two thousand fields, which cost one byte each to send.
    Heads,
    /// Pings that require a response.
    Pings,
    /// Settings that require an acknowledgement.
    Settings,
    /// Data that is not HTTP.
    Malformed,
    /// Reviews that contain only empty objects.
    EmptyObjects,
    /// Reviews of millions of numbers instead of objects.
    Zeros,
    /// Reviews that fail with a message that would repeat a long version for each object.
    LongVersions,
    /// Reviews with the maximum number of objects.
    Lists,
    /// Reviews that fail and are logged, while the log is not read.
    Failing,
    /// Invalid reviews, each refused.
    Refused,
    /// Repeated reads of the metrics.
    Scrapes,
}

impl Attack {
    pub(crate) const ALL: [Self; 30] = [
        Self::Silent,
        Self::SilentAdmin,
        Self::SilentAddresses,
        Self::IdleTls,
        Self::HalfHeads,
        Self::DrippingHeads,
        Self::HalfBodies,
        Self::DrippingBodies,
        Self::Http2Bodies,
        Self::Asked,
        Self::Busy,
        Self::Announced,
        Self::LongPaths,
        Self::Crowds,
        Self::Unread,
        Self::UnreadHttp1,
        Self::Handshakes,
        Self::RapidReset,
        Self::Continuation,
        Self::Heads,
        Self::Pings,
        Self::Settings,
        Self::Malformed,
        Self::EmptyObjects,
        Self::Zeros,
        Self::LongVersions,
        Self::Lists,
        Self::Failing,
        Self::Refused,
        Self::Scrapes,
    ];

    /// Starts the attack on a thread of its own. The attack runs until the result is dropped.
    pub(crate) fn begin(self, addr: SocketAddr, admin: SocketAddr, dial: &Dial) -> oneshot::Sender<()> {
        let (running, end) = oneshot::channel();
        let dial = dial.clone();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut attackers = JoinSet::new();
                for number in 0..self.times() {
                    let dial = match self {
                        Self::Asked | Self::Busy => dial.clone().from(neighbour(number)),
                        Self::SilentAddresses => dial.clone().from(stranger(number)),
                        _ => dial.clone(),
                    };
                    attackers.spawn(self.attack(addr, admin, dial));
                }
                // The sender is dropped, which ends all attack tasks.
                let _ = end.await;
            });
        });
        running
    }

    fn times(self) -> usize {
        match self {
            Self::SilentAddresses => 3000,
            Self::Silent | Self::SilentAdmin => 500,
            Self::Asked | Self::Busy | Self::DrippingHeads | Self::HalfHeads | Self::IdleTls => 400,
            Self::DrippingBodies | Self::HalfBodies | Self::Http2Bodies => 100,
            Self::UnreadHttp1 => 50,
            Self::Crowds => 40,
            Self::Heads | Self::LongPaths => 20,
            Self::Announced => 9,
            Self::EmptyObjects
            | Self::Failing
            | Self::Handshakes
            | Self::Lists
            | Self::LongVersions
            | Self::Malformed
            | Self::Refused
            | Self::Scrapes
            | Self::Unread
            | Self::Zeros => 4,
            Self::Continuation | Self::Pings | Self::RapidReset | Self::Settings => 2,
        }
    }

    /// Runs the attack; its errors are ignored.
    async fn attack(self, addr: SocketAddr, admin: SocketAddr, dial: Dial) {
        let _ = match self {
            Self::Silent => hold(TcpStream::connect(addr).await).await,
            Self::SilentAddresses => again(|| silent(&dial)).await,
            Self::SilentAdmin => hold(TcpStream::connect(admin).await).await,
            Self::IdleTls => hold(dial.handshake().await).await,
            Self::HalfHeads => write(&dial, HALF_A_HEAD, 0).await,
            Self::DrippingHeads => drip(&dial, HALF_A_HEAD).await,
            Self::HalfBodies => write(&dial, HEAD, 1_000_000).await,
            Self::DrippingBodies => drip(&dial, HEAD).await,
            Self::Http2Bodies => {
                let dial = dial.http2();
                again(|| bodies(&dial)).await
            }
            Self::Asked => ask(&dial, Duration::MAX).await,
            Self::Busy => again(|| ask(&dial, Duration::from_millis(100))).await,
            Self::Announced => streams(&dial.http2(), "/convert", false).await,
            Self::LongPaths => {
                let path = format!("/convert?{}", "x".repeat(60_000));
                streams(&dial.http2(), &path, false).await
            }
            Self::Crowds => again(|| crowd(&dial)).await,
            Self::Unread => streams(&dial.http2().window(0), "/convert", true).await,
            Self::UnreadHttp1 => again(|| pipeline(&dial)).await,
            Self::Handshakes => again(|| dial.handshake()).await,
            Self::RapidReset => again(|| flood(&dial, iter::successors(Some(1), |id| Some(id + 2)).map(reset))).await,
            Self::Continuation => {
                let frames = || iter::once(frame(1, 0, 1, HEADERS)).chain(iter::repeat_with(|| frame(9, 0, 1, &MORE)));
                again(|| flood(&dial, frames())).await
            }
            Self::Heads => again(|| flood(&dial, iter::successors(Some(1), |id| Some(id + 2)).map(head))).await,
            Self::Pings => again(|| flood(&dial, iter::repeat_with(|| frame(6, 0, 0, &[0; 8])))).await,
            Self::Settings => again(|| flood(&dial, iter::repeat_with(|| frame(4, 0, 0, &[])))).await,
            Self::Malformed => again(|| malformed(&dial)).await,
            Self::EmptyObjects => again(|| post(&dial, review(V1ALPHA2, "{}", 700_000))).await,
            Self::Zeros => again(|| post(&dial, review(V1ALPHA2, "0", 2_000_000))).await,
            Self::LongVersions => again(|| post(&dial, review(&"\\u0000".repeat(10_000), OBJECT, 500))).await,
            Self::Lists => again(|| post(&dial, review(V1ALPHA2, OBJECT, 50_000))).await,
            Self::Failing => again(|| post(&dial, review(V1ALPHA2, "{}", 1))).await,
            Self::Refused => again(|| post(&dial, b"{}".to_vec())).await,
            Self::Scrapes => again(|| get(admin, "/metrics")).await,
        };
    }
}

const HALF_A_HEAD: &str = "POST /convert HTTP/1.1\r\nHost:";

const HEAD: &str =
    "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000001\r\n\r\n";

async fn hold<T>(held: std::io::Result<T>) -> Option<()> {
    let _held = held.ok()?;
    std::future::pending().await
}

/// Repeats the attack forever, each time it ends.
pub(super) async fn again<T, F: Future<Output = T>>(attack: impl Fn() -> F) -> Option<()> {
    loop {
        attack().await;
        sleep(Duration::from_millis(1)).await;
    }
}

async fn write(dial: &Dial, head: &str, body: usize) -> Option<()> {
    let mut tls = dial.handshake().await.ok()?;
    tls.write_all(head.as_bytes()).await.ok()?;
    tls.write_all(&vec![b' '; body]).await.ok()?;
    tls.flush().await.ok()?;
    hold(Ok(tls)).await
}

async fn streams(dial: &Dial, path: &str, whole: bool) -> Option<()> {
    let client = dial.connect().await.ok()?;
    let mut streams = JoinSet::new();
    for _ in 0..250 {
        let (mut stream, path) = (client.stream(), path.to_owned());
        streams.spawn(async move {
            match whole {
                true => stream.post(&path, vec![b' '; 50_000]).await.map(drop),
                false => stream.announce(&path, 1 << 20).await.map(drop),
            }
        });
    }
    while streams.join_next().await.is_some() {}
    Some(())
}

/// Four large bodies at a time.
async fn bodies(dial: &Dial) -> Option<()> {
    let client = dial.connect().await.ok()?;
    let mut streams = JoinSet::new();
    for _ in 0..4 {
        let mut stream = client.stream();
        streams.spawn(async move { while stream.post("/convert", vec![b' '; 1 << 20]).await.is_ok() {} });
    }
    while streams.join_next().await.is_some() {}
    Some(())
}

/// Posts the same body a thousand times on one connection.
async fn post(dial: &Dial, body: Vec<u8>) -> Option<()> {
    let mut client = dial.connect().await.ok()?;
    for _ in 0..1000 {
        client.post("/convert", body.clone()).await.ok()?;
    }
    Some(())
}

/// Posts a small review after each pause.
async fn ask(dial: &Dial, pause: Duration) -> Option<()> {
    let mut client = dial.connect().await.ok()?;
    loop {
        client.post("/convert", review(V1ALPHA2, OBJECT, 1)).await.ok()?;
        sleep(pause).await;
    }
}

/// A silent connection, until the server closes the connection.
async fn silent(dial: &Dial) -> Option<()> {
    let mut socket = dial.socket().await.ok()?;
    socket.read_u8().await.ok().map(drop)
}

/// A distinct address for each of thousands of clients.
fn stranger(number: usize) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, 1, high, low)
}

/// One of eight addresses that no other client uses.
fn neighbour(number: usize) -> Ipv4Addr {
    let [.., last] = number.to_be_bytes();
    Ipv4Addr::new(127, 0, 0, 2 + last % 8)
}

/// Writes byte by byte.
async fn drip(dial: &Dial, head: &str) -> Option<()> {
    let mut tls = dial.handshake().await.ok()?;
    tls.write_all(head.as_bytes()).await.ok()?;
    loop {
        tls.write_all(b" ").await.ok()?;
        tls.flush().await.ok()?;
        sleep(Duration::from_millis(100)).await;
    }
}

/// Sends requests endlessly and never reads.
async fn pipeline(dial: &Dial) -> Option<()> {
    let mut tls = dial.handshake().await.ok()?;
    let body = " ".repeat(50_000);
    let length = body.len();
    let request = format!(
        "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    loop {
        tls.write_all(request.as_bytes()).await.ok()?;
    }
}

/// A review with this many equal objects.
pub(super) fn review(desired: &str, object: &str, times: usize) -> Vec<u8> {
    let objects = vec![object; times].join(",");
    format!(
        "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"request\":\
         {{\"uid\":\"u\",\"desiredAPIVersion\":\"{desired}\",\"objects\":[{objects}]}}}}"
    )
    .into_bytes()
}

pub(super) const V1ALPHA2: &str = "materialize.cloud/v1alpha2";

pub(super) const OBJECT: &str =
    r#"{"apiVersion":"materialize.cloud/v1alpha1","kind":"Materialize","metadata":{"name":"a"},"spec":{}}"#;

async fn malformed(dial: &Dial) -> Option<()> {
    for shape in MALFORMED {
        let mut tls = dial.handshake().await.ok()?;
        tls.write_all(shape.as_bytes()).await.ok()?;
        tls.flush().await.ok()?;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(Duration::from_millis(20), tls.read_to_end(&mut answer)).await;
    }
    Some(())
}

const MALFORMED: [&str; 8] = [
    "\r\n\r\n\r\n\r\n",
    "GET\r\n\r\n",
    "POST /convert HTTP/9.9\r\n\r\n",
    "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "POST /convert HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzzz\r\n",
    "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    "POST /convert HTTP/1.1\r\n Folded: yes\r\n: no name\r\n\0: \0\r\n\r\n",
];

/// An HTTP/2 connection after its preface (RFC 9113, 3.4).
pub(super) async fn opened(dial: &Dial) -> Option<TlsStream<TcpStream>> {
    let mut tls = dial.clone().http2().handshake().await.ok()?;
    tls.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.ok()?;
    tls.write_all(&frame(4, 0, 0, &[])).await.ok()?;
    Some(tls)
}

/// Sends frames while the server accepts them, and reads the responses.
async fn flood(dial: &Dial, frames: impl Iterator<Item = Vec<u8>>) -> Option<()> {
    let (mut read, mut write) = tokio::io::split(opened(dial).await?);
    let mut reading = JoinSet::new();
    reading.spawn(async move {
        let mut buffer = [0; 4096];
        while read.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    });
    let mut batch = Vec::new();
    for frame in frames.take(1_000_000) {
        batch.extend(frame);
        if batch.len() > 8192 {
            write.write_all(&batch).await.ok()?;
            batch.clear();
            tokio::task::yield_now().await;
        }
    }
    Some(())
}

/// Opens 250 streams with one write, and disconnects a second later.
async fn crowd(dial: &Dial) -> Option<()> {
    const END_HEADERS: u8 = 4;
    let head = [HEADERS, b"\x0f\x10\x10application/json"].concat();
    let heads = (0..250).flat_map(|at| frame(1, END_HEADERS, 2 * at + 1, &head));
    let mut tls = opened(dial).await?;
    tls.write_all(&heads.collect::<Vec<_>>()).await.ok()?;
    tls.flush().await.ok()?;
    sleep(Duration::from_secs(1)).await;
    Some(())
}

/// An HTTP/2 frame (RFC 9113, 4.1).
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The frames that open and reset a stream.
fn reset(stream: u32) -> Vec<u8> {
    const END_HEADERS: u8 = 4;
    let mut frames = frame(1, END_HEADERS, stream & 0x7fff_ffff, HEADERS);
    frames.extend(frame(3, 0, stream & 0x7fff_ffff, &8_u32.to_be_bytes()));
    frames
}

/// A request without a body, with as many `a: b` as fit into 64 KiB: first in full, then by index.
fn head(stream: u32) -> Vec<u8> {
    const END_STREAM_AND_HEADERS: u8 = 5;
    let field: &[u8] = if stream == 1 { b"\x40\x01a\x01b" } else { b"\xbe" };
    let payload = [HEADERS, field, &b"\xbe".repeat(1900)].concat();
    frame(1, END_STREAM_AND_HEADERS, stream & 0x7fff_ffff, &payload)
}

/// `POST https://localhost/convert` in HPACK.
pub(super) const HEADERS: &[u8] = b"\x83\x87\x04\x08/convert\x01\x09localhost";

/// A thousand fields `a: b`.
static MORE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| b"\x00\x01a\x01b".repeat(1000));
