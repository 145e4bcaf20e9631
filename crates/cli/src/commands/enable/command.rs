//! The `enable` command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{DesiredCrd, EnableError, EnableOptions, enable};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    ClientConfig, CrdOptions, NamespacedName, SchemaRules, crd, incomplete, registered_versions,
};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::Value;

use super::output::{document, print_event, sentence};
use super::probes::{probes, samples};
use crate::commands::address_args::{AddressArgs, host_and_port};
use crate::commands::ca_file::{AuthorityRemarks, trust};
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::format::Format;
use crate::commands::input::{self, flat_documents};
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;
use crate::commands::usage::Usage;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EnableArgs {
    /// Name of the kind: kind, plural or short name.
    #[arg(value_name = "KIND")]
    kind: String,
    #[command(flatten)]
    server: AddressArgs,
    /// PEM file of the certificate authorities that the API server will trust. The test uses the same file.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager writes into the CRD. The test uses the authority that is already there.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file")]
    cert_manager: Option<NamespacedName>,
    /// Omit admission rules from the schema.
    #[arg(long)]
    no_rules: bool,
    /// Test this address instead of the endpoints of the Service. Can be repeated.
    #[arg(long = "endpoint", value_name = "HOST:PORT", value_parser = host_and_port)]
    endpoints: Vec<String>,
    /// Force server-side apply conflicts on the CRD, its policy and the webhook configurations. Each conflict is
    /// printed.
    #[arg(long)]
    force_conflicts: bool,
    /// Replace the conversion webhook of another server.
    #[arg(long)]
    repoint: bool,
    /// File with webhook configurations and policies to apply afterwards, as printed by pointsman webhooks. Use - for
    /// stdin.
    #[arg(long, value_name = "FILE")]
    webhooks: Option<PathBuf>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    /// Output format. The default is text.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Enables a CRD.
pub(crate) fn run(args: &EnableArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let name = find(&all, &args.kind)?.kind.name().to_owned();
    let chosen = all.into_iter().filter(|known| known.kind.name() == name).map(|known| known.kind);
    let webhook = Webhook::new(chosen.collect(), Metadata::Identity)?;
    let kind = webhook.kinds().first().context("the kind is unknown after its lookup")?;
    if kind.versions().count() < 2 {
        return Err(Usage(format!("{} has only one version: no conversion is needed", kind.kind())).into());
    }
    let trust = trust(args.ca_file.as_deref(), args.cert_manager.as_ref(), remarks)?;
    let client = args.server.address().map(|address| ClientConfig { address, trust });
    let rules = if args.no_rules { SchemaRules::LeftOut } else { SchemaRules::Included };
    let registered = args.webhooks.as_deref().map_or_else(|| Ok(Vec::new()), registered)?;
    let options = EnableOptions {
        name: format!("{}.{}", kind.plural(), kind.group()),
        wanted: wanted(kind, client.as_ref(), rules)?,
        probes: probes(&webhook, kind)?,
        samples: samples(&webhook, kind, None)?,
        judged: judged(&webhook, kind, &registered)?,
        registered,
        endpoints: args.endpoints.clone(),
        force: args.force_conflicts,
        repoint: args.repoint,
        dry_run: args.dry_run.mode(),
    };
    let enabled = args.cluster.act(async |cluster| {
        enable(&cluster, &options, &mut |event| print_event(event, options.dry_run))
            .await
            .map_err(|error| advised(error, EnableError::call))
    })?;
    match args.output {
        None => output::text(&sentence(&enabled, options.dry_run))?,
        Some(format) => output::data(&format.write(&document(&enabled, options.dry_run)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The desired CRD for each possible storage version, starting with that of the definition.
fn wanted(kind: &Kind, client: Option<&ClientConfig>, rules: SchemaRules) -> anyhow::Result<Vec<DesiredCrd>> {
    let others = kind.versions().filter(|version| *version != kind.storage());
    let each = std::iter::once(kind.storage()).chain(others).map(|storage| {
        let options = CrdOptions { conversion: client.cloned(), rules, storage: Some(storage.to_owned()) };
        let crd = crd(kind, &options)?;
        Ok(DesiredCrd { storage: storage.to_owned(), before: incomplete(kind, storage).to_vec(), crd })
    });
    each.collect()
}

/// The documents of a file. Each must be a webhook configuration or policy.
fn registered(file: &Path) -> anyhow::Result<Vec<Value>> {
    let source = input::read(file)?;
    let documents = flat_documents(std::slice::from_ref(&source))?;
    anyhow::ensure!(!documents.is_empty(), source.no_object());
    let is_registered = |document: &&Value| {
        let version = document.get("apiVersion").and_then(Value::as_str);
        version.is_some_and(|version| version.starts_with("admissionregistration.k8s.io/"))
    };
    match documents.iter().find(|document| !is_registered(document)) {
        Some(other) => Err(Usage(format!(
            "--webhooks: {} is no webhook configuration and no policy",
            other.get("kind").and_then(Value::as_str).unwrap_or("a document without a kind")
        ))
        .into()),
        None => Ok(documents),
    }
}

/// The objects of the test: one without a label, and one for each registered controller version.
fn judged(webhook: &Webhook, kind: &Kind, registered: &[Value]) -> anyhow::Result<Vec<Value>> {
    let mut all = samples(webhook, kind, None)?;
    for version in registered_versions(kind, registered).map(|versions| versions.served).unwrap_or_default() {
        all.extend(samples(webhook, kind, Some(&version))?);
    }
    Ok(all)
}

const EXAMPLES: &str = "\
The command works in four steps:
  1. It calls every endpoint of the Service over TLS, as an API server does,
     and compares the answers with the local definition.
  2. It applies the CRD by server-side apply as field manager \"pointsman\".
  3. It reads every version and creates a sample object there (dry run).
  4. It applies the documents of --webhooks and tests them in the same way.
If a step fails, the previous documents are restored. The storage version
stays unchanged: see pointsman migrate. You can run the command again at any
time.

Examples:
  Show the effect, from a Job in the cluster that can reach the Pods:
    pointsman enable materialize --service pointsman-system/pointsman \\
      --ca-file ca.crt --dry-run=server

  Register the admission webhooks too:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --default 2.17.0 --served 2.17.0 \\
      --service pointsman-system/pointsman --ca-file ca.crt |
      pointsman enable materialize --service pointsman-system/pointsman \\
        --ca-file ca.crt --webhooks -

  From a laptop, while `kubectl -n pointsman-system port-forward
  deployment/pointsman 8443` runs:
    pointsman enable materialize --service pointsman-system/pointsman \\
      --ca-file ca.crt --endpoint localhost:8443

  Take ownership of a CRD that a chart has applied:
    pointsman enable materialize --service pointsman-system/pointsman \\
      --ca-file ca.crt --force-conflicts

Exit codes:
  0    enabled, or ready to be enabled (dry run)
  1    failed: the message contains the cause and the changes made
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";
