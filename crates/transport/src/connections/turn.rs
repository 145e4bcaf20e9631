//! What one connection may do before others have their turn.
//!
//! In HTTP/1.1 that is one answer: whoever sends the next request without waiting for an answer would have sixteen, and
//! others would wait for all of them. In HTTP/2 it is one read: a byte on the wire can be a field of a head that takes
//! a hundred bytes here, so that what is read has to be dealt with before more is.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};

/// The turn of one connection. A clone is of the same connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn(Arc<TurnState>);

#[derive(Debug, Default)]
struct TurnState {
    answered: AtomicBool,
    has_read: AtomicBool,
}

impl Turn {
    /// Another turn.
    pub(super) fn begin<T>(&self, poll: impl FnOnce() -> T) -> T {
        self.0.answered.store(false, Ordering::Relaxed);
        self.0.has_read.store(false, Ordering::Relaxed);
        poll()
    }

    pub(super) fn answered(&self) {
        self.0.answered.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_answered(&self) -> bool {
        self.0.answered.load(Ordering::Relaxed)
    }
}

/// A socket that is read once in a turn.
#[derive(Debug)]
pub(super) struct OneReadATurn<I> {
    pub(super) io: I,
    pub(super) turn: Turn,
}

impl<I: Read + Unpin> Read for OneReadATurn<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if self.turn.0.has_read.load(Ordering::Relaxed) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let read = ready!(Pin::new(&mut self.io).poll_read(context, buf));
        self.turn.0.has_read.store(true, Ordering::Relaxed);
        Poll::Ready(read)
    }
}

impl<I: Write + Unpin> Write for OneReadATurn<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, buf)
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
        Pin::new(&mut self.io).poll_write_vectored(context, bufs)
    }
}
