//! `pointsman completion`.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// The shell that will read it.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints what makes a shell complete this command line.
pub(crate) fn run(args: &CompletionArgs, mut command: Command) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "pointsman", &mut script);
    output::data(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

const EXAMPLES: &str = "\
Examples:
  In this shell:
    source <(pointsman completion bash)

  In every zsh from now on, with a directory that is in your fpath:
    pointsman completion zsh > _pointsman

  In every fish:
    pointsman completion fish > ~/.config/fish/completions/pointsman.fish";
