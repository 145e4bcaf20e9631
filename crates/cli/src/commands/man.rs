//! `pointsman man`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;
use pointsman_core::did_you_mean;

use super::{output, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManArgs {
    /// Command of the page, such as `kinds check`. Defaults to the page of pointsman itself.
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    command: Vec<String>,
    /// Write the pages of all commands to this directory.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Prints or writes manual pages.
pub(crate) fn run(args: &ManArgs, mut command: Command) -> anyhow::Result<ExitCode> {
    command = without_help(command);
    command.build();
    if let Some(directory) = &args.directory {
        let failed = || format!("failed to write into {}", directory.display());
        fs::create_dir_all(directory).with_context(failed)?;
        clap_mangen::generate_to(command, directory).with_context(failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut selected = &command;
    for name in &args.command {
        let Some(found) = selected.find_subcommand(name) else {
            let meant = did_you_mean(name, selected.get_subcommands().map(Command::get_name));
            return Err(Usage(format!("no command {:?}{meant}: see `pointsman help`", args.command.join(" "))).into());
        };
        selected = found;
    }
    let mut page = Vec::new();
    Man::new(selected.clone()).render(&mut page)?;
    output::data(&String::from_utf8(page)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Removes the `help` subcommand of every command, which needs no page.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

const EXAMPLES: &str = "\
Examples:
  Read a page:
    pointsman man convert | man -l -

  Install all pages in the path of `man`:
    pointsman man --directory ~/.local/share/man/man1";
