//! Flags in, a list of kinds or one of them out.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::definition::{self, Kind};

use super::check::{CheckArgs, check};
use super::summary;
use crate::commands::kinds_dir::{KindsArgs, Known};
use crate::commands::{format::Format, json_tree::JsonTree, kind_names, output, table::table};

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
    /// Check definitions: every path, every difference between two versions that no operation explains, and by trying
    /// them that nothing is lost.
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
            let schema = JsonTree::from_json(&definition::json_schema().to_string())?;
            output::data(&Format::Json.write(&schema))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(KindsCommand::Show(args)) => {
            let all = args.kinds.load()?;
            output::data(&kind_names::find(&all, &args.name)?.text)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    output::data(&match args.output {
        Some(format) => format.write(&JsonTree::Array(all.iter().map(summary::json).collect())),
        None => {
            let rows: Vec<[String; 8]> = all.iter().map(row).collect();
            table(["NAME", "GROUP", "KIND", "VERSIONS", "STORAGE", "HASH-AT", "OPERATIONS", "SOURCE"], &rows)
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

const EXAMPLES: &str = "\
Examples:
  Which kinds are known, yours among them:
    pointsman kinds
    pointsman kinds --kinds crates/core/kinds/materialize

  Begin your own definition from one that works:
    pointsman kinds show materialize

  Check it before it meets a cluster:
    pointsman kinds check crates/core/kinds/materialize/materialize.yaml";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  For editors that read a `# yaml-language-server: $schema=…` line:
    pointsman kinds schema > kinddefinition.schema.json";
