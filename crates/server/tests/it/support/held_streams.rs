//! Attacks that hold a server's request resources: connections, streams, partial bodies and unread responses, in any
//! number and for any time. Named attacks, and random ones by seed.

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use tokio_rustls::client::TlsStream;

use super::attack::{HEADERS, OBJECT, V1ALPHA2, again, frame, opened, review};
use super::callers::review_of_note;
use super::client::Dial;
use super::windows::Windows;

/// The held resources, their number, and the end of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldStreams {
    pub(crate) connections: usize,
    /// Streams per connection; 0 stands for HTTP/1.1, with one request.
    pub(crate) streams: u32,
    /// Announced bytes of each body.
    pub(crate) announced: u32,
    /// Sent bytes of each body.
    pub(crate) sent: u32,
    pub(crate) hold: Duration,
    pub(crate) end: End,
    pub(crate) body: Body,
    pub(crate) answers: Answers,
    /// Fields `a: b` in each head, which cost one byte each to send.
    pub(crate) fields: usize,
    /// True if the first head never ends.
    pub(crate) is_open: bool,
    /// Frames sent between the others: kind, flags and length.
    pub(crate) noise: Option<(u8, u8, usize)>,
    /// The address of the well-behaved callers, or another one.
    pub(crate) address: Ipv4Addr,
}

/// The end of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// The stream is reset, and others start.
    Reset,
    /// The connection is closed, and another one starts.
    Closed,
    /// Never: nothing more is sent.
    Never,
}

/// The contents of bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// Not a review.
    Blank,
    /// A review of one object, with a response of the same size.
    Object,
    /// A review with the maximum number of objects, whose decision takes many times its length.
    List,
}

/// The handling of responses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answers {
    Read,
    /// Never accepted: their HTTP/2 windows are closed. Over HTTP/1.1 they are not read.
    Shut,
    /// Nothing from the server is read.
    Deaf,
}

/// The next random number (splitmix64), its upper half.
fn drawn(state: &mut u64) -> u32 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z >> 32) as u32
}

/// Address of well-behaved callers.
pub(crate) const CALLERS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Another address of this machine.
pub(crate) const STRANGER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

impl HeldStreams {
    /// One byte of each body, held as long as a server might wait for the rest.
    pub(crate) fn one_byte(connections: usize, address: Ipv4Addr) -> Self {
        let (announced, sent, hold) = (4096, 1, Duration::from_millis(1900));
        let (end, body, answers) = (End::Reset, Body::Blank, Answers::Read);
        let (streams, fields, is_open, noise) = (250, 0, false, None);
        Self { connections, streams, announced, sent, hold, end, body, answers, fields, is_open, noise, address }
    }

    /// Bodies without their last byte, over HTTP/1.1.
    pub(crate) fn last_byte(address: Ipv4Addr) -> Self {
        let (announced, sent, end) = (250_000, 249_999, End::Closed);
        Self { streams: 0, announced, sent, end, ..Self::one_byte(200, address) }
    }

    /// Unread responses to reviews of 60 KB.
    pub(crate) fn unread(address: Ipv4Addr) -> Self {
        let (announced, sent, end) = (60_000, 60_000, End::Closed);
        let (body, answers) = (Body::Object, Answers::Shut);
        Self { streams: 20, announced, sent, end, body, answers, ..Self::one_byte(100, address) }
    }

    /// The maximum number of unread responses.
    pub(crate) fn all_unread(address: Ipv4Addr) -> Self {
        Self { connections: 320, streams: 8, hold: Duration::from_secs(5), ..Self::unread(address) }
    }

    /// More bodies than fit, each in transit as long as the server allows.
    pub(crate) fn all_bodies(address: Ipv4Addr) -> Self {
        let (announced, sent) = (1 << 20, (1 << 20) - 1);
        Self { connections: 320, announced, sent, hold: Duration::from_secs(5), ..Self::last_byte(address) }
    }

    /// Bodies over HTTP/2 in small pieces: thousands wait for each free byte.
    pub(crate) fn all_pieces(address: Ipv4Addr) -> Self {
        let (streams, announced, sent) = (8, 60_000, 59_999);
        Self { streams, announced, sent, ..Self::all_bodies(address) }
    }

