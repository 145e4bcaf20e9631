//! `pointsman kinds`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::definition::{self, Kind};

use super::format::Format;
use super::json::Json;
use super::kinds_dir::{self, KindsArgs, Known};
use super::output::{self, complain, talk};
use super::table::table;
use super::{crd, input};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct KindsCommandArgs {
    #[command(subcommand)]
    command: Option<KindsCommand>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum KindsCommand {
    /// Check definitions: every path, and every difference between two versions that no operation explains.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// List the kinds that are known.
    List(ListArgs),
    /// Print the JSON Schema of a definition file, for editors.
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Print a definition.
    Show(ShowArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Form of the result; without it, a table.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
struct CheckArgs {
    /// Definition, or a directory of them; - is stdin, with the CRD beside the directory you are in.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Kind, by its name, kind or plural.
    name: String,
    #[command(flatten)]
    kinds: KindsArgs,
}

pub(crate) fn run(args: &KindsCommandArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list(&args.list),
        Some(KindsCommand::Check(args)) => check(args),
        Some(KindsCommand::List(args)) => list(args),
        Some(KindsCommand::Schema) => {
            let schema = Json::from_json(&definition::json_schema().to_string())?;
            output::data(&Format::Json.write(&schema))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(KindsCommand::Show(args)) => {
            let all = args.kinds.load()?;
            output::data(&crd::find(&all, &args.name)?.text)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    output::data(&match args.output {
        Some(format) => format.write(&Json::Array(all.iter().map(json).collect())),
        None => {
            let rows: Vec<[String; 8]> = all.iter().map(row).collect();
            table(
                ["NAME", "GROUP", "KIND", "VERSIONS", "STORAGE", "HASH-AT", "OPERATIONS", "SOURCE"],
                &rows,
            )
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn operations(kind: &Kind) -> usize {
    kind.steps().iter().map(|step| step.operations.len()).sum()
}

fn row(known: &Known) -> [String; 8] {
    let kind = &known.kind;
    [
        kind.name().to_owned(),
        kind.group().to_owned(),
        kind.kind().to_owned(),
        kind.versions().collect::<Vec<_>>().join(","),
        kind.storage().to_owned(),
        kind.hash_version().unwrap_or("-").to_owned(),
        operations(kind).to_string(),
        known.source().to_owned(),
    ]
}

fn json(known: &Known) -> Json {
    let kind = &known.kind;
    let steps = kind.steps().into_iter().map(|step| {
        let operations = step.operations.into_iter().map(Json::string).collect();
        Json::object([
            ("from", Json::string(step.from)),
            ("to", Json::string(step.to)),
            ("operations", Json::Array(operations)),
        ])
    });
    Json::object([
        ("name", Json::string(kind.name())),
        ("group", Json::string(kind.group())),
        ("kind", Json::string(kind.kind())),
        ("plural", Json::string(kind.plural())),
        ("versions", Json::Array(kind.versions().map(Json::string).collect())),
        ("storage", Json::string(kind.storage())),
        ("hashAt", kind.hash_version().map_or(Json::Null, Json::string)),
        ("steps", Json::Array(steps.collect())),
        ("source", Json::string(known.source())),
    ])
}

/// Checks definitions. What is wrong goes to stderr, in the form that editors jump to; what was understood to stdout.
fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
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
    let plural =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    if bad == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    talk(&format!(
        "{} in {bad} of {}",
        plural(problems, "problem"),
        plural(files.len(), "definition")
    ));
    Ok(ExitCode::FAILURE)
}

/// The files of a directory that say they are definitions, and those that nobody can tell of.
fn definitions(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = input::in_directory(directory)?;
    files.retain(|file| {
        fs::read_to_string(file).map_or(true, |text| text.contains(definition::KIND))
    });
    anyhow::ensure!(!files.is_empty(), "{}: no definition in this directory", directory.display());
    Ok(files)
}

fn checked(file: &Path) -> Result<Known, Vec<String>> {
    let source = input::read(file).map_err(|error| vec![format!("{error:#}")])?;
    kinds_dir::read(file, source)
        .map_err(|bad| bad.problems.iter().map(ToString::to_string).collect())
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
  Which kinds are known, yours among them:
    pointsman kinds
    pointsman kinds --kinds crates/core/kinds/materialize

  Begin your own definition from one that works:
    pointsman kinds show materialize

  Check it before it meets a cluster:
    pointsman kinds check crates/core/kinds/materialize/materialize.yaml";

const CHECK_EXAMPLES: &str = "\
Examples:
  A definition, with its CRD beside it:
    pointsman kinds check crates/core/kinds/materialize/materialize.yaml

  All of a directory, as `--kinds` would read it:
    pointsman kinds check crates/core/kinds/materialize

Exit codes:
  0  all are fine
  1  one is not
  2  the flags are wrong";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  For editors that read a `# yaml-language-server: $schema=…` line:
    pointsman kinds schema > kinddefinition.schema.json";
