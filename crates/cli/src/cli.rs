//! The subcommands there are. Their flags, and what they do, are in `commands`.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{
    AuthorityRemarks, completion, convert, crd, disable, doctor, enable, hash, kinds, man, migrate, mutate, plan, roll,
    rotate, serve, status, validate, webhooks,
};
use crate::ended::ended;
use crate::logging::LogArgs;
use crate::misread::{hints_for_tips, misread};
use crate::plugin;
use crate::terminal::{escaped_lines, in_colour, steers};

/// Keeps Kubernetes objects on the right track while their API and their controller change.
#[derive(Debug, Parser)]
#[command(name = "pointsman", version, long_version = LONG_VERSION.as_str(), propagate_version = true)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

/// What `--version` says. A release sets the commit when it is built; a build script that asks git would compile half
/// of the house again after each commit.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("POINTSMAN_COMMIT").unwrap_or("unknown");
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{}\ncommit: {commit}\nbuild: {build}, {os}/{arch}", env!("CARGO_PKG_VERSION"))
});

#[derive(Debug, Subcommand)]
enum Command {
    /// Point a CRD's conversion to a server in a cluster, after asking every endpoint of it.
    Enable(enable::EnableArgs),
    /// Print the completion script of a shell.
    Completion(completion::CompletionArgs),
    /// Convert objects to another version, offline, as the webhook does.
    Convert(convert::ConvertArgs),
    /// Print a kind's CustomResourceDefinition, with the conversion webhook in it.
    Crd(crd::CrdArgs),
    /// Take the conversion from a CRD in a cluster, once nobody needs it any more.
    Disable(disable::DisableArgs),
    /// Say what does not fit in a cluster, or in files, each finding with what mends it.
    Doctor(doctor::DoctorArgs),
    /// Print the rollout hash of objects, and what it is made of.
    Hash(hash::HashArgs),
    /// List, check and show the definitions of kinds.
    Kinds(kinds::KindsCommandArgs),
    /// Print the manual page of a command, or write all of them.
    Man(man::ManArgs),
    /// Rewrite what a cluster has stored in another version than the one that is stored now.
    Migrate(migrate::MigrateArgs),
    /// Print what /mutate would change in objects, offline.
    Mutate(mutate::MutateArgs),
    /// Say what would become of the objects that there are, in every other version. Nothing is written.
    Plan(plan::PlanArgs),
    /// Move a fleet of objects from one controller version to another, wave by wave.
    Roll(roll::RollArgs),
    /// Have a cluster trust another authority for the server, without a failed call.
    #[command(name = "rotate-ca")]
    Rotate(rotate::RotateArgs),
    /// Serve the webhooks: /convert, /mutate and /validate.
    Serve(Box<serve::ServeArgs>),
    /// Show how kinds stand in a cluster, and what of that needs a person.
    Status(status::StatusArgs),
    /// Judge objects as /validate would, offline.
    Validate(validate::ValidateArgs),
    /// Print the webhook configurations of a controller version, and the policy that guards the version label.
    Webhooks(Box<webhooks::WebhooksArgs>),
}

/// What is left to do after the command line was read.
#[derive(Debug)]
pub enum Asked {
    /// Nothing: a command ran, and said where it failed.
    Done(ExitCode),
    /// Serve. Nothing is logged yet: see [`LogArgs::start`].
    Serve(LogArgs, Box<serve::ServeArgs>),
}

/// Reads the flags of this process and does what they ask for. Where they are wrong or ask for help, that is said, and
/// the code is 2 or 0. `remarks` is for commands that are given authorities to trust.
#[must_use]
pub fn run(remarks: AuthorityRemarks) -> Asked {
    if let Some(answered) = completion::answer(Cli::command) {
        return Asked::Done(ended(answered, &mut io::stderr()));
    }
    let Cli { log, command } = match read() {
        Ok(read) => read,
        Err(error) => return Asked::Done(said(&misread(error, &Cli::command()))),
    };
    if let Command::Serve(args) = command {
        return Asked::Serve(log, args);
    }
    let result = log.start(Box::new(|| Box::new(io::stderr())), Box::new(|_| true)).and_then(|()| command.run(remarks));
    Asked::Done(ended(result, &mut io::stderr()))
}

/// The command line, by the name that was typed.
fn read() -> Result<Cli, clap::Error> {
    let mut command = match plugin::name_for_help() {
        Some(name) => Cli::command().bin_name(name),
        None => Cli::command(),
    };
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Says it, and the code to leave with. What was typed may have come from a file name that a shell put there.
fn said(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1));
    if !error.use_stderr() {
        // Help, or the version. Whoever has read enough of it is no failure.
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
    // Nobody is left to tell where stderr is closed.
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
            Self::Roll(args) => roll::run(&args),
            Self::Rotate(args) => rotate::run(&args, remarks),
            // The binary's.
            Self::Serve(_) => Ok(ExitCode::SUCCESS),
            Self::Status(args) => status::run(&args),
            Self::Validate(args) => validate::run(&args),
            Self::Webhooks(args) => webhooks::run(&args, remarks),
        }
    }
}
