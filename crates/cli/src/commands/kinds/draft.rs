//! `pointsman kinds draft`.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueHint};
use pointsman_core::definition::BadDefinition;
use pointsman_core::draft::{Draft, DraftError, Fix, FixError, MergeError, MergedCrd};

use super::check::shell;
use super::check_result::ReportedProblem;
use crate::commands::output::{self, complain, counted, talk};
use crate::commands::{atomic_file, format::Format, input, json_tree::JsonTree, kinds_dir, usage::Usage};
use crate::hint::hinted;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DraftArgs {
    /// File with one CustomResourceDefinition of at least two versions, in YAML or JSON.
    #[arg(value_name = "CRD-FILE", value_hint = ValueHint::FilePath, required_unless_present = "fix")]
    crd: Option<PathBuf>,
    /// Newer revision of the CRD, if its versions are in two files. If a version exists only in the older file, a CRD
    /// with all versions is written next to the definition.
    #[arg(value_name = "NEWER-CRD-FILE", value_hint = ValueHint::FilePath, requires = "output")]
    newer: Option<PathBuf>,
    /// File for the definition. Defaults to stdout, with the CRD relative to the current directory.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Overwrite the file of --output, and the CRD next to it.
    #[arg(long, requires = "output")]
    force: bool,
    /// Complete a definition in its file instead: add the operations and acceptances that the messages of `kinds
    /// check` propose, and drafts of steps to versions that are newer than its last version. Existing lines stay.
    #[arg(long, value_name = "DEFINITION", value_hint = ValueHint::FilePath, conflicts_with_all = ["crd", "output"])]
    fix: Option<PathBuf>,
}

/// Writes a definition guessed from a CRD. Prints the verdict on stderr.
pub(super) fn draft(args: &DraftArgs) -> anyhow::Result<ExitCode> {
    match (&args.fix, &args.crd) {
        (Some(definition), _) => fix(definition),
        (None, Some(crd)) => match &args.newer {
            None => draft_of(crd, args),
            Some(newer) => draft_between(crd, newer, args),
        },
        (None, None) => Err(Usage("name a CRD file, or a definition with --fix".to_owned()).into()),
    }
}

/// Drafts a definition between two revisions of a CRD, whose versions are in one file then.
fn draft_between(older: &Path, newer: &Path, args: &DraftArgs) -> anyhow::Result<ExitCode> {
    let text = |file: &Path| input::read_crd(file).with_context(|| format!("failed to read {}", file.display()));
    let (one, two) = (text(older)?, text(newer)?);
    let [older_name, newer_name] = [older, newer].map(|file| file.display().to_string());
    let merged = match MergedCrd::of((&older_name, &one), (&newer_name, &two)) {
        Ok(merged) => merged,
        Err(MergeError::Crd(bad)) => {
            complain_of(&bad);
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => anyhow::bail!("cannot draft a definition: {error}"),
    };
    for version in &merged.changed {
        talk(&format!("note: the schema of {version} differs between the files: the draft uses {newer_name}"));
    }
    let (Some(crd), Some(output)) = (&merged.crd, &args.output) else {
        talk(&format!("note: {newer_name} has all versions of {older_name}"));
        return draft_of(newer, args);
    };
    refuse_existing(output, args)?;
    let file = output.with_extension("crd.yaml");
    refuse_existing(&file, args)?;
    for written in [output, &file] {
        if [older, newer].iter().any(|input| is_same_file(written, input)) {
            let refusal = anyhow::anyhow!("cannot write {}: the command reads this file", written.display());
            return Err(hinted(refusal, "name another file with --output"));
        }
    }
    atomic_file::write(&file, &Format::Yaml.write(&JsonTree::from_json(&crd.to_string())?))?;
    talk(&format!("note: {} has the versions of both files", file.display()));
    draft_of(&file, args)
}

fn is_same_file(one: &Path, two: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(two)), (Ok(one), Ok(two)) if one == two)
}

/// Refuses to overwrite a file without --force.
fn refuse_existing(file: &Path, args: &DraftArgs) -> anyhow::Result<()> {
    if file.exists() && !args.force {
        let refusal = anyhow::anyhow!("cannot write {}: the file exists", file.display());
        return Err(hinted(refusal, "overwrite the file with --force, or name another file"));
    }
    Ok(())
}

