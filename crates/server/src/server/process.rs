//! A serving process: its threads and signals.

use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::thread;

use tokio::runtime::{Builder, Runtime};

use super::bound::Server;
use super::options::Options;
use super::serve_error::ServeError;
use super::shutdown::Shutdown;
use crate::request::request_handler::RequestHandler;

/// Serves until a stop signal, as in [`Shutdown::on_signals`]. `listening` is called once, with the addresses of the
/// webhooks and of `/metrics`, before the first connection is accepted.
///
/// Neither generic nor `async`, so that everything is compiled here and callers only link it.
///
/// # Errors
/// Those of [`Server::bind`] and [`BoundServer::run`](crate::BoundServer::run); [`ServeError::Runtime`] and
/// [`ServeError::Signals`] if the system refuses threads or signals.
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
    // A running decision has no receiver anymore.
    runtime.shutdown_background();
    result
}

/// Threads by CPU limit: with one core, a second thread only adds hand-overs.
fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut builder = if cores == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    // Large bodies are decided on blocking threads, which is CPU work: more threads than cores delay all of them. Two
    // more threads handle files.
    builder.enable_all().max_blocking_threads(cores + 2).build()
}