    /// Consecutive lists, more than the server can decide at one time.
    pub(crate) fn lists(address: Ipv4Addr) -> Self {
        let (announced, body, hold) = (500_000, Body::List, Duration::ZERO);
        Self { streams: 0, announced, sent: announced, body, hold, ..Self::one_byte(150, address) }
    }

    /// Endless heads with more fields than the limit.
    pub(crate) fn open_heads(address: Ipv4Addr) -> Self {
        let (streams, fields, is_open, hold) = (1, 1800, true, Duration::from_secs(5));
        Self { streams, fields, is_open, hold, ..Self::one_byte(320, address) }
    }

    /// Endless resets, each of which a server might log.
    pub(crate) fn resets(address: Ipv4Addr) -> Self {
        let (hold, noise) = (Duration::ZERO, Some((3, 0, 4)));
        Self { hold, noise, ..Self::one_byte(24, address) }
    }

    /// A random attack, by seed.
    pub(crate) fn random(seed: u64) -> Self {
        let mut state = seed;
        let mut pick = |from: &[u32]| from[usize::try_from(drawn(&mut state)).unwrap() % from.len()];
        let announced = pick(&[0, 1, 4096, 20_000, 60_000, 250_000, 1 << 20, 4 << 20]);
        let sent = pick(&[0, 1, announced / 2, announced.saturating_sub(1), announced]).min(announced);
        let noise = [
            None,
            Some((6, 0, 8)),
            Some((4, 0, 0)),
            Some((2, 0, 5)),
            Some((8, 0, 4)),
            Some((3, 0, 4)),
            Some((0xfa, 0, 16_000)),
        ];
        Self {
            // Bounded by the work of one core in one or two seconds.
            connections: pick(&[1, 8, 24, 60, 150, 320]) as usize,
            streams: pick(&[0, 1, 8, 16, 60, 250]),
            announced,
            sent,
            hold: Duration::from_millis(pick(&[0, 50, 240, 600, 1900, 5000]).into()),
            end: [End::Reset, End::Closed, End::Never][pick(&[0, 1, 2]) as usize],
            body: [Body::Blank, Body::Object, Body::List][pick(&[0, 1, 2]) as usize],
            answers: [Answers::Read, Answers::Shut, Answers::Deaf][pick(&[0, 0, 1, 2]) as usize],
            fields: pick(&[0, 0, 20, 1800]) as usize,
            is_open: pick(&[0, 0, 0, 0, 0, 0, 0, 1]) == 1,
            noise: noise[pick(&[0, 0, 0, 1, 2, 3, 4, 5, 6]) as usize],
            address: [CALLERS, STRANGER][pick(&[0, 1]) as usize],
        }
    }

