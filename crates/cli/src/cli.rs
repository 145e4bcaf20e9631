//! The subcommands. Their flags and implementations are in `commands`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{
    AuthorityRemarks, completion, convert, crd, disable, doctor, enable, hash, kinds, man, migrate, mutate, plan,
    rollout, rotate, serve, status, validate, webhooks,
};
use crate::exit::ended;
use crate::logging::LogArgs;
use crate::plugin;
use crate::terminal::{escaped_lines, in_colour, steers};
use crate::usage_error::{hints_for_tips, misread};

/// Converts Kubernetes custom resources between API versions without losing data.
#[derive(Debug, Parser)]
#[command(name = "pointsman", version, long_version = LONG_VERSION.as_str(), propagate_version = true)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

/// The output of `--version`. A release sets the commit at build time. A build script that calls git would recompile
/// after each commit.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("POINTSMAN_COMMIT").unwrap_or("unknown");
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{}\ncommit: {commit}\nbuild: {build}, {os}/{arch}", env!("CARGO_PKG_VERSION"))
});

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a shell completion script.
    Completion(completion::CompletionArgs),
    /// Convert objects to another version offline, as the webhook does.
    Convert(convert::ConvertArgs),
    /// Print the CustomResourceDefinition of a kind with its conversion webhook.
    Crd(crd::CrdArgs),
    /// Remove the conversion webhook from a CRD when no stored object needs it.
    Disable(disable::DisableArgs),
    /// Check a cluster or files for configuration errors and suggest fixes.
    Doctor(doctor::DoctorArgs),
    /// Point the conversion of a CRD to a server after testing each endpoint.
    Enable(enable::EnableArgs),
    /// Print the rollout hash of objects and its input.
    Hash(hash::HashArgs),
    /// List, check and print kind definitions.
    Kinds(kinds::KindsCommandArgs),
    /// Print a manual page or write all of them.
    Man(man::ManArgs),
    /// Rewrite stored objects in the current storage version.
    Migrate(migrate::MigrateArgs),
    /// Print the changes that /mutate would make to objects, offline.
    Mutate(mutate::MutateArgs),
    /// Report how a conversion would change existing objects in every other version. Read-only.
    Plan(plan::PlanArgs),
    /// Move a fleet of objects from one controller version to another in waves.
    Rollout(rollout::RolloutArgs),
    /// Replace the certificate authority that API servers trust, without a failed call.
    #[command(name = "rotate-ca")]
    Rotate(rotate::RotateArgs),
    /// Serve the webhooks /convert, /mutate and /validate.
    Serve(Box<serve::ServeArgs>),
    /// Show the state of each kind in a cluster and list problems to fix.
    Status(status::StatusArgs),
    /// Validate objects offline, as /validate does.
    Validate(validate::ValidateArgs),
    /// Print the webhook configurations of a controller version and the policy for its version label.
    Webhooks(Box<webhooks::WebhooksArgs>),
}

/// The work that remains after the command line was parsed.
#[derive(Debug)]
pub enum ParsedCommand {
    /// None: a command ran, and reported its errors.
    Done(ExitCode),
    /// Serve. Logging is not started yet: see [`LogArgs::start`].
    Serve(LogArgs, Box<serve::ServeArgs>),
}

/// Parses the flags of this process and runs the command. Prints help, and errors of flags, with exit code 0 or 2.
/// `remarks` checks CA certificates for commands that take them.
#[must_use]
pub fn run(remarks: AuthorityRemarks) -> ParsedCommand {
    if let Some(answered) = completion::answer(Cli::command) {
        return ParsedCommand::Done(ended(answered, &mut io::stderr()));
    }
    let Cli { log, command } = match read() {
        Ok(read) => read,
        Err(error) => return ParsedCommand::Done(print_error(&misread(error, &Cli::command()))),
    };
    if let Command::Serve(args) = command {
        return ParsedCommand::Serve(log, args);
    }
    let result = log.start(Box::new(|| Box::new(io::stderr())), Box::new(|_| true)).and_then(|()| command.run(remarks));
    ParsedCommand::Done(ended(result, &mut io::stderr()))
}

/// Parses the command line, with the name of the program as typed.
fn read() -> Result<Cli, clap::Error> {
    let mut command = match plugin::name_for_help() {
        Some(name) => Cli::command().bin_name(name),
        None => Cli::command(),
    };
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints the error and returns the exit code. The text may contain file names, so it is escaped.
fn print_error(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1));
    if !error.use_stderr() {
        // Help, or the version. A closed pipe is no failure.
        return match error.print() {
            Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => {
                ended(Err(anyhow::Error::from(failed).context("failed to write to stdout")), &mut io::stderr())
            }
            _ => code,
        };
    }
    let hostile = std::env::args_os().any(|word| word.to_string_lossy().chars().any(steers));
    let rendered = error.render();
    let text = match (hostile, in_colour()) {
        (true, _) => escaped_lines(&rendered.to_string()),
        (false, true) => rendered.ansi().to_string(),
        (false, false) => rendered.to_string(),
    };
    // If stderr is closed, there is no other output.
    let _ = io::stderr().write_all(hints_for_tips(&text).as_bytes());
    code
}

impl Command {
    fn run(self, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
        match self {
            Self::Enable(args) => enable::run(&args, remarks),
            Self::Completion(args) => completion::run(&args),
            Self::Convert(args) => convert::run(&args),
            Self::Crd(args) => crd::run(&args, remarks),
            Self::Disable(args) => disable::run(&args),
            Self::Doctor(args) => doctor::run(&args),
            Self::Hash(args) => hash::run(&args),
            Self::Kinds(args) => kinds::run(&args),
            Self::Man(args) => man::run(&args, Cli::command()),
            Self::Migrate(args) => migrate::run(&args),
            Self::Mutate(args) => mutate::run(&args),
            Self::Plan(args) => plan::run(&args),
            Self::Rollout(args) => rollout::run(&args),
            Self::Rotate(args) => rotate::run(&args, remarks),
            // The binary runs it.
            Self::Serve(_) => Ok(ExitCode::SUCCESS),
            Self::Status(args) => status::run(&args),
            Self::Validate(args) => validate::run(&args),
            Self::Webhooks(args) => webhooks::run(&args, remarks),
        }
    }
}
