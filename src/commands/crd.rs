//! `pointsman crd`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    Address, ClientConfig, CrdOptions, NamespacedName, SchemaRules, Service, Trust, Url, crd, incomplete,
};

use super::ca_file::trust;
use super::kinds_dir::{KindsArgs, Known};
use super::output::{self, talk};
use super::{format::Format, json::Json, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CrdArgs {
    /// Kind to print, by its name, kind or plural. Without it, all kinds that have versions to convert between; with
    /// --kinds only those that are defined there.
    #[arg(long, value_name = "NAME")]
    kind: Option<String>,
    /// Version to store, instead of the one that the CRD of the definition names.
    #[arg(long, value_name = "VERSION")]
    storage: Option<String>,
    /// Service of the webhook. The port is 443 if none is given.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", help_heading = "Conversion")]
    service: Option<Service>,
    /// Address of the webhook, where it is not behind a Service. Without a path, /convert is called.
    #[arg(long, value_name = "URL", conflicts_with = "service", help_heading = "Conversion")]
    url: Option<Url>,
    /// Authorities that the API server is to trust, PEM.
    #[arg(long, value_name = "FILE", help_heading = "Conversion")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager is to write into the CRD.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file", help_heading = "Conversion")]
    cert_manager: Option<NamespacedName>,
    /// Leave the conversion out: the API server then only relabels objects, and fields are lost.
    #[arg(long, conflicts_with_all = ["service", "url", "ca_file", "cert_manager"], help_heading = "Conversion")]
    no_conversion: bool,
    /// Leave the admission rules out that a schema can say (x-kubernetes-validations). With them the API server holds
    /// these rules itself, in every controller version and while no server is up.
    #[arg(long)]
    no_rules: bool,
    /// Leave the policy out that refuses to store an object without what was too large to come along when it was read.
    #[arg(long, help_heading = "Conversion")]
    no_policy: bool,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints CRDs, ready to be applied.
pub(crate) fn run(args: &CrdArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let chosen: Vec<&Known> = match &args.kind {
        Some(name) => vec![find(&all, name)?],
        None => {
            // Whoever has kinds of their own does not mean to apply the CRDs of others.
            let meant = |known: &&Known| known.file.is_some() || args.kinds.directory.is_none();
            all.iter().filter(meant).filter(|known| converts(&known.kind)).collect()
        }
    };
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|known| known.kind.name()).collect();
        let message = format!("no kind has versions to convert between: choose with --kind {}", names.join("|"));
        return Err(Usage(message).into());
    }
    if let (Some(_), true) = (&args.storage, chosen.len() > 1) {
        let names: Vec<&str> = chosen.iter().map(|known| known.kind.name()).collect();
        return Err(Usage(format!("--storage is about one kind: choose with --kind {}", names.join("|"))).into());
    }
    let trust = trust(args.ca_file.as_deref(), args.cert_manager.as_ref())?;
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
        values.extend(documents(&known.kind, &options, args)?);
    }
    let text = args.output.write_all(values);
    if options.conversion.is_some() && trusts_the_public {
        talk("note: neither --ca-file nor --cert-manager: the API server will trust public authorities only");
    }
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether there is something to convert. A definition without conversion need not have the whole schema, so that its
/// CRD is printed only where somebody asks for it by name: applied, it would stand in the way of the real one.
fn converts(kind: &Kind) -> bool {
    kind.versions().count() > 1
}

/// A kind by any of its names.
pub(super) fn find<'k>(all: &'k [Known], name: &str) -> anyhow::Result<&'k Known> {
    let lower = name.to_lowercase();
    let found = all.iter().find(|known| {
        let kind = &known.kind;
        let full = format!("{}.{}", kind.plural(), kind.group());
        [kind.name(), &kind.kind().to_lowercase(), kind.plural(), &full].contains(&lower.as_str())
    });
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|known| known.kind.name()).collect();
        Usage(format!("no kind {name:?}; known are {}. Others come from --kinds DIR", names.join(", "))).into()
    })
}

/// The policy first: it is in force before the CRD stores another version.
fn documents(kind: &Kind, options: &CrdOptions, args: &CrdArgs) -> anyhow::Result<Vec<Json>> {
    let crd = crd(kind, options).map_err(|error| Usage(format!("--storage {error}")))?;
    if options.conversion.is_none() && converts(kind) && !args.no_conversion {
        let versions: Vec<&str> = kind.versions().collect();
        return Err(Usage(format!(
            "{} has {}: say where the API server finds the webhook that converts them, with --service \
             NAMESPACE/NAME:PORT or --url, or leave the conversion out with --no-conversion",
            kind.kind(),
            versions.join(" and "),
        ))
        .into());
    }
    let stored = options.storage.as_deref().unwrap_or_else(|| kind.storage());
    let guarded = options.conversion.is_some() && converts(kind) && !args.no_policy;
    let policy = guarded.then(|| incomplete(kind, stored));
    policy.into_iter().flatten().chain([crd]).map(|document| Json::from_json(&document.to_string())).collect()
}

const EXAMPLES: &str = "\
Examples:
  For a cluster where cert-manager looks after the certificate:
    pointsman crd --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

  The same with an authority of your own, straight into the cluster:
    pointsman crd --service pointsman-system/pointsman --ca-file certs/ca.crt |
      kubectl apply -f -

  Store the older version, so that the older controller can come back:
    pointsman crd --service pointsman-system/pointsman --ca-file certs/ca.crt \\
      --storage v1alpha1

  Just the schemas, for a test or an editor:
    pointsman crd --no-conversion -o json

Exit codes:
  0  printed
  1  a file could not be read
  2  the flags are wrong";