    /// Starts the attack on a thread of its own. The attack runs until the result is dropped.
    pub(crate) fn begin(self, dial: &Dial) -> oneshot::Sender<()> {
        let (running, end) = oneshot::channel();
        let dial = dial.clone().from(self.address);
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut attackers = JoinSet::new();
                for _ in 0..self.connections {
                    let dial = dial.clone();
                    attackers.spawn(async move { again(|| self.attack(&dial)).await });
                }
                // The sender is dropped, which ends all attack tasks.
                let _ = end.await;
            });
        });
        running
    }

    /// Runs one connection until its end; its errors are ignored.
    async fn attack(self, dial: &Dial) -> Option<()> {
        match self.streams {
            0 => self.over_http1(dial).await,
            streams => self.over_http2(dial, streams).await,
        }
    }

    async fn over_http1(self, dial: &Dial) -> Option<()> {
        let mut tls = dial.handshake().await.ok()?;
        let head = format!(
            "POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.announced
        );
        let body = self.body();
        loop {
            tls.write_all(head.as_bytes()).await.ok()?;
            tls.write_all(&body).await.ok()?;
            tls.flush().await.ok()?;
            self.wait().await;
            if self.sent < self.announced || matches!(self.end, End::Closed) {
                return Some(());
            }
            if self.answers == Answers::Read {
                let mut answer = [0; 4096];
                if tls.read(&mut answer).await.ok()? == 0 {
                    return None;
                }
            }
        }
    }

    async fn over_http2(self, dial: &Dial, streams: u32) -> Option<()> {
        let (read, mut write) = tokio::io::split(opened(dial).await?);
        let windows = Windows::default();
        let mut reading = JoinSet::new();
        if self.answers != Answers::Deaf {
            reading.spawn(read_frames(read, windows.clone()));
        }
        if self.answers != Answers::Read {
            write.write_all(&frame(4, 0, 0, &[0, 4, 0, 0, 0, 0])).await.ok()?;
        }
        let body = self.body();
        let mut next = 1_u32;
        loop {
            let first = next;
            let ids = (0..streams).map(|at| first + 2 * at);
            next = next.checked_add(2 * streams).filter(|next| *next < 1 << 30)?;
            for id in ids.clone() {
                write.write_all(&self.begun(id)).await.ok()?;
            }
            if self.is_open {
                write.flush().await.ok()?;
                self.wait().await;
                return Some(());
            }
            for id in ids.clone() {
                self.send(&mut write, &windows, id, &body).await?;
            }
            write.flush().await.ok()?;
            self.wait().await;
            match self.end {
                End::Reset => {
                    for id in ids {
                        write.write_all(&frame(3, 0, id, &8_u32.to_be_bytes())).await.ok()?;
                    }
                    write.flush().await.ok()?;
                    sleep(Duration::from_millis(1)).await;
                }
                End::Closed => return Some(()),
                End::Never => std::future::pending().await,
            }
        }
    }

    /// Sends the body of one stream, or the part that the server accepts within the time of an attack.
    async fn send(self, write: &mut Writing, windows: &Windows, id: u32, body: &[u8]) -> Option<()> {
        let mut left = body;
        while !left.is_empty() {
            let Ok(most) = timeout(self.hold, windows.take(id, left.len().min(16_000))).await else { break };
            // The stream has ended.
            let Some(most) = most else { break };
            let (part, rest) = left.split_at(most);
            left = rest;
            let ends = left.is_empty() && self.sent == self.announced;
            write.write_all(&frame(0, u8::from(ends), id, part)).await.ok()?;
            write.flush().await.ok()?;
        }
        Some(())
    }

    /// The sent part of a body.
    fn body(self) -> Vec<u8> {
        let announced = self.announced as usize;
        let object = review_of_note("");
        let mut body = match self.body {
            Body::Object if announced >= object.len() => review_of_note(&"x".repeat(announced - object.len())),
            Body::List if announced >= object.len() => {
                review(V1ALPHA2, OBJECT, (announced - object.len()) / OBJECT.len())
            }
            Body::Blank | Body::List | Body::Object => Vec::new(),
        };
        // White space may end a review.
        body.resize(announced, b' ');
        body.truncate(self.sent as usize);
        body
    }

    /// The head of a stream, and the frames between the heads.
    fn begun(self, id: u32) -> Vec<u8> {
        const END_HEADERS: u8 = 4;
        let length = self.announced.to_string();
        let [.., digits] = length.len().to_be_bytes();
        let mut head = [HEADERS, b"\x0f\x10\x10application/json", b"\x0f\x0d", &[digits], length.as_bytes()].concat();
        if self.fields > 0 {
            // First in full, then by index.
            head.extend_from_slice(if id == 1 { b"\x40\x01a\x01b" } else { b"\xbe" });
            head.extend(b"\xbe".repeat(self.fields));
        }
        let ends = if self.is_open { 0 } else { END_HEADERS };
        let mut frames = frame(1, ends | u8::from(self.announced == 0), id, &head);
        if let Some((kind, flags, length)) = self.noise {
            // Frames of the connection; only priorities, resets and windows belong to a stream.
            let stream = if matches!(kind, 2 | 3 | 8) { id } else { 0 };
            let payload = if kind == 8 { vec![0, 0, 0, 1] } else { vec![0; length] };
            frames.extend(frame(kind, flags, stream, &payload));
        }
        frames
    }

    async fn wait(self) {
        match self.end {
            End::Never => std::future::pending().await,
            End::Reset | End::Closed => sleep(self.hold).await,
        }
    }
}

type Writing = WriteHalf<TlsStream<TcpStream>>;

/// Reads the server's frames and applies window updates.
async fn read_frames(mut read: ReadHalf<TlsStream<TcpStream>>, windows: Windows) -> Option<()> {
    loop {
        let mut head = [0; 9];
        read.read_exact(&mut head).await.ok()?;
        let [high, middle, low, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        read.read_exact(&mut payload).await.ok()?;
        windows.heed(kind, flags, u32::from_be_bytes(stream), &payload);
    }
}