fn draft_of(crd: &Path, args: &DraftArgs) -> anyhow::Result<ExitCode> {
    let file = crd.display();
    if crd == Path::new("-") {
        return Err(Usage("-: a definition names the file of its CRD: save the CRD to a file".to_owned()).into());
    }
    let text = input::read_crd(crd).with_context(|| format!("failed to read {file}"))?;
    if let Some(output) = &args.output {
        refuse_existing(output, args)?;
    }
    let draft = match Draft::of_crd(&text, &crd_key(crd, args)?) {
        Ok(draft) => draft,
        Err(DraftError::Crd(bad) | DraftError::Inexpressible(bad)) => return Ok(refuse(crd, &bad)),
        Err(error) => anyhow::bail!("cannot draft a definition of {file}: {error}"),
    };
    let verdict = format!("OK: {}", counts(draft.operations, draft.acceptances, draft.questions));
    match &args.output {
        Some(output) => {
            atomic_file::write(output, &draft.text)?;
            talk(&verdict);
            talk(&format!("next: pointsman kinds check {}", shell(output)));
        }
        None => {
            talk(&verdict);
            talk("next: save the output in this directory as FILE, and run `pointsman kinds check FILE`");
            output::data(&draft.text)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Completes a definition in its file. Prints the verdict on stderr.
fn fix(definition: &Path) -> anyhow::Result<ExitCode> {
    if definition == Path::new("-") {
        return Err(Usage(
            "-: the command writes the definition to its file: save the definition to a file".to_owned(),
        )
        .into());
    }
    let file = definition.display().to_string();
    let text = input::read_definition(definition)?.text;
    let mut read = |crd: &str| input::read_crd(&kinds_dir::relative_to(definition, crd));
    let fix = match Fix::of(&file, &text, &mut read) {
        Ok(fix) => fix,
        Err(FixError::Invalid(bad)) => {
            complain_of(&bad);
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(cannot_complete(&file, &error)),
    };
    let is_changed = fix.steps + fix.operations + fix.acceptances > 0;
    if is_changed {
        atomic_file::write(definition, &fix.text)?;
    }
    let added =
        format!("added {}, {}", counted(fix.steps, "step"), counts(fix.operations, fix.acceptances, fix.questions));
    if fix.problems.is_empty() {
        let verdict = if is_changed { format!("OK: {added}") } else { "OK: complete, unchanged".to_owned() };
        talk(&verdict);
        talk(&format!("next: pointsman kinds check {}", shell(definition)));
        return Ok(ExitCode::SUCCESS);
    }
    for problem in fix.problems.iter().map(ReportedProblem::of) {
        complain(&problem.whole);
    }
    let open = counted(fix.problems.len(), "problem");
    talk(&format!("INCOMPLETE: {added}; {open} without a proposal"));
    talk("next: correct these problems, and run the command again");
    Ok(ExitCode::FAILURE)
}

fn cannot_complete(file: &str, error: &FixError) -> anyhow::Error {
    match error {
        FixError::NoSteps => hinted(
            anyhow::anyhow!("cannot complete {file}: the definition has no steps"),
            "write a draft of the CRD: pointsman kinds draft CRD-FILE -o FILE",
        ),
        FixError::Layout { line, key } => hinted(
            anyhow::anyhow!("cannot complete {file}:{line}: {key} is not a list with a line for each entry"),
            "write each entry in a line of its own, with a dash",
        ),
        FixError::Changed => hinted(
            anyhow::anyhow!("cannot complete {file}: new entries would change existing entries"),
            "run `pointsman kinds check`, and add the proposed entries yourself",
        ),
        error => anyhow::anyhow!("cannot complete {file}: {error}"),
    }
}

fn complain_of(bad: &BadDefinition) {
    bad.problems.iter().map(ReportedProblem::of).for_each(|problem| complain(&problem.whole));
}

fn counts(operations: usize, acceptances: usize, questions: usize) -> String {
    let [operations, acceptances, questions] =
        [(operations, "operation"), (acceptances, "acceptance"), (questions, "open question")]
            .map(|(count, one)| counted(count, one));
    format!("{operations} and {acceptances}; {questions}")
}

fn refuse(file: &Path, bad: &BadDefinition) -> ExitCode {
    for problem in &bad.problems {
        let message = problem.message.strip_prefix("crd: ").unwrap_or(&problem.message);
        complain(&format!("cannot draft a definition of {}: {message}", file.display()));
    }
    ExitCode::FAILURE
}

/// The path of the CRD from the place of the definition.
fn crd_key(crd: &Path, args: &DraftArgs) -> anyhow::Result<String> {
    let path = match &args.output {
        None => crd.to_path_buf(),
        Some(output) => {
            let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or_else(|| Path::new("."));
            let failed = || format!("failed to write {}", output.display());
            from_directory(directory, crd).with_context(failed)?
        }
    };
    let text = path.to_str().with_context(|| format!("{}: the path is not UTF-8", crd.display()))?;
    Ok(text.to_owned())
}

/// The path of a file from a directory. Both exist.
fn from_directory(directory: &Path, file: &Path) -> io::Result<PathBuf> {
    let (directory, file) = (fs::canonicalize(directory)?, fs::canonicalize(file)?);
    let common = directory.components().zip(file.components()).take_while(|(one, two)| one == two).count();
    let up = directory.components().skip(common).map(|_| Component::ParentDir);
    Ok(up.chain(file.components().skip(common)).collect())
}

const EXAMPLES: &str = "\
Examples:
  Print a definition to start from, with the reasons as comments:
    pointsman kinds draft tests/data/kinds/widgets.crd.yaml

  Write the definition next to the CRD of a cluster, and check it:
    kubectl get crd widgets.example.com -o yaml > widgets.crd.yaml
    pointsman kinds draft widgets.crd.yaml -o widgets.yaml
    pointsman kinds check widgets.yaml

  Complete the definition after a change of the CRD:
    pointsman kinds draft --fix widgets.yaml

  Compare the CRD of a cluster with a newer revision:
    kubectl get crd widgets.example.com -o yaml > older.yaml
    pointsman kinds draft older.yaml tests/data/kinds/widgets.crd.yaml \\
      -o widgets-2.yaml

Exit codes:
  0  the definition was written, or is complete; it loads
  1  an input is invalid, a file exists, or a difference has no operation
  2  wrong flags";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crd_is_named_from_the_definition() {
        let dir = tempfile::TempDir::new().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("kinds/own")).unwrap();
        fs::create_dir_all(at("crds")).unwrap();
        fs::write(at("crds/a.yaml"), "").unwrap();
        let path = |directory: &str| from_directory(&at(directory), &at("crds/a.yaml")).unwrap();
        assert_eq!(path("crds"), Path::new("a.yaml"));
        assert_eq!(path("kinds/own"), Path::new("../../crds/a.yaml"));
        assert_eq!(path("."), Path::new("crds/a.yaml"));
    }
}
