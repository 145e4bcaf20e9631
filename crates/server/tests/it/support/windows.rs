//! HTTP/2 flow control: the bytes that a client may send (RFC 9113, 5.2).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

/// The windows of one connection and its streams.
#[derive(Clone, Default)]
pub(crate) struct Windows(Arc<Shared>);

#[derive(Default)]
struct Shared {
    windows: Mutex<Open>,
    changed: Notify,
}

struct Open {
    connection: i64,
    /// Initial window of a stream.
    initial: i64,
    /// Windows of streams with updates or sent data.
    streams: HashMap<u32, i64>,
    /// Streams that the server has ended.
    ended: HashMap<u32, ()>,
}

impl Default for Open {
    fn default() -> Self {
        Self { connection: 65_535, initial: 65_535, streams: HashMap::new(), ended: HashMap::new() }
    }
}

impl Windows {
    /// Waits for a window on a stream and consumes up to `most` bytes. `None` if the server has ended the stream.
    pub(crate) async fn take(&self, stream: u32, most: usize) -> Option<usize> {
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if let Some(taken) = self.0.windows.lock().unwrap().take(stream, most) {
                return taken;
            }
            changed.await;
        }
    }

    /// Processes a frame of the server.
    pub(crate) fn heed(&self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut open = self.0.windows.lock().unwrap();
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, |bytes| i64::from(u32::from_be_bytes(bytes)));
        match kind {
            3 => _ = open.ended.insert(stream, ()),
            4 if flags & 1 == 0 => {
                let said = payload.chunks_exact(6).find(|setting| setting[..2] == [0, 4]);
                open.initial = said.map_or(open.initial, |setting| number(&setting[2..]));
            }
            8 if stream == 0 => open.connection += number(payload),
            8 => {
                let initial = open.initial;
                *open.streams.entry(stream).or_insert(initial) += number(payload);
            }
            _ => return,
        }
        self.0.changed.notify_waiters();
    }
}

impl Open {
    /// `None` if the window is closed; `Some(None)` if the stream has ended.
    fn take(&mut self, stream: u32, most: usize) -> Option<Option<usize>> {
        if self.ended.contains_key(&stream) {
            return Some(None);
        }
        let window = self.streams.entry(stream).or_insert(self.initial);
        let most = i64::try_from(most).unwrap_or(i64::MAX).min(*window).min(self.connection);
        let taken = usize::try_from(most).ok().filter(|taken| *taken > 0)?;
        *window -= most;
        self.connection -= most;
        Some(Some(taken))
    }
}
