//! `pointsman crd`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    Address, ClientConfig, CrdOptions, NamespacedName, SchemaRules, Service, Trust, Url, crd, crd_guard, incomplete,
    rules_left_out,
};

use super::ca_file::{AuthorityRemarks, trust};
use super::kind_names::{find, version};
use super::kinds_dir::{KindsArgs, LoadedKind};
use super::output::{self, warn};
use super::{format::Format, json_tree::JsonTree, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CrdArgs {
    /// Kind to print, by name, kind or plural. Defaults to all kinds with several versions, or with --kinds to those
    /// defined there.
    #[arg(long, value_name = "NAME")]
    kind: Option<String>,
    /// Storage version. Defaults to that of the definition's CRD.
    #[arg(long, value_name = "VERSION")]
    storage: Option<String>,
    /// Versions to serve. Other versions are converted, but not served.
    #[arg(long, value_name = "VERSION,…", value_delimiter = ',')]
    served: Vec<String>,
    /// Service of the webhook. The port defaults to 443.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", help_heading = "Conversion")]
    service: Option<Service>,
    /// URL of the webhook, if it has no Service. The default path is /convert.
    #[arg(long, value_name = "URL", conflicts_with = "service", help_heading = "Conversion")]
    url: Option<Url>,
    /// PEM file of the certificate authorities that the API server will trust.
    #[arg(long, value_name = "FILE", help_heading = "Conversion")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager writes into the CRD.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file", help_heading = "Conversion")]
    cert_manager: Option<NamespacedName>,
    /// Omit the conversion: the API server then only changes apiVersion, and fields are lost.
    #[arg(long, conflicts_with_all = ["service", "url", "ca_file", "cert_manager"], help_heading = "Conversion")]
    no_conversion: bool,
    /// Omit admission rules from the schema (x-kubernetes-validations). With these rules, the API server enforces them
    /// itself, in every controller version and while no server runs.
    #[arg(long)]
    no_rules: bool,
    /// Omit the policy that rejects writes of objects that were read incompletely because a value was too large.
    #[arg(long, help_heading = "Conversion")]
    no_policy: bool,
    /// Also print the policy that prevents removal of the conversion from the CRD while it is needed.
    #[arg(long, conflicts_with = "no_conversion", help_heading = "Conversion")]
    guard: bool,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints CRDs, ready to be applied.
pub(crate) fn run(args: &CrdArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let chosen: Vec<&LoadedKind> = match &args.kind {
        Some(name) => vec![find(&all, name)?],
        None => {
            // With own kinds, the CRDs of other kinds are not printed by default.
            let meant = |known: &&LoadedKind| known.file.is_some() || args.kinds.paths.is_empty();
            all.iter().filter(meant).filter(|known| converts(&known.kind)).collect()
        }
    };
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|known| known.kind.name()).collect();
        let message = format!("no kind has versions to convert between: choose with --kind {}", names.join("|"));
        return Err(Usage(message).into());
    }
    for (flag, given) in [("--storage", args.storage.is_some()), ("--served", !args.served.is_empty())] {
        if given && chosen.len() > 1 {
            let names: Vec<&str> = chosen.iter().map(|known| known.kind.name()).collect();
            return Err(
                Usage(format!("{flag} applies to one kind: select the kind with --kind {}", names.join("|"))).into()
            );
        }
    }
    let trust = trust(args.ca_file.as_deref(), args.cert_manager.as_ref(), remarks)?;
    let trusts_the_public = trust == Trust::SystemRoots;
    let service = args.service.clone().map(Address::Service);
    let address = service.or_else(|| args.url.clone().map(Address::Url));
    let options = CrdOptions {
        conversion: address.map(|address| ClientConfig { address, trust }),
        rules: if args.no_rules { SchemaRules::LeftOut } else { SchemaRules::Included },
        storage: args.storage.clone(),
    };
    let mut values = Vec::new();
    for known in chosen {
        if options.rules == SchemaRules::Included {
            for field in rules_left_out(&known.kind) {
                warn(&format!("the CRD has no rule for `immutable: {field}`: pointsman checks the field in /validate"));
            }
        }
        values.extend(documents(&known.kind, &options, args)?);
    }
    let text = args.output.write_all(values);
    if options.conversion.is_some() && trusts_the_public {
        warn("neither --ca-file nor --cert-manager: the API server will trust public authorities only");
    }
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether a kind has a conversion. A definition without conversion may have an incomplete schema, so its CRD
/// is printed only on request by name. If applied, it would replace the real CRD.
pub(super) fn converts(kind: &Kind) -> bool {
    kind.versions().count() > 1
}

/// The policy precedes the CRD, so that it is in force before the storage version changes.
fn documents(kind: &Kind, options: &CrdOptions, args: &CrdArgs) -> anyhow::Result<Vec<JsonTree>> {
    let mut crd = crd(kind, options).map_err(|error| Usage(format!("--storage {error}")))?;
    if options.conversion.is_none() && converts(kind) && !args.no_conversion {
        let versions: Vec<&str> = kind.versions().collect();
        return Err(Usage(format!(
            "{} has {}: name the conversion webhook with --service NAMESPACE/NAME:PORT or --url, or omit the \
                 conversion with --no-conversion",
            kind.kind(),
            versions.join(" and "),
        ))
        .into());
    }
    if !args.served.is_empty() {
        serve_only(&mut crd, kind, &args.served)?;
    }
    let stored = options.storage.as_deref().unwrap_or_else(|| kind.storage());
    let guarded = options.conversion.is_some() && converts(kind) && !args.no_policy;
    let policy = guarded.then(|| incomplete(kind, stored));
    let guard = (args.guard && converts(kind)).then(|| crd_guard(kind));
    let documents = policy.into_iter().chain(guard).flatten().chain([crd]);
    documents.map(|document| JsonTree::from_json(&document.to_string())).collect()
}

/// Sets whether each version is served.
fn serve_only(crd: &mut serde_json::Value, kind: &Kind, served: &[String]) -> Result<(), Usage> {
    for name in served {
        version(kind, name).map_err(|message| Usage(format!("--served {name}: {message}")))?;
    }
    let versions = crd.pointer_mut("/spec/versions").and_then(serde_json::Value::as_array_mut);
    for version in versions.into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
        let named = |name: &String| version.get("name").and_then(serde_json::Value::as_str) == Some(name);
        let is_served = served.iter().any(named);
        version.insert("served".to_owned(), is_served.into());
    }
    Ok(())
}

const EXAMPLES: &str = "\
Examples:
  For a cluster where cert-manager issues the certificate:
    pointsman crd --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

  The same with your own certificate authority, applied to the cluster:
    pointsman crd --service pointsman-system/pointsman --ca-file certs/ca.crt |
      kubectl apply -f -

  Store the older version, so that you can roll back to the older controller:
    pointsman crd --service pointsman-system/pointsman --ca-file certs/ca.crt \\
      --storage v1alpha1

  Only the schemas, for a test or an editor:
    pointsman crd --no-conversion -o json

Exit codes:
  0  printed
  1  a file could not be read
  2  the flags are wrong";
