//! Where log lines go and what they look like.

use std::io::{self, IsTerminal};
use std::panic;

use anyhow::Context;
use pointsman_server::LogQueue;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::cli::{LogArgs, LogFormat};
use crate::commands::Usage;

/// Sets up logging for the process: to stderr, or into a queue that somebody else writes to stderr.
pub(crate) fn init(args: &LogArgs, queue: Option<LogQueue>) -> anyhow::Result<()> {
    let filter = match &args.log_level {
        Some(filter) => {
            EnvFilter::try_new(filter).map_err(|error| Usage(format!("--log-level: {error}")))?
        }
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info")),
    };
    let writer = match queue {
        Some(queue) => BoxMakeWriter::new(move || queue.clone()),
        None => BoxMakeWriter::new(io::stderr),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match args.log_format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).try_init(),
    }
    .map_err(|error| anyhow::anyhow!(error))
    .context("failed to set up logging")?;

    // The default hook prints the panic's message, which may quote an object. The server logs it in bounds.
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(location, "panicked");
    }));
    Ok(())
}
