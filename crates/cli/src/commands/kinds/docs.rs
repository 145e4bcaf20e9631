//! `pointsman kinds docs`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::{FieldChange, Kind};

use crate::commands::kinds_dir::KindsArgs;
use crate::commands::{kind_names, output};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct DocsArgs {
    /// Kind, by name, kind or plural.
    #[arg(value_name = "KIND")]
    name: String,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints a page in Markdown for the users of a kind: what changed between its versions.
pub(super) fn docs(args: &DocsArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load_all()?;
    let kind = &kind_names::find(&all.kinds, &args.name)?.kind;
    output::data(&page(kind))?;
    Ok(ExitCode::SUCCESS)
}

fn page(kind: &Kind) -> String {
    let versions: Vec<String> = kind.versions().map(code).collect();
    let mut text = format!(
        "# Versions of {name}\n\n`{name}.{group}` has the versions {all}. The API server stores {storage}, and converts each \
         object to the version that you request. A field that a version does not have is kept in an annotation, and comes \
         back in the other version.\n",
        name = kind.kind(),
        group = kind.group(),
        all = versions.join(", "),
        storage = code(kind.storage()),
    );
    for step in kind.steps() {
        let (older, newer) = (&step.from, &step.to);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## From {older} to {newer}\n\n");
        if step.changes.is_empty() {
            text.push_str("Both versions have the same fields.\n");
            continue;
        }
        let _ = write!(text, "| {older} | {newer} | change |\n|---|---|---|\n");
        for change in &step.changes {
            let _ = writeln!(text, "{}", row(change));
        }
    }
    text
}

fn row(change: &FieldChange) -> String {
    let cell = |paths: &[String]| match paths {
        [] => "–".to_owned(),
        paths => paths.iter().map(|path| code(path)).collect::<Vec<_>>().join(", "),
    };
    let what = match change.operation.as_str() {
        "add" => "new",
        "blank" => "a value that means \"unset\" is absent",
        "clamp" => "numbers are limited",
        "compute" => "another form",
        "drop" => "removed",
        "fill" => "has a value if it is not set",
        "move" => "moved",
        "moveIntoMap" => "an entry of the map",
        "rename" => "renamed",
        "split" => "several fields",
        "type" => "another type",
        "values" => "other values",
        "wrap" => "a list",
        other => &format!("another form, by the operation {}", code(other)),
    };
    let conditions: String = change.conditions.iter().map(|condition| format!(", if {condition}")).collect();
    format!("| {} | {} | {what}{conditions} |", cell(&change.older), cell(&change.newer))
}

/// A path or a version as code. A `|` would end the cell.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

const EXAMPLES: &str = "\
Examples:
  Write a page for the users of your kind:
    pointsman kinds docs widget --kinds tests/data/kinds > widget-versions.md";
