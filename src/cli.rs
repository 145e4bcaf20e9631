//! The flags. What they do is in `commands`.

use clap::{Parser, Subcommand};

use crate::commands::{completion, convert, crd, hash, kinds, mutate, serve, validate, webhooks};
use crate::logging::LogArgs;

/// Keeps Kubernetes objects on the right track while their API and their controller change.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the completion script of a shell.
    Completion(completion::CompletionArgs),
    /// Convert objects to another version, offline, as the webhook does.
    Convert(convert::ConvertArgs),
    /// Print a kind's CustomResourceDefinition, with the conversion webhook in it.
    Crd(crd::CrdArgs),
    /// Print the rollout hash of objects, and what it is made of.
    Hash(hash::HashArgs),
    /// List, check and show the definitions of kinds.
    Kinds(kinds::KindsCommandArgs),
    /// Print what /mutate would change in objects, offline.
    Mutate(mutate::MutateArgs),
    /// Serve the webhooks: /convert, /mutate and /validate.
    Serve(Box<serve::ServeArgs>),
    /// Judge objects as /validate would, offline.
    Validate(validate::ValidateArgs),
    /// Print the webhook configurations of a controller version, and the policy that guards the version label.
    Webhooks(Box<webhooks::WebhooksArgs>),
}
