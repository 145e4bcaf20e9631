//! `pointsman webhooks mutations`: a webhook for each mutation, or a policy that the API server evaluates itself.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::MutatedKind;
use pointsman_core::registration::{MutationPolicies, mutation_policies, mutation_webhooks};
use serde_json::Value;

use super::addresses::ServerArgs;
use super::comments::WebhookTask;
use super::documents::print_with_comments;
use crate::commands::ca_file::AuthorityRemarks;
use crate::commands::format::Format;
use crate::commands::kinds_dir::{KindsArgs, LoadedMutations};
use crate::commands::output;
use crate::commands::usage::Usage;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct MutationsArgs {
    /// Definition of mutations, by its name, kind or plural.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// Print policies that the API server evaluates itself, even while no server runs. Mutations with facts that the
    /// API server cannot read are printed as webhooks and listed.
    #[arg(long)]
    policy: bool,
    /// Kubernetes version for the policies. Versions before 1.36 do not support the required policies.
    #[arg(long, value_name = "X.Y", requires = "policy", default_value = "1.36", value_parser = kube_version)]
    kube_version: KubeVersion,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Prints the configuration.
pub(super) fn run(args: &MutationsArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load_all()?.mutated;
    let mutated = &find(&all, &args.kind)?.mutated;
    let mut documents = Vec::new();
    let mut mutated = mutated.clone();
    if args.policy {
        let MutationPolicies { documents: policies, others } = policies(&mutated, args.kube_version);
        documents = policies;
        for (mutation, why) in &others {
            output::warn(&format!("mutation {mutation} is printed as a webhook, not as a policy: {why}"));
        }
        mutated = mutated.only(|mutation| others.iter().any(|(other, _)| other == mutation));
    }
    if mutated.mutations().next().is_some() {
        let client = args.server.client_of_mutations(remarks)?;
        documents.push(mutation_webhooks(&mutated, &client));
    }
    print_with_comments(&documents, args.output, WebhookTask::OfMutations)
}

/// The policies that a Kubernetes version supports.
fn policies(mutated: &MutatedKind, version: KubeVersion) -> MutationPolicies {
    if version >= FIRST_WITH_POLICIES {
        return mutation_policies(mutated);
    }
    let (major, minor) = FIRST_WITH_POLICIES;
    let why =
        format!("Kubernetes has MutatingAdmissionPolicy in admissionregistration.k8s.io/v1 since {major}.{minor}");
    let others = mutated.mutations().map(|mutation| (mutation.to_owned(), why.clone())).collect();
    MutationPolicies { documents: Vec::<Value>::new(), others }
}

/// A Kubernetes version: major and minor.
type KubeVersion = (u32, u32);

/// The first version with these policies as `v1`, and the required expressions.
const FIRST_WITH_POLICIES: KubeVersion = (1, 36);

/// Parses `1.36`, `v1.36` and `1.36.3`.
fn kube_version(text: &str) -> Result<KubeVersion, &'static str> {
    let mut parts = text.strip_prefix('v').unwrap_or(text).split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => Err("a version of Kubernetes is a number, a dot and a number, such as 1.36"),
    }
}

fn find<'k>(all: &'k [LoadedMutations], name: &str) -> Result<&'k LoadedMutations, Usage> {
    all.iter().find(|known| known.mutated.is_called(name)).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|known| known.mutated.name()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Usage(format!(
            "no definition of mutations has the name {name:?}; known definitions: {known}. Add others with --kinds \
             DIR"
        ))
    })
}

const EXAMPLES: &str = "\
Examples:
  A webhook for each mutation of a definition:
    pointsman webhooks mutations --kind deployments \\
      --kinds manifests/examples/gardener \\
      --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

  Policies, which work without a server, for facts in a namespace or in one
  named object; and webhooks for the other facts:
    pointsman webhooks mutations --kind deployments --policy \\
      --kinds manifests/examples/gardener \\
      --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

Exit codes:
  0  printed
  1  a file could not be read
  2  the flags are wrong";
