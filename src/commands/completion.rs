//! `pointsman completion`.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::output;
use crate::cli::Cli;

#[derive(Args, Debug)]
pub(crate) struct CompletionArgs {
    /// The shell that will read it.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints what makes a shell complete our command line.
pub(crate) fn run(args: &CompletionArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pointsman", &mut script);
    output::data(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  In this shell:
    source <(pointsman completion bash)

  In every zsh from now on, with a directory that is in your fpath:
    pointsman completion zsh > _pointsman

  In every fish:
    pointsman completion fish > ~/.config/fish/completions/pointsman.fish";
