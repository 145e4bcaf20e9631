//! The pointsman binary: flags in, exit code out.

mod cli;
mod commands;
mod limits;
mod logging;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::commands::Usage;

fn main() -> ExitCode {
    // clap itself leaves with 2 where a flag is wrong, with 0 after --help.
    let cli = Cli::parse();
    let result = logging::init(&cli.log).and_then(|()| match cli.command {
        Command::Completion(args) => commands::completion::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Crd(args) => commands::crd::run(&args),
        Command::Hash(args) => commands::hash::run(&args),
        Command::Kinds(args) => commands::kinds::run(&args),
        Command::Mutate(args) => commands::mutate::run(&args),
        Command::Serve(args) => commands::serve::run(*args).map(|()| ExitCode::SUCCESS),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Webhooks(args) => commands::webhooks::run(&args),
    });
    let error = match result {
        Ok(code) => return code,
        // Whoever read our output has enough of it, as `head` does.
        Err(error) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(io::stderr(), "pointsman: {error:#}");
    if error.is::<Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
