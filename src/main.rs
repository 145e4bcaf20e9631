//! The pointsman binary: flags in, exit code out.

mod cli;
mod commands;
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
        Command::Serve(args) => commands::serve::run(*args),
    });
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(io::stderr(), "pointsman: {error:#}");
    if error.is::<Usage>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}
