//! `pointsman kinds check`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition;

use super::check_result::{Checked, ReportedProblem, Understood};
use super::samples::{self, Sample};
use super::trial::{self, TrialArgs};
use super::{junit, sarif, summary};
use crate::commands::kinds_dir::{self, KnownDefinition};
use crate::commands::output::{self, complain, counted, talk};
use crate::commands::stop::{INTERRUPTED, Stop};
use crate::commands::{atomic_file, format::Format, input, json_tree::JsonTree, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    /// Definition, or a directory of definitions. Use - for stdin, with the CRD relative to the current directory.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Output format. The default is text.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Also write the results as JUnit XML, for CI systems.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the findings as SARIF 2.1.0, for code scanning.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    #[command(flatten)]
    trial: TrialArgs,
    /// Objects to check the laws on, in addition to generated objects: files or directories in YAML or JSON, such as
    /// the output of kubectl get -o json. Use - for stdin.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Trial")]
    samples: Vec<PathBuf>,
}

/// Checks definitions. Prints errors on stderr, in the format of editors, and summaries on stdout.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let stdin = args.files.iter().chain(&args.samples).filter(|file| *file == Path::new("-")).count();
    if stdin > 1 {
        return Err(Usage("-: stdin can be read once only".to_owned()).into());
    }
    let mut files = Vec::new();
    for file in &args.files {
        match file.is_dir() {
            true => files.extend(definitions(file)?),
            false => files.push(file.clone()),
        }
    }
    // A shell's `*.yaml` includes the CRD next to its definition.
    if !files.iter().all(|file| is_crd(file)) {
        files.retain(|file| !is_crd(file));
    }
    let samples = match samples::read(&args.samples) {
        Ok(samples) => samples,
        Err(messages) => {
            messages.iter().for_each(|message| complain(message));
            return Ok(ExitCode::FAILURE);
        }
    };
    let tried = args.trial.cases > 0 || !samples.is_empty();
    let stop = tried.then(Stop::on_interrupt).transpose()?;
    let mut all = Vec::new();
    for file in &files {
        let checked = checked(file, args, &samples, stop.as_ref())?;
        checked.report();
        all.push(checked);
        if stop.as_ref().is_some_and(Stop::is_wanted) {
            break;
        }
    }
    let mut code = finish(args, &all, files.len())?;
    let unknown = all.iter().all(|checked| checked.kind.is_some() && checked.samples.is_empty());
    if unknown && !samples.is_empty() {
        complain("--samples: no object has a kind of these definitions");
        code = ExitCode::FAILURE;
    }
    let interrupted = stop.is_some_and(|stop| stop.is_wanted()) && code == ExitCode::SUCCESS;
    Ok(if interrupted { ExitCode::from(INTERRUPTED) } else { code })
}

/// Prints and writes the results.
fn finish(args: &CheckArgs, all: &[Checked], files: usize) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.junit {
        let suites: Vec<junit::Suite> = all.iter().map(Checked::suite).collect();
        atomic_file::write(file, &junit::document("pointsman kinds check", &suites))?;
    }
    if let Some(file) = &args.sarif {
        let findings: Vec<sarif::SarifFinding> = all.iter().flat_map(Checked::findings).collect();
        atomic_file::write(file, &sarif::document(&findings))?;
    }
    match args.output {
        None => output::text(&all.iter().map(Checked::text).collect::<String>())?,
        Some(format) => {
            let items = all.iter().map(Checked::json).collect();
            output::data(&format.write(&JsonTree::object([("items", JsonTree::Array(items))])))?;
        }
    }
    let problems: usize = all.iter().map(Checked::wrong).sum();
    let bad = all.iter().filter(|checked| checked.wrong() > 0).count();
    if bad == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    talk(&format!("{} in {bad} of {}", counted(problems, "problem"), counted(files, "definition")));
    Ok(ExitCode::FAILURE)
}

fn checked(file: &Path, args: &CheckArgs, samples: &[Sample], stop: Option<&Stop>) -> anyhow::Result<Checked> {
    let name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
    let mut checked = Checked {
        argument: shell(file),
        file: name,
        problems: Vec::new(),
        kind: None,
        trial: None,
        samples: Vec::new(),
    };
    let known = match input::read(file) {
        Ok(source) => {
            kinds_dir::read(file, source).map_err(|bad| bad.problems.iter().map(ReportedProblem::of).collect())
        }
        Err(error) => {
            let whole = format!("{error:#}");
            Err(vec![ReportedProblem { line: 0, message: whole.clone(), whole }])
        }
    };
    let known = match known {
        Ok(KnownDefinition::Kind(known)) => *known,
        Ok(KnownDefinition::Mutations(known)) => {
            // Mutations have no conversion, so no law applies.
            checked.kind = Some(Understood::of_mutations(&known));
            return Ok(checked);
        }
        Err(problems) => {
            checked.problems = problems;
            return Ok(checked);
        }
    };
    checked.kind = Some(Understood::new(&known.kind, &known.text, summary::json(&known)));
    if let Some(stop) = stop {
        let (samples, values) = samples::of_kind(samples, &known.kind);
        checked.samples = samples.into_iter().map(|sample| (sample.object.label(), shell(&sample.file))).collect();
        checked.trial = Some(trial::run(known.kind, &checked.file, &args.trial, &values, stop)?);
    }
    Ok(checked)
}

/// A path quoted for a shell.
pub(super) fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    match text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Returns whether a file contains CRDs and no definition.
fn is_crd(file: &Path) -> bool {
    let text = if file == Path::new("-") { String::new() } else { fs::read_to_string(file).unwrap_or_default() };
    text.contains("kind: CustomResourceDefinition") && !text.contains(definition::KIND)
}

/// The files of a directory that contain definitions, or cannot be read.
fn definitions(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = input::in_directory(directory, false)?;
    files.retain(|file| fs::read_to_string(file).map_or(true, |text| text.contains(definition::KIND)));
    anyhow::ensure!(!files.is_empty(), "{}: no definition in this directory", directory.display());
    Ok(files)
}

const EXAMPLES: &str = "\
Examples:
  Check a definition; its CRD is in the same directory:
    pointsman kinds check crates/core/kinds/materialize/materialize.yaml

  Check all definitions of a directory, as `--kinds` reads it:
    pointsman kinds check crates/core/kinds/materialize

  Check longer in a nightly run, with a report for the CI system:
    pointsman kinds check --try 200 --time 5m --junit kinds.xml \\
      examples/kinds/elasticsearch

  Check with your own objects:
    kubectl get materializes -A -o json | pointsman kinds check \\
      crates/core/kinds/materialize --samples -

Exit codes:
  0    all definitions passed
  1    a definition failed
  2    wrong flags
  130  interrupted; all cases until then passed";
