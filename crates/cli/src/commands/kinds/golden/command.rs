//! The command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pointsman_core::webhook::{Metadata, Webhook};

use super::case::{CaseResult, GoldenCase};
use super::case_file::{CaseFile, KIND};
use crate::commands::atomic_file;
use crate::commands::format::Format;
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds::junit::{self, Case, CaseOutcome, Suite};
use crate::commands::kinds::sarif::{self, SarifFinding};
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output::{self, complain, counted, talk};
use crate::commands::table::table;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TestArgs {
    /// Directory of definitions and of cases: files with `kind: ConversionCases`.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Output format. The default is a table.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Also write the results as JUnit XML, for CI systems.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the differences as SARIF 2.1.0, for code scanning.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the results into the files as expected objects. Comments in these files are lost.
    #[arg(long)]
    record: bool,
}

/// A case and its result.
struct Tested {
    file: String,
    name: String,
    result: Result<CaseResult, String>,
}

impl Tested {
    /// The error in lines. Empty if the case passed.
    fn failure(&self) -> Vec<String> {
        match &self.result {
            Ok(CaseResult { differences: Some(differences), .. }) => differences.clone(),
            Ok(CaseResult { differences: None, .. }) => {
                vec!["the case has no `expected`: add it, or run with --record".to_owned()]
            }
            Err(error) => vec![error.clone()],
        }
    }

    fn finding(&self) -> Option<SarifFinding> {
        let failure = self.failure();
        (!failure.is_empty()).then(|| SarifFinding {
            rule: "recorded-conversion",
            about: "Recorded conversions stay as they are.",
            is_error: true,
            file: self.file.clone(),
            line: 0,
            message: format!("{}: {}", self.name, failure.join("; ")),
        })
    }

    fn verdict(&self) -> &'static str {
        if self.failure().is_empty() { "pass" } else { "FAIL" }
    }
}

/// Runs the cases of a directory. Prints a table on stdout, and the differences on stderr.
pub(crate) fn test(args: &TestArgs) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    let kinds = KindsArgs { paths: vec![directory.clone()], no_built_in: false };
    let webhook = kinds.webhook_with(Metadata::Full)?;
    let files = CaseFile::in_directory(directory)?;
    anyhow::ensure!(!files.is_empty(), "{}: no file with `kind: {KIND}` in this directory", directory.display());
    let mut all = Vec::new();
    for file in &files {
        let tested = tested(file, &webhook)?;
        if args.record {
            record(file, &tested)?;
        }
        all.extend(tested);
    }
    report(args, directory, &all)?;
    let failed = all.iter().filter(|tested| !tested.failure().is_empty() && !is_recorded(args, tested)).count();
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether the result is the expected object from now on.
fn is_recorded(args: &TestArgs, tested: &Tested) -> bool {
    args.record && tested.result.is_ok()
}

fn tested(file: &CaseFile, webhook: &Webhook) -> anyhow::Result<Vec<Tested>> {
    let name = file.path.display().to_string();
    let mut all = Vec::new();
    for (index, written) in file.cases().iter().enumerate() {
        let case = GoldenCase::read(written, index + 1).map_err(|error| error.context(name.clone()))?;
        let result = case.run(webhook).map_err(|error| format!("{error:#}"));
        all.push(Tested { file: name.clone(), name: case.name, result });
    }
    Ok(all)
}

fn record(file: &CaseFile, tested: &[Tested]) -> anyhow::Result<()> {
    let changed = tested.iter().filter(|tested| tested.result.is_ok() && !tested.failure().is_empty()).count();
    if changed > 0 {
        let expected = tested.iter().map(|tested| tested.result.as_ref().ok().map(|result| result.object.clone()));
        atomic_file::write(&file.path, &file.recorded(expected.collect()))?;
        talk(&format!("recorded {} in {}", counted(changed, "case"), file.path.display()));
    }
    Ok(())
}

fn report(args: &TestArgs, directory: &Path, all: &[Tested]) -> anyhow::Result<()> {
    if let Some(file) = &args.junit {
        atomic_file::write(file, &junit::document("pointsman kinds test", &[suite(directory, all)]))?;
    }
    if let Some(file) = &args.sarif {
        let findings: Vec<SarifFinding> = all.iter().flat_map(Tested::finding).collect();
        atomic_file::write(file, &sarif::document(&findings))?;
    }
    let open = || all.iter().filter(|tested| !is_recorded(args, tested));
    let failed: Vec<&Tested> = open().filter(|tested| !tested.failure().is_empty()).collect();
    for tested in &failed {
        complain(&format!("{}: {}: {}", tested.file, tested.name, tested.failure().join("; ")));
    }
    let verdict = match failed.len() {
        0 => format!("OK: {}", counted(all.len(), "case")),
        failed => format!("FAILED: {failed} of {}", counted(all.len(), "case")),
    };
    match args.output {
        None => {
            let row = |tested: &Tested| {
                let verdict = if is_recorded(args, tested) { "pass" } else { tested.verdict() };
                [verdict.to_owned(), tested.file.clone(), tested.name.clone()]
            };
            let rows: Vec<[String; 3]> = all.iter().map(row).collect();
            output::text(&format!("{verdict}\n{}", table(["RESULT", "FILE", "CASE"], &rows)))
        }
        Some(format) => {
            let item = |tested: &Tested| {
                let failure = if is_recorded(args, tested) { Vec::new() } else { tested.failure() };
                JsonTree::object([
                    ("file", JsonTree::string(&tested.file)),
                    ("name", JsonTree::string(&tested.name)),
                    ("passed", JsonTree::Bool(failure.is_empty())),
                    ("differences", JsonTree::Array(failure.into_iter().map(JsonTree::string).collect())),
                ])
            };
            let items = JsonTree::Array(all.iter().map(item).collect());
            output::data(&format.write(&JsonTree::object([("items", items)])))
        }
    }
}

fn suite(directory: &Path, all: &[Tested]) -> Suite {
    let case = |tested: &Tested| {
        let failure = tested.failure();
        let outcome = match failure.first() {
            None => CaseOutcome::Passed,
            Some(first) => CaseOutcome::Failed(first.clone(), failure.join("\n")),
        };
        Case { class: tested.file.clone(), name: tested.name.clone(), outcome }
    };
    Suite { name: directory.display().to_string(), cases: all.iter().map(case).collect() }
}

const EXAMPLES: &str = "\
A case converts `object` to the version `to`, and compares the result with `expected`. With `edit`, a JSON merge patch,
it edits the converted object, and converts it back first:
  apiVersion: pointsman.dev/v1
  kind: ConversionCases
  cases:
  - name: the port is a field of its own
    object: {apiVersion: example.com/v1, kind: Widget, spec: {hostPort: 'a:80'}}
    to: v2
    expected: {apiVersion: example.com/v2, kind: Widget, spec: {host: a, port: 80}}

Examples:
  Test the definitions of a directory:
    pointsman kinds test examples/kinds/widgets

  Record the results of new cases, and read the change:
    pointsman kinds test examples/kinds/widgets --record
    git diff examples/kinds/widgets

  In a CI system:
    pointsman kinds test examples/kinds/widgets --junit cases.xml

Exit codes:
  0    all cases passed
  1    a case failed, or a file is not readable
  2    wrong flags";
