//! Where log lines go and what they look like.

use std::io;
use std::panic;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::commands::Usage;
use crate::terminal::in_colour;

/// Logs go to stderr and never hold an object.
#[derive(Args, Debug)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// Form of a log line.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, env = "POINTSMAN_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
    /// How much to log: error, warn, info, debug or trace, or per module as in RUST_LOG, which counts where this is
    /// not set. [default: info]
    #[arg(long, global = true, value_name = "FILTER", env = "POINTSMAN_LOG_LEVEL")]
    pub(crate) log_level: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object per line.
    Json,
    /// For people.
    Text,
}

/// Sets up logging for the process.
pub(crate) fn init(args: &LogArgs) -> anyhow::Result<()> {
    let filter = match &args.log_level {
        Some(filter) => {
            EnvFilter::try_new(filter).map_err(|error| Usage(format!("--log-level: {error}")))?
        }
        None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info")),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match args.log_format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => builder.with_ansi(in_colour()).try_init(),
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
