//! Flags in, an enabled CRD, an exit code out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{EnableError, EnableOptions, Wanted, enable};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    ClientConfig, CrdOptions, NamespacedName, SchemaRules, crd, incomplete, registered_versions,
};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::Value;

use super::output::{document, sentence, tell};
use super::probes::{probes, samples};
use crate::commands::address_args::{AddressArgs, host_and_port};
use crate::commands::ca_file::{AuthorityRemarks, trust};
use crate::commands::connected::{ClusterArgs, advised};
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
    /// Kind by any of its names.
    #[arg(value_name = "KIND")]
    kind: String,
    #[command(flatten)]
    server: AddressArgs,
    /// Authorities that the API server is to trust, PEM. The server is tested with the same.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager writes into the CRD. The server is tested with what it has written
    /// there already.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file")]
    cert_manager: Option<NamespacedName>,
    /// Leave the admission rules out that a schema can say.
    #[arg(long)]
    no_rules: bool,
    /// Ask these, instead of the endpoints of the Service. May be given several times.
    #[arg(long = "endpoint", value_name = "HOST:PORT", value_parser = host_and_port)]
    endpoints: Vec<String>,
    /// Take fields over that somebody else applied, of the CRD, its policy and what is registered; which ones, and
    /// whose, is said.
    #[arg(long)]
    force_conflicts: bool,
    /// Take the conversion over from another webhook.
    #[arg(long)]
    repoint: bool,
    /// Webhook configurations and policies to apply once the CRD is enabled, as pointsman webhooks prints them; - is
    /// stdin.
    #[arg(long, value_name = "FILE")]
    webhooks: Option<PathBuf>,
    #[command(flatten)]
    dry_run: DryRunArgs,
    /// Form of the result; without it, lines for people.
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
    let kind = webhook.kinds().first().context("a kind that was just found is not known")?;
    if kind.versions().count() < 2 {
        return Err(Usage(format!("{} has one version: there is nothing to convert", kind.kind())).into());
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
        enable(&cluster, &options, &mut |event| tell(event, options.dry_run))
            .await
            .map_err(|error| advised(error, EnableError::call))
    })?;
    match args.output {
        None => output::text(&sentence(&enabled, options.dry_run))?,
        Some(format) => output::data(&format.write(&document(&enabled, options.dry_run)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What is to be there, for each version that may be stored, beginning with the definition's own.
fn wanted(kind: &Kind, client: Option<&ClientConfig>, rules: SchemaRules) -> anyhow::Result<Vec<Wanted>> {
    let others = kind.versions().filter(|version| *version != kind.storage());
    let each = std::iter::once(kind.storage()).chain(others).map(|storage| {
        let options = CrdOptions { conversion: client.cloned(), rules, storage: Some(storage.to_owned()) };
        let crd = crd(kind, &options)?;
        Ok(Wanted { storage: storage.to_owned(), before: incomplete(kind, storage).to_vec(), crd })
    });
    each.collect()
}

/// The documents of a file, each of which is to be one that is registered.
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
            other.get("kind").and_then(Value::as_str).unwrap_or("something without a kind")
        ))
        .into()),
        None => Ok(documents),
    }
}

/// What is asked about: an object without a label, and one of each controller version that is registered.
fn judged(webhook: &Webhook, kind: &Kind, registered: &[Value]) -> anyhow::Result<Vec<Value>> {
    let mut all = samples(webhook, kind, None)?;
    for version in registered_versions(kind, registered).map(|versions| versions.served).unwrap_or_default() {
        all.extend(samples(webhook, kind, Some(&version))?);
    }
    Ok(all)
}

const EXAMPLES: &str = "\
Every endpoint of the Service is asked first what an API server would ask,
over TLS, trusting only what the API server is told to trust, and must answer
as the definition here does. Then the CRD is applied, by server-side apply as
\"pointsman\", and every version is read, and an object created at each as a dry
run; then what --webhooks names is applied, and tried in the same way. If one
of that fails, all of it is put back. The storage version stays: see pointsman
migrate. It can be run again at any time.

Examples:
  What would happen, in a Job of the cluster, where Pods can be reached:
    pointsman enable materialize --service pointsman-system/pointsman \\
      --ca-file ca.crt --dry-run=server

  The admission webhooks as well:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --default 2.17.0 --served 2.17.0 \\
      --service pointsman-system/pointsman --ca-file ca.crt |
      pointsman enable materialize --service pointsman-system/pointsman \\
        --ca-file ca.crt --webhooks -

  From a laptop, while `kubectl -n pointsman-system port-forward
  deployment/pointsman 8443` runs:
    pointsman enable materialize --service pointsman-system/pointsman \\
      --ca-file ca.crt --endpoint localhost:8443

  A CRD that a chart has applied before:
    pointsman enable materialize --service pointsman-system/pointsman \\
      --ca-file ca.crt --force-conflicts

Exit codes:
  0    enabled, or, in a dry run, it could be
  1    something stood in the way: the message says what, and whether anything
       was changed
  2    the flags are wrong
  130  stopped by Ctrl-C, or SIGTERM";
