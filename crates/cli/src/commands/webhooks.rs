//! `pointsman webhooks`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{
    Address, ClientConfig, GuardMode, NamespacedName, Selection, Service, Url, guard, webhooks,
};
use pointsman_core::webhook::ControllerVersion;
use serde_json::Value;

use super::ca_file::{AuthorityRemarks, trust};
use super::crd::find;
use super::{format::Format, json::Json, kinds_dir::KindsArgs, output, usage::Usage};

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WebhooksArgs {
    /// Kind to register, by its name, kind or plural.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// Controller version whose objects the server judges.
    #[arg(long, value_name = "X.Y.Z", required_unless_present = "side_by_side")]
    controller_version: Option<ControllerVersion>,
    /// Several controller versions at once, each with a server of its own.
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "controller_version")]
    side_by_side: Vec<ControllerVersion>,
    /// Controller version that also takes objects without a label, and gives new ones its own.
    #[arg(long, value_name = "X.Y.Z")]
    default: Option<ControllerVersion>,
    /// Controller versions whose objects the server looks at without a say: it counts where it would have denied them.
    /// Start it with the same --shadow.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',', requires = "controller_version")]
    shadow: Vec<ControllerVersion>,
    /// All controller versions that are served, for the policy that guards the label. Defaults to those registered here.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',')]
    served: Vec<ControllerVersion>,
    /// What the policy that guards the label does with one it does not accept. None leaves the policy out.
    #[arg(long, value_enum, default_value_t = Guard::Deny)]
    guard: Guard,
    /// Service of the server. {version} in the name stands for the controller version, with dashes.
    #[arg(long, value_name = "NAMESPACE/NAME[:PORT]", required_unless_present = "url", help_heading = "Server", value_parser = Service::per_version)]
    service: Option<Service>,
    /// Address of the server, without a path, where it is not behind a Service.
    #[arg(long, value_name = "URL", conflicts_with = "service", value_parser = url, help_heading = "Server")]
    url: Option<Url>,
    /// Authorities that the API server is to trust, PEM.
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    ca_file: Option<PathBuf>,
    /// Certificate whose authority cert-manager is to write into the configurations.
    #[arg(long, value_name = "NAMESPACE/CERTIFICATE", conflicts_with = "ca_file", help_heading = "Server")]
    cert_manager: Option<NamespacedName>,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Guard {
    /// Only the audit log hears of it.
    Audit,
    /// The request is refused.
    Deny,
    /// No policy.
    None,
    /// The user is warned.
    Warn,
}

fn url(text: &str) -> Result<Url, &'static str> {
    text.parse().map_err(|_| "the API server takes https://, a host and a port only")
}

/// Prints what is to be applied.
pub(crate) fn run(args: &WebhooksArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    let versions: Vec<ControllerVersion> = args.controller_version.iter().chain(&args.side_by_side).cloned().collect();
    if let Some(default) = args.default.as_ref().filter(|default| !versions.contains(default)) {
        let message = format!("--default {}: register that version too", default.as_str());
        return Err(Usage(message).into());
    }
    let unserved = versions.iter().find(|version| !args.served.is_empty() && !args.served.contains(version));
    if let Some(version) = unserved {
        let version = version.as_str();
        let message = format!("--served leaves {version} out, which is registered here: the guard would refuse it");
        return Err(Usage(message).into());
    }
    let service = args.service.clone().map(Address::Service);
    let Some(address) = service.or_else(|| args.url.clone().map(Address::Url)) else {
        return Err(Usage("needs --service or --url".to_owned()).into());
    };
    if versions.len() > 1 && !address.is_per_version() {
        let message = "each controller version has a server of its own: put {version} into --service or --url";
        return Err(Usage(message.to_owned()).into());
    }
    let trust = trust(args.ca_file.as_deref(), args.cert_manager.as_ref(), remarks)?;
    let documents = documents(args, kind, &versions, &ClientConfig { address, trust });
    let values = documents.iter().map(|document| Json::from_json(&document.to_string()));
    let text = args.output.write_all(values.collect::<anyhow::Result<_>>()?);
    output::data(&match args.output {
        Format::Json => text,
        Format::Yaml => commented(&text),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn documents(args: &WebhooksArgs, kind: &Kind, versions: &[ControllerVersion], client: &ClientConfig) -> Vec<Value> {
    let mut documents = Vec::new();
    for version in versions {
        let mut add = |selection: Selection<'_>| {
            documents.extend(webhooks(kind, version, selection, client));
        };
        add(Selection::Labelled);
        if args.default.as_ref() == Some(version) {
            add(Selection::Unlabelled);
        }
        args.shadow.iter().map(Selection::Shadowed).for_each(&mut add);
    }
    let mode = match args.guard {
        Guard::Audit => Some(GuardMode::Audit),
        Guard::Deny => Some(GuardMode::Deny),
        Guard::Warn => Some(GuardMode::Warn),
        Guard::None => None,
    };
    let served = if args.served.is_empty() { versions } else { &args.served };
    documents.extend(mode.into_iter().flat_map(|mode| guard(kind, served, mode)));
    documents
}

/// Says beside a choice why it is so: whoever changes it later reads it there.
fn commented(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let plain = line.trim_start().trim_start_matches("- ");
        if let Some((_, why)) = WHY.iter().find(|(key, _)| plain.starts_with(key)) {
            let indent = line.len() - plain.len();
            if line.trim_start().starts_with("- ") {
                out.push_str(&format!("{:width$}# {why}\n", "", width = indent.saturating_sub(2)));
            } else {
                out.push_str(&format!("{:indent$}# {why}\n", ""));
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

const WHY: [(&str, &str); 7] = [
    (
        "failurePolicy: Fail",
        "Nothing of this kind is written unjudged. Run two replicas, so that a roll-out does not mean a refusal.",
    ),
    ("failurePolicy: Ignore", "It only looks on: nobody waits for it."),
    (
        "matchConditions:",
        "An object that is going is let go, also while no server is up: its finalizers are removed by updates.",
    ),
    (
        "matchPolicy: Equivalent",
        "All served versions are named below, so nothing is converted for the call; a later one would be.",
    ),
    ("objectSelector:", "Matched against the old object and the new one: a change of the label reaches both versions."),
    (
        "reinvocationPolicy: IfNeeded",
        "Another webhook may change the spec after us, and the hash must be of what is stored.",
    ),
    ("sideEffects: None", "Dry runs are answered as any other."),
];

const EXAMPLES: &str = "\
Examples:
  One controller version that also takes objects without a label:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --default 2.17.0 --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

  Two controller versions side by side, each with a Service of its own:
    pointsman webhooks --kind materialize --side-by-side 2.16.0,2.17.0 \\
      --default 2.16.0 --service 'pointsman-system/pointsman-{version}:443' \\
      --cert-manager pointsman-system/pointsman

  A new version looks on while the old one decides:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --shadow 2.16.0 --guard none --ca-file certs/dev/ca.crt \\
      --service pointsman-system/pointsman-next:443

  See first what the guard of the label would refuse:
    pointsman webhooks --kind elasticsearch --controller-version 2.17.0 \\
      --guard warn --service pointsman-system/pointsman \\
      --ca-file certs/dev/ca.crt

Exit codes:
  0 printed, 1 a file could not be read, 2 the flags are wrong.";
