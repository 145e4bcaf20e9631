//! Where log lines go and what they look like.

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

/// Logs go to stderr and never hold an object.
#[derive(Args, Debug)]
#[command(next_help_heading = "Logging")]
pub struct LogArgs {
    /// Form of a log line.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, env = "POINTSMAN_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// How much to log: error, warn, info, debug or trace, or per module as in RUST_LOG, which counts where this is
    /// not set. [default: info]
    #[arg(long, global = true, value_name = "FILTER", env = "POINTSMAN_LOG_LEVEL")]
    pub log_level: Option<String>,
}

/// Form of a log line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// For people.
    Text,
}

/// Makes what each log line is written to.
pub type MakeLogWriter = Box<dyn Fn() -> Box<dyn Write> + Send + Sync>;

/// Whether a line of a target is written.
pub type AdmitsLine = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Leaves lines out.
struct Limit(AdmitsLine);

impl<S: Subscriber> Layer<S> for Limit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        // Who asks for more than `info` gets all of it.
        *metadata.level() > Level::INFO || (self.0)(metadata.target())
    }
}

impl LogArgs {
    /// Sets up logging for the process. `admits` says of each line from `info` up, by its target, whether it is
    /// written.
    ///
    /// # Errors
    /// A level that does not exist.
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

        // The default hook prints the panic's message, which may quote an object. The server logs it in bounds.
        panic::set_hook(Box::new(|panic| {
            let location = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(location, "panicked");
        }));
        Ok(())
    }
}

/// Reads a filter as RUST_LOG has it. A word alone has to be a level: the library takes any other for the name of a
/// module, and one that is not there would turn all logs off.
fn filter(text: &str) -> Result<EnvFilter, String> {
    let mut words = text.split(',').map(str::trim).filter(|word| !word.contains(['=', '[']));
    match words.find(|word| word.parse::<LevelFilter>().is_err()) {
        Some(word) => Err(format!("{word:?} is no level: use {LEVELS}, or MODULE=LEVEL")),
        None => EnvFilter::try_new(format!("{OTHERS},{text}")).map_err(|error| format!("{error}: levels are {LEVELS}")),
    }
}

/// What the client of Kubernetes logs of an answer, its caller says in words.
const OTHERS: &str = "kube_client=off";

const LEVELS: &str = "off, error, warn, info, debug or trace";
