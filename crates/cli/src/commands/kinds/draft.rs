//! `pointsman kinds draft`.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueHint};
use pointsman_core::definition::BadDefinition;
use pointsman_core::draft::{Draft, DraftError};

use super::check::shell;
use crate::commands::output::{self, complain, counted, talk};
use crate::commands::{atomic_file, input, usage::Usage};
use crate::hint::hinted;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DraftArgs {
    /// File with one CustomResourceDefinition of at least two versions, in YAML or JSON.
    #[arg(value_name = "CRD-FILE", value_hint = ValueHint::FilePath)]
    crd: PathBuf,
    /// File for the definition. Defaults to stdout, with the CRD relative to the current directory.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Overwrite the file of --output.
    #[arg(long, requires = "output")]
    force: bool,
}

/// Writes a definition guessed from a CRD. Prints the verdict on stderr.
pub(super) fn draft(args: &DraftArgs) -> anyhow::Result<ExitCode> {
    let file = args.crd.display();
    if args.crd == Path::new("-") {
        return Err(Usage("-: a definition names the file of its CRD: save the CRD to a file".to_owned()).into());
    }
    let text = input::read_crd(&args.crd).with_context(|| format!("failed to read {file}"))?;
    if let Some(output) = args.output.as_ref().filter(|output| output.exists() && !args.force) {
        let refusal = anyhow::anyhow!("cannot write {}: the file exists", output.display());
        return Err(hinted(refusal, "overwrite the file with --force, or name another file"));
    }
    let draft = match Draft::of_crd(&text, &crd_key(args)?) {
        Ok(draft) => draft,
        Err(DraftError::Crd(bad) | DraftError::Inexpressible(bad)) => return Ok(refuse(&args.crd, &bad)),
        Err(error) => anyhow::bail!("cannot draft a definition of {file}: {error}"),
    };
    let Draft { operations, acceptances, questions, .. } = draft;
    let [operations, acceptances, questions] =
        [(operations, "operation"), (acceptances, "acceptance"), (questions, "open question")]
            .map(|(count, one)| counted(count, one));
    let verdict = format!("OK: {operations} and {acceptances}; {questions}");
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

fn refuse(file: &Path, bad: &BadDefinition) -> ExitCode {
    for problem in &bad.problems {
        let message = problem.message.strip_prefix("crd: ").unwrap_or(&problem.message);
        complain(&format!("cannot draft a definition of {}: {message}", file.display()));
    }
    ExitCode::FAILURE
}

/// The path of the CRD from the place of the definition.
fn crd_key(args: &DraftArgs) -> anyhow::Result<String> {
    let path = match &args.output {
        None => args.crd.clone(),
        Some(output) => {
            let directory = output.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = directory.unwrap_or_else(|| Path::new("."));
            let failed = || format!("failed to write {}", output.display());
            from_directory(directory, &args.crd).with_context(failed)?
        }
    };
    let text = path.to_str().with_context(|| format!("{}: the path is not UTF-8", args.crd.display()))?;
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

Exit codes:
  0  the definition was written; it loads
  1  the CRD is invalid or has one version, or no operation fits
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
