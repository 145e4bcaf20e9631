//! Limits the work of one connection before others are served.
//!
//! In HTTP/1.1 the limit is one response: a client that pipelines requests would get sixteen, and others would wait for
//! all of them. In HTTP/2 it is one read: one byte on the wire can be a header field of a hundred bytes in memory, so
//! input must be processed before the next read. In both it is a number of bytes read and written: a client that sends
//! or reads as fast as the server always leaves work, and a runtime with continuous work polls other connections only
//! after sixty such steps.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

/// The share of one connection. Clones refer to the same connection.
#[derive(Clone, Debug, Default)]
pub(super) struct FairShare(Arc<TurnState>);

#[derive(Debug, Default)]
struct TurnState {
    answered: AtomicBool,
    has_read: AtomicBool,
    /// Bytes read and written since other connections were polled.
    bytes: AtomicUsize,
}

impl FairShare {
    /// Polls a connection until it ends, and yields to others in between.
    pub(super) async fn drive<T>(&self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        let TurnState { answered, has_read, bytes } = &*self.0;
        loop {
            let polled = poll_fn(|context| {
                answered.store(false, Ordering::Relaxed);
                has_read.store(false, Ordering::Relaxed);
                match poll(context) {
                    Poll::Ready(end) => Poll::Ready(Some(end)),
                    Poll::Pending if self.is_over() => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            });
            if let Some(end) = polled.await {
                return end;
            }
            // The first yield returns at once if hyper has woken this task, as it does after a number of reads. Only a
            // task without other wakers waits until the runtime has polled others.
            yield_now().await;
            yield_now().await;
            bytes.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn answered(&self) {
        self.0.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_answered(&self) -> bool {
        self.0.answered.load(Ordering::Relaxed)
    }

    /// True if the byte limit is reached. [`drive`](Self::drive) then continues after a yield.
    fn is_over(&self) -> bool {
        self.0.bytes.load(Ordering::Relaxed) >= TURN
    }

    fn took(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Decrypted and copied, or encrypted and passed to the kernel, in a quarter of a millisecond: less than a small
/// request waits in any case.
const TURN: usize = 256 << 10;

/// 4 KiB: the maximum of one read in HTTP/2. As header fields of one byte each, these take a fifth of a millisecond,
/// and others wait for hundreds of connections.
const ONE_READ: usize = 4 << 10;

/// A socket that shares reads and writes fairly with others.
#[derive(Debug)]
pub(super) struct FairStream<I> {
    pub(super) io: I,
    pub(super) turn: FairShare,
    /// True if a turn has one read.
    pub(super) one_read: bool,
}

impl<I: AsyncRead + Unpin> AsyncRead for FairStream<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.turn.is_over() {
            return Poll::Pending;
        }
        if self.one_read && self.turn.0.has_read.load(Ordering::Relaxed) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let read = if self.one_read {
            let length = buf.remaining().min(ONE_READ);
            let mut part = ReadBuf::new(buf.initialize_unfilled_to(length));
            let read = ready!(Pin::new(&mut self.io).poll_read(context, &mut part));
            let length = part.filled().len();
            buf.advance(length);
            read
        } else {
            ready!(Pin::new(&mut self.io).poll_read(context, buf))
        };
        self.turn.0.has_read.store(true, Ordering::Relaxed);
        self.turn.took(buf.filled().len() - before);
        Poll::Ready(read)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for FairStream<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.turn.is_over() {
            return Poll::Pending;
        }
        let written = ready!(Pin::new(&mut self.io).poll_write(context, buf))?;
        self.turn.took(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.turn.is_over() {
            return Poll::Pending;
        }
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(context, bufs))?;
        self.turn.took(written);
        Poll::Ready(Ok(written))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    /// A client that always has more data, and always reads everything.
    struct Endless;

    impl AsyncRead for Endless {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let length = buf.remaining();
            buf.initialize_unfilled();
            buf.advance(length);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Endless {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// The bytes of such a client until another connection with pending data is polled. Its task is woken after a
    /// number of reads or writes, as in hyper.
    async fn had_before_others(
        mut poll: impl FnMut(Pin<&mut FairStream<Endless>>, &mut Context<'_>, &mut [u8]) -> Poll<usize> + Send + 'static,
    ) -> usize {
        let (mut other, mut its_client) = UnixStream::pair().unwrap();
        let turn = FairShare::default();
        let had = Arc::new(AtomicUsize::new(0));
        let (mut io, counted) = (FairStream { io: Endless, turn: turn.clone(), one_read: false }, Arc::clone(&had));
        tokio::spawn(async move {
            let mut piece = vec![0; 16 << 10];
            turn.drive(|context| {
                for _ in 0..16 {
                    let Poll::Ready(length) = poll(Pin::new(&mut io), context, &mut piece) else { break };
                    counted.fetch_add(length, Ordering::Relaxed);
                }
                context.waker().wake_by_ref();
                Poll::<()>::Pending
            })
            .await;
        });
        // The client is active, and the other connection is awaited.
        its_client.write_all(b"?").await.unwrap();
        let before = had.load(Ordering::Relaxed);
        let mut byte = [0];
        other.read_exact(&mut byte).await.unwrap();
        had.load(Ordering::Relaxed) - before
    }

    #[tokio::test]
    async fn writer_yields_after_two_turns() {
        let had = had_before_others(|io, context, piece| {
            let mut buf = ReadBuf::new(piece);
            io.poll_read(context, &mut buf).map(|_| buf.filled().len())
        });
        let had = had.await;
        assert!((1..=2 * TURN).contains(&had), "{had}");
    }

    #[tokio::test]
    async fn reader_yields_after_two_turns() {
        let had = had_before_others(|io, context, piece| io.poll_write(context, piece).map(Result::unwrap));
        let had = had.await;
        assert!((1..=2 * TURN).contains(&had), "{had}");
    }
}
