//! The `kinds` command.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::definition::{Kind, MutatedKind};
use pointsman_rollout::definition_schema;

use super::check::{CheckArgs, check};
use super::comparison::{CompareArgs, compare};
use super::docs::{DocsArgs, docs};
use super::draft::{DraftArgs, draft};
use super::golden::{TestArgs, test};
use super::summary;
use crate::commands::format::{Format, ListFormat};
use crate::commands::kinds_dir::{KindsArgs, KnownDefinitions};
use crate::commands::{json_tree::JsonTree, kind_names, output, table::table};

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
    /// Check definitions: paths, unexplained differences between versions, and data loss in trial conversions.
    Check(CheckArgs),
    /// Compare two revisions of a CRD or a definition: which changes lose values, refuse writes, or are safe.
    Compare(CompareArgs),
    /// Print a page for the users of a kind: what changed between its versions.
    Docs(DocsArgs),
    /// Write a definition for a CRD, guessed from the schemas of its versions.
    Draft(DraftArgs),
    /// List known kinds.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Print the JSON Schema of a definition file, for editors.
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Print a definition.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Compare recorded conversions with the results of the definitions.
    Test(TestArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    output: ListFormat,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Kind, by name, kind or plural.
    #[arg(value_name = "KIND")]
    name: String,
    #[command(flatten)]
    kinds: KindsArgs,
}

pub(crate) fn run(args: &KindsCommandArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list(&args.list),
        Some(KindsCommand::Check(args)) => check(args),
        Some(KindsCommand::Compare(args)) => compare(args),
        Some(KindsCommand::Docs(args)) => docs(args),
        Some(KindsCommand::Draft(args)) => draft(args),
        Some(KindsCommand::List(args)) => list(args),
        Some(KindsCommand::Schema) => {
            let schema = JsonTree::from_json(&definition_schema().to_string())?;
            output::data(&Format::Json.write(&schema))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(KindsCommand::Test(args)) => test(args),
        Some(KindsCommand::Show(args)) => {
            let all = args.kinds.load_all()?;
            let text = match all.mutated.iter().find(|known| known.mutated.is_called(&args.name)) {
                Some(known) => &known.text,
                None => &kind_names::find(&all.kinds, &args.name)?.text,
            };
            output::data(text)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load_all()?;
    let mutated = || all.mutated.iter().map(|known| &known.mutated);
    let json = || {
        let all = all.kinds.iter().map(summary::json).chain(all.mutated.iter().map(summary::of_mutations));
        JsonTree::Array(all.collect())
    };
    output::data(&match args.output {
        ListFormat::Json => Format::Json.write(&json()),
        ListFormat::Yaml => Format::Yaml.write(&json()),
        ListFormat::Name => {
            let names = all.kinds.iter().map(|known| known.kind.name()).chain(mutated().map(MutatedKind::name));
            names.map(|name| format!("{name}\n")).collect()
        }
        ListFormat::Table => {
            let rows = all.kinds.iter().map(|known| columns(&known.kind)).chain(mutated().map(columns_of_mutations));
            // Storage versions are only in the wide table, because a terminal has 80 columns.
            let rows = rows.map(|[name, group, kind, versions, _]| [name, group, kind, versions]);
            let [name, group, kind, versions, _] = COLUMNS;
            table([name, group, kind, versions], &rows.collect::<Vec<_>>())
        }
        ListFormat::Wide => wide(&all),
    })?;
    Ok(ExitCode::SUCCESS)
}

const COLUMNS: [&str; 5] = ["NAME", "GROUP", "KIND", "VERSIONS", "STORAGE"];

fn columns(kind: &Kind) -> [String; 5] {
    let versions = kind.versions().collect::<Vec<_>>().join(",");
    [kind.name(), kind.group(), kind.kind(), &versions, kind.storage()].map(str::to_owned)
}

/// A definition of mutations has no storage version.
fn columns_of_mutations(mutated: &MutatedKind) -> [String; 5] {
    [mutated.name(), mutated.group(), mutated.kind(), mutated.version(), "-"].map(str::to_owned)
}

fn wide(all: &KnownDefinitions) -> String {
    let [name, group, is, versions, storage] = COLUMNS;
    let rows = all.kinds.iter().map(|known| {
        let [name, group, is, versions, storage] = columns(&known.kind);
        let hash_at = known.kind.hash_version().unwrap_or("-").to_owned();
        let operations: usize = known.kind.steps().iter().map(|step| step.operations.len()).sum();
        [name, group, is, versions, storage, hash_at, operations.to_string(), known.source().to_owned()]
    });
    let mutated = all.mutated.iter().map(|known| {
        let [name, group, is, versions, storage] = columns_of_mutations(&known.mutated);
        let operations: usize = known.mutated.describe().iter().map(|(_, operations)| operations.len()).sum();
        [name, group, is, versions, storage, "-".to_owned(), operations.to_string(), known.file.clone()]
    });
    let rows: Vec<[String; 8]> = rows.chain(mutated).collect();
    table([name, group, is, versions, storage, "HASH-AT", "OPERATIONS", "SOURCE"], &rows)
}

const EXAMPLES: &str = "\
Examples:
  List the known kinds, including yours:
    pointsman kinds
    pointsman kinds -o wide --kinds crates/core/kinds/materialize

  Start your own definition from a working one, or from your CRD:
    pointsman kinds show materialize
    pointsman kinds draft tests/data/kinds/widgets.crd.yaml

  Check a definition before you use it in a cluster:
    pointsman kinds check crates/core/kinds/materialize/materialize.yaml";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  For editors that read a `# yaml-language-server: $schema=…` line:
    pointsman kinds schema > kinddefinition.schema.json";

const LIST_EXAMPLES: &str = "\
Examples:
  List the kinds with versions, storage version and source file:
    pointsman kinds list -o wide --kinds tests/data/kinds

  Only the names, as other commands accept them:
    pointsman kinds list -o name";

const SHOW_EXAMPLES: &str = "\
Examples:
  Start your own definition from a working one:
    pointsman kinds show materialize > materialize.yaml

  By a short name, or with version and group, as kubectl names kinds:
    pointsman kinds show materializes.v1alpha2.materialize.cloud";
