//! Format and destination of log lines.

use std::io::Write;
use std::panic;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::{commands::Usage, terminal::in_colour};

/// Logs are written to stderr and never contain an object.
#[derive(Args, Debug)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// Log format.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, env = "POINTSMAN_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// Log level: error, warn, info, debug or trace, or a filter per module as in RUST_LOG. RUST_LOG applies if the
    /// flag is not set. [default: info]
    #[arg(long, global = true, value_name = "FILTER", env = "POINTSMAN_LOG_LEVEL")]
    pub log_level: Option<String>,
}

/// Log format.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for people.
    Text,
}

/// Creates the writer of each log line.
pub type MakeLogWriter = Box<dyn Fn() -> Box<dyn Write> + Send + Sync>;

/// Decides whether a line of a target is written.
pub type AdmitsLine = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Drops lines.
struct Limit(AdmitsLine);

impl<S: Subscriber> Layer<S> for Limit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        // Lines below `info` are always written if enabled.
        *metadata.level() > Level::INFO || (self.0)(metadata.target())
    }
}

impl LogArgs {
    /// Starts logging for the process. `admits` decides by target whether a line from `info` up is written.
    ///
    /// # Errors
    /// An unknown level.
    pub fn start(&self, make_writer: MakeLogWriter, admits: AdmitsLine) -> anyhow::Result<()> {
        let filter = match &self.log_level {
            Some(text) => filter(text).map_err(|message| Usage(format!("--log-level: {message}")))?,
            None => EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(format!("info,{OTHERS}"))),
        };
        let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(BoxMakeWriter::new(make_writer));
        match self.log_format {
            LogFormat::Json => builder.json().flatten_event(true).finish().with(Limit(admits)).try_init(),
            LogFormat::Text => builder.with_ansi(in_colour()).finish().with(Limit(admits)).try_init(),
        }
        .map_err(|error| anyhow::anyhow!(error))
        .context("failed to set up logging")?;

        // The default hook prints the panic message, which may contain an object. The server logs it with a size limit.
        panic::set_hook(Box::new(|panic| {
            let location = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(location, "panicked");
        }));
        Ok(())
    }
}

/// Parses a filter in the syntax of RUST_LOG. A single word must be a level: the library would treat other words as
/// modules, and an unknown module would disable all logs.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let mut words = text.split(',').map(str::trim).filter(|word| !word.contains(['=', '[']));
    match words.find(|word| word.parse::<LevelFilter>().is_err()) {
        Some(word) => Err(format!("{word:?} is no level: use {LEVELS}, or MODULE=LEVEL")),
        None => EnvFilter::try_new(format!("{OTHERS},{text}")).map_err(|error| format!("{error}: levels are {LEVELS}")),
    }
}

/// The Kubernetes client's own log is redundant, because callers report its errors.
const OTHERS: &str = "kube_client=off";

const LEVELS: &str = "off, error, warn, info, debug or trace";
