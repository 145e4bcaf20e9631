//! The pointsman binary: flags in, exit code out.

mod cli;
mod commands;
mod logging;
mod terminal;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{CommandFactory, Parser};
use pointsman_server::LogQueue;

use crate::cli::{Cli, Command};
use crate::{commands::Usage, terminal::escaped_lines};

fn main() -> ExitCode {
    // clap itself leaves with 2 where a flag is wrong, with 0 after --help.
    let cli = Cli::parse();
    let mut queue = None;
    let result = run(cli, &mut queue);
    let error = match result {
        Ok(code) => return ended(code, queue),
        // Whoever read our output has enough of it, as `head` does.
        Err(error) if is_broken_pipe(&error) => return ended(ExitCode::SUCCESS, queue),
        Err(error) => error,
    };
    let message = format!("pointsman: {}\n", escaped_lines(&format!("{error:#}")));
    // Nobody is left to tell where stderr is closed.
    let _ = match &mut queue {
        Some(queue) => queue.write_all(message.as_bytes()),
        None => io::stderr().write_all(message.as_bytes()),
    };
    ended(if error.is::<Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }, queue)
}

fn run(cli: Cli, queue: &mut Option<LogQueue>) -> anyhow::Result<ExitCode> {
    // Whoever serves must not wait for whoever reads stderr.
    if matches!(cli.command, Command::Serve(_)) {
        *queue = Some(LogQueue::start(io::stderr()).context("failed to start logging")?);
    }
    logging::init(&cli.log, queue.clone())?;
    match cli.command {
        Command::Completion(args) => commands::completion::run(&args, Cli::command()),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Crd(args) => commands::crd::run(&args),
        Command::Hash(args) => commands::hash::run(&args),
        Command::Kinds(args) => commands::kinds::run(&args),
        Command::Mutate(args) => commands::mutate::run(&args),
        Command::Serve(args) => commands::serve::run(*args, queue.clone()).map(|()| ExitCode::SUCCESS),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Webhooks(args) => commands::webhooks::run(&args),
    }
}

/// A reader that is still there gets what was said last; one that is not holds nobody up.
fn ended(code: ExitCode, queue: Option<LogQueue>) -> ExitCode {
    if let Some(queue) = queue {
        queue.flush(LAST_LINES);
    }
    code
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

const LAST_LINES: Duration = Duration::from_secs(1);
