//! `pointsman kinds check`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition;

use crate::commands::input;
use crate::commands::kinds_dir::{self, Known};
use crate::commands::output::{self, complain, talk};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    /// Definition, or a directory of them; - is stdin, with the CRD beside the directory you are in.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Checks definitions. What is wrong goes to stderr, in the form that editors jump to; what was understood to stdout.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let mut files = Vec::new();
    for file in &args.files {
        match file.is_dir() {
            true => files.extend(definitions(file)?),
            false => files.push(file.clone()),
        }
    }
    let (mut bad, mut problems, mut good) = (0, 0, String::new());
    for file in &files {
        match checked(file) {
            Ok(known) => good.push_str(&understood(&known)),
            Err(messages) => {
                bad += 1;
                problems += messages.len();
                messages.iter().for_each(|message| complain(message));
            }
        }
    }
    output::text(&good)?;
    let plural = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    if bad == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    talk(&format!("{} in {bad} of {}", plural(problems, "problem"), plural(files.len(), "definition")));
    Ok(ExitCode::FAILURE)
}

/// The files of a directory that say they are definitions, and those that nobody can tell of.
fn definitions(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = input::in_directory(directory)?;
    files.retain(|file| fs::read_to_string(file).map_or(true, |text| text.contains(definition::KIND)));
    anyhow::ensure!(!files.is_empty(), "{}: no definition in this directory", directory.display());
    Ok(files)
}

fn checked(file: &Path) -> Result<Known, Vec<String>> {
    let source = input::read(file).map_err(|error| vec![format!("{error:#}")])?;
    kinds_dir::read(file, source).map_err(|bad| bad.problems.iter().map(ToString::to_string).collect())
}

fn understood(known: &Known) -> String {
    let kind = &known.kind;
    let mut text = format!("{}: {}.{} is fine\n", known.source(), kind.kind(), kind.group());
    for step in kind.steps() {
        text.push_str(&format!("  {} <-> {}\n", step.from, step.to));
        if step.operations.is_empty() {
            text.push_str("    nothing changed but the version\n");
        }
        for operation in step.operations {
            text.push_str(&format!("    {operation}\n"));
        }
    }
    if let Some(rollout) = kind.rollout() {
        text.push_str(&format!("  rollout hash of {rollout}\n"));
    }
    text
}

const EXAMPLES: &str = "\
Examples:
  A definition, with its CRD beside it:
    pointsman kinds check crates/core/kinds/materialize/materialize.yaml

  All of a directory, as `--kinds` would read it:
    pointsman kinds check crates/core/kinds/materialize

Exit codes:
  0  all are fine
  1  one is not
  2  the flags are wrong";
