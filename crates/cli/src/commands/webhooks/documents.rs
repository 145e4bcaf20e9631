//! The documents of controller versions.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{ClientConfig, GuardMode, Selection, guard, unserved, webhooks};
use pointsman_core::webhook::ControllerVersion;
use serde_json::Value;

use super::addresses::ServerArgs;
use super::comments::{WebhookTask, commented};
use crate::commands::{format::Format, json_tree::JsonTree, kinds_dir::KindsArgs, output};

/// The common flags of printed documents.
#[derive(Args, Debug)]
pub(super) struct PrintedArgs {
    /// Action of the policy that guards the label, for an invalid label. None omits the policies.
    #[arg(long, value_enum, default_value_t = Guard::Deny)]
    pub(super) guard: Guard,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    pub(super) output: Format,
    #[command(flatten)]
    pub(super) kinds: KindsArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
}

/// The action for an invalid label.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Guard {
    /// Report to the audit log only.
    Audit,
    /// Reject the request.
    Deny,
    /// No policy.
    None,
    /// Warn the client.
    Warn,
}

impl Guard {
    pub(super) fn mode(self) -> Option<GuardMode> {
        match self {
            Self::Audit => Some(GuardMode::Audit),
            Self::Deny => Some(GuardMode::Deny),
            Self::Warn => Some(GuardMode::Warn),
            Self::None => None,
        }
    }
}

/// The registered controller versions.
pub(super) struct ControllerVersions<'a> {
    pub(super) registered: &'a [ControllerVersion],
    pub(super) default: Option<&'a ControllerVersion>,
    pub(super) shadowed: &'a [ControllerVersion],
    pub(super) served: &'a [ControllerVersion],
}

/// Removes duplicates, which would be printed twice under one name.
pub(super) fn once_each<'v>(versions: impl IntoIterator<Item = &'v ControllerVersion>) -> Vec<ControllerVersion> {
    let mut all: Vec<ControllerVersion> = Vec::new();
    for version in versions {
        if !all.contains(version) {
            all.push(version.clone());
        }
    }
    all
}

/// The documents of versions, with the guard policy if requested.
pub(super) fn documents(
    kind: &Kind,
    versions: &ControllerVersions<'_>,
    guarded: Guard,
    client: &ClientConfig,
) -> Vec<Value> {
    let mut documents = Vec::new();
    for version in versions.registered {
        let mut add = |selection: Selection<'_>| documents.extend(webhooks(kind, version, selection, client));
        add(Selection::Labelled);
        if versions.default == Some(version) {
            add(Selection::Unlabelled);
        }
        versions.shadowed.iter().map(Selection::Shadowed).for_each(&mut add);
    }
    if let Some(mode) = guarded.mode() {
        documents.extend(guard(kind, versions.served, mode));
        documents.extend(unserved(kind, versions.served));
    }
    documents
}

/// Prints pointsman's own documents: YAML with comments, or JSON.
pub(super) fn print(documents: &[Value], format: Format) -> anyhow::Result<ExitCode> {
    print_with_comments(documents, format, WebhookTask::OfOurs)
}

/// Prints webhooks with the comments for their purpose.
pub(super) fn print_with_comments(documents: &[Value], format: Format, task: WebhookTask) -> anyhow::Result<ExitCode> {
    match format {
        Format::Json => print_plain(documents, format),
        Format::Yaml => {
            output::data(&commented(&values(documents)?, task))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Prints documents of other projects, without comments.
pub(super) fn print_plain(documents: &[Value], format: Format) -> anyhow::Result<ExitCode> {
    output::data(&format.write_all(values(documents)?))?;
    Ok(ExitCode::SUCCESS)
}

fn values(documents: &[Value]) -> anyhow::Result<Vec<JsonTree>> {
    documents.iter().map(|document| JsonTree::from_json(&document.to_string())).collect()
}
