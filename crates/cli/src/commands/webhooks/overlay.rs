//! `pointsman webhooks overlay`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::registration::{Address, Service, overlay_all};
use pointsman_core::webhook::ControllerVersion;

use super::addresses::fits;
use super::documents::{once_each, print_plain};
use crate::commands::kind_names::find;
use crate::commands::output::talk;
use crate::commands::{format::Format, input, kinds_dir::KindsArgs, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct OverlayArgs {
    /// File with the operator's original configuration. Use - for stdin.
    file: PathBuf,
    /// Kinds of the operator's versions, by name, kind or plural. Name all kinds of one configuration at once: a later
    /// output for another kind would replace the earlier one.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', required = true)]
    kind: Vec<String>,
    /// Controller versions side by side.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    side_by_side: Vec<ControllerVersion>,
    /// Controller version that also receives objects without a label.
    #[arg(long, value_name = "X.Y.Z")]
    default: Option<ControllerVersion>,
    /// Service of the operator's webhook. {version} in the name stands for the controller version: 2-17-0 for 2.17.0.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", value_parser = Service::per_version)]
    service: Option<Service>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the documents that replace the operator's own.
pub(super) fn run(args: &OverlayArgs) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let kinds = args.kind.iter().map(|name| Ok(&find(&all, name)?.kind)).collect::<anyhow::Result<Vec<&Kind>>>()?;
    if let Some(default) = args.default.as_ref().filter(|default| !args.side_by_side.contains(default)) {
        return Err(Usage(format!("--default {}: add this version to --side-by-side", default.as_str())).into());
    }
    let versions = once_each(&args.side_by_side);
    let address = args.service.clone().map(Address::Service);
    if versions.len() > 1 && !address.as_ref().is_some_and(Address::is_per_version) {
        let message = "each version of the operator has its own webhook: use --service with {version} in its name";
        return Err(Usage(message.to_owned()).into());
    }
    address.iter().try_for_each(|address| fits(address, &versions))?;
    let source = input::read(&args.file)?;
    let mut documents = Vec::new();
    for value in input::values(&source).map_err(anyhow::Error::msg)? {
        let document = serde_json::from_str(&value.to_string())?;
        let laid = overlay_all(&kinds, &versions, args.default.as_ref(), address.as_ref(), &document)
            .map_err(|error| anyhow::anyhow!("{}: {error}", source.name))?;
        let name = document.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default();
        match &laid.rest {
            Some(_) => talk(&format!("{name}: the printed configuration replaces this document")),
            None => talk(&format!("{name}: delete this after you apply the printed configuration")),
        }
        documents.extend(laid.versions);
        documents.extend(laid.rest);
    }
    anyhow::ensure!(!documents.is_empty(), source.no_object());
    print_plain(&documents, args.output)
}

const EXAMPLES: &str = "\
Examples:
  Elastic's own webhook, for two versions of its operator:
    pointsman webhooks overlay manifests/examples/webhooks/elastic.yaml \\
      --kinds examples/kinds/elasticsearch --kind elasticsearch \\
      --side-by-side 2.16.0,2.17.0 --default 2.16.0 \\
      --service 'elastic-system/elastic-webhook-{version}'

Exit codes:
  0  printed
  1  a file could not be read, or has no webhook to adapt
  2  the flags are wrong";
