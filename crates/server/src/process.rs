//! A process that serves and does nothing else: its threads and its signals.

use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::thread;

use tokio::runtime::{Builder, Runtime};

use super::options::Options;
use super::request_handler::RequestHandler;
use super::serve_error::ServeError;
use super::server::Server;
use super::shutdown::Shutdown;

/// Serves until a signal asks to stop, as [`Shutdown::on_signals`] says. `listening` is called once, with the addresses
/// of the webhooks and of `/metrics`, before the first connection is accepted.
///
/// Not generic and not `async`, so that everything it needs is compiled here and whoever calls it only links it.
///
/// # Errors
/// Those of [`Server::bind`] and [`BoundServer::run`](super::BoundServer::run); [`ServeError::Runtime`] and
/// [`ServeError::Signals`] where the system refuses threads or signals.
pub fn serve(
    options: Options,
    decide: RequestHandler,
    listening: &mut dyn FnMut(SocketAddr, SocketAddr),
) -> Result<(), ServeError> {
    let runtime = runtime().map_err(|source| ServeError::Runtime { source })?;
    let result = runtime.block_on(async {
        let shutdown = Shutdown::on_signals().map_err(|source| ServeError::Signals { source })?;
        let bind = |addr| move |source| ServeError::Bind { addr, source };
        let (webhooks, admin) = (bind(options.listen), bind(options.admin_listen));
        let bound = Server::bind(options, decide).await?;
        listening(bound.local_addr().map_err(webhooks)?, bound.admin_addr().map_err(admin)?);
        bound.run(shutdown).await
    });
    // A decision that still runs has nobody left to answer to.
    runtime.shutdown_background();
    result
}

/// Threads as the CPU limit allows: with one core, a second thread only adds hand-overs.
fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut builder = if cores == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    // Large bodies are decided there, which is work for a core and not waiting: more threads than cores make all of
    // them late. Two more look after files.
    builder.enable_all().max_blocking_threads(cores + 2).build()
}
