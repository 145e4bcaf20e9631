//! The command line of pointsman: flags, and every command except `serve`, whose server is in the binary.

mod cli;
mod commands;
mod exit;
mod hint;
mod logging;
mod plugin;
mod terminal;
mod usage_error;

pub use cli::{ParsedCommand, run};
pub use commands::{AuthorityRemarks, DefinitionFiles, DevAnswers, LimitArgs, ServeArgs, Usage};
pub use exit::ended;
pub use hint::hinted;
pub use logging::{AdmitsLine, LogArgs, LogFormat, MakeLogWriter};
