//! `pointsman crd`.

mod address;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::registration;
use serde_json::{Value, json};

use self::address::url;
pub(super) use self::address::{Service, namespaced};
use super::format::Format;
use super::json::Json;
use super::kinds_dir::{KindsArgs, Known};
use super::output::{self, talk};
use super::usage::Usage;

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
    #[arg(long, value_name = "URL", conflicts_with = "service", value_parser = url, help_heading = "Conversion")]
    url: Option<String>,
    /// Authorities that the API server is to trust, PEM.
    #[arg(long, value_name = "FILE", help_heading = "Conversion")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager is to write into the CRD.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file", help_heading = "Conversion",
          value_parser = namespaced)]
    cert_manager: Option<String>,
    /// Leave the conversion out: the API server then only relabels objects, and fields are lost.
    #[arg(long, conflicts_with_all = ["service", "url", "ca_file", "cert_manager"], help_heading = "Conversion")]
    no_conversion: bool,
    /// Leave the admission rules out that a schema can say (x-kubernetes-validations). With them the API server holds
    /// these rules itself, in every controller version and while no server is up.
    #[arg(long)]
    no_rules: bool,
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
        let message = format!(
            "no kind has versions to convert between: choose with --kind {}",
            names.join("|")
        );
        return Err(Usage(message).into());
    }
    if let (Some(_), true) = (&args.storage, chosen.len() > 1) {
        let names: Vec<&str> = chosen.iter().map(|known| known.kind.name()).collect();
        return Err(Usage(format!(
            "--storage is about one kind: choose with --kind {}",
            names.join("|")
        ))
        .into());
    }
    let bundle = args.ca_file.as_ref().map(bundle).transpose()?;
    let values = chosen
        .into_iter()
        .map(|known| Json::from_json(&crd(args, &known.kind, bundle.as_deref())?.to_string()));
    let text = args.output.write_all(values.collect::<anyhow::Result<_>>()?);
    if (args.service.is_some() || args.url.is_some())
        && bundle.is_none()
        && args.cert_manager.is_none()
    {
        talk(
            "note: neither --ca-file nor --cert-manager: the API server will trust public authorities only",
        );
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
        Usage(format!(
            "no kind {name:?}; known are {}. Others come from --kinds DIR",
            names.join(", ")
        ))
        .into()
    })
}

fn crd(args: &CrdArgs, kind: &Kind, bundle: Option<&str>) -> anyhow::Result<Value> {
    let mut crd = if args.no_rules { kind.crd().clone() } else { registration::crd(kind) };
    if let Some(storage) = &args.storage {
        let versions: Vec<&str> = kind.versions().collect();
        if !versions.contains(&storage.as_str()) {
            return Err(Usage(format!(
                "--storage {storage}: {} has {}",
                kind.kind(),
                versions.join(", ")
            ))
            .into());
        }
        for version in
            crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut).into_iter().flatten()
        {
            let stored = version.get("name").and_then(Value::as_str) == Some(storage);
            set(version, "storage", stored.into());
        }
    }
    let Some(client) = client(args, bundle) else {
        if converts(kind) && !args.no_conversion {
            let versions: Vec<&str> = kind.versions().collect();
            return Err(Usage(format!(
                "{} has {}: say where the API server finds the webhook that converts them, with --service \
                 NAMESPACE/NAME:PORT or --url, or leave the conversion out with --no-conversion",
                kind.kind(),
                versions.join(" and "),
            ))
            .into());
        }
        if let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("conversion");
        }
        return Ok(crd);
    };
    if let Some(spec) = crd.get_mut("spec") {
        let webhook = json!({ "clientConfig": client, "conversionReviewVersions": ["v1"] });
        set(spec, "conversion", json!({ "strategy": "Webhook", "webhook": webhook }));
    }
    if let (Some(certificate), Some(metadata)) = (&args.cert_manager, crd.get_mut("metadata")) {
        let mut annotations = metadata.get("annotations").cloned().unwrap_or_else(|| json!({}));
        set(&mut annotations, "cert-manager.io/inject-ca-from", certificate.as_str().into());
        set(metadata, "annotations", annotations);
    }
    Ok(crd)
}

/// Where the API server finds us.
fn client(args: &CrdArgs, bundle: Option<&str>) -> Option<Value> {
    let mut client = match (&args.service, &args.url) {
        (Some(Service { namespace, name, port }), _) => {
            json!({ "service": { "namespace": namespace, "name": name, "path": "/convert", "port": port } })
        }
        (None, Some(url)) => json!({ "url": url }),
        (None, None) => return None,
    };
    if let Some(bundle) = bundle {
        set(&mut client, "caBundle", bundle.into());
    }
    Some(client)
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

pub(super) fn bundle(file: &PathBuf) -> anyhow::Result<String> {
    let pem = fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    let has_certificate = String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----");
    anyhow::ensure!(has_certificate, "{}: no certificate in it: it must be PEM", file.display());
    Ok(STANDARD.encode(&pem))
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
