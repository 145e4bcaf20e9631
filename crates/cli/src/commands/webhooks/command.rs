//! The `webhooks` command.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::webhook::ControllerVersion;

use super::documents::{ControllerVersions, PrintedArgs, documents, once_each, print};
use super::{doctor, mutations, overlay, policy, retire};
use crate::commands::ca_file::AuthorityRemarks;
use crate::commands::kind_names::find;
use crate::commands::output::warn;
use crate::commands::usage::Usage;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct WebhooksArgs {
    #[command(subcommand)]
    command: Option<WebhooksCommand>,
    /// Kind to register, by name, kind or plural.
    #[arg(long, value_name = "NAME", required = true)]
    kind: Option<String>,
    /// Controller version of the server.
    #[arg(long, value_name = "X.Y.Z", required_unless_present = "side_by_side")]
    controller_version: Option<ControllerVersion>,
    /// Several controller versions, each with its own server.
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "controller_version")]
    side_by_side: Vec<ControllerVersion>,
    /// Controller version that also takes objects without a label, and labels new objects with its own version.
    #[arg(long, value_name = "X.Y.Z")]
    default: Option<ControllerVersion>,
    /// Controller versions whose objects the server judges in shadow mode: it only counts denials. Start the server
    /// with the same --shadow.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',', requires = "controller_version")]
    shadow: Vec<ControllerVersion>,
    /// All served controller versions, for the policy that guards the label, which replaces the existing one. Defaults
    /// to those of --side-by-side. Required with --controller-version.
    #[arg(long, value_name = "X.Y.Z,…", value_delimiter = ',')]
    served: Vec<ControllerVersion>,
    #[command(flatten)]
    printed: PrintedArgs,
}

#[derive(Debug, Subcommand)]
enum WebhooksCommand {
    /// Check the consistency of registered documents with each other, the kinds, and a server.
    Doctor(doctor::WebhooksDoctorArgs),
    /// Print copies of an operator's own webhook configuration for each controller version.
    Overlay(overlay::OverlayArgs),
    /// Print the policy that protects the requested value during a promotion.
    Policy(policy::PolicyArgs),
    /// Print the documents to apply and delete, in order, to remove a controller version.
    Retire(Box<retire::RetireArgs>),
    /// Print webhooks or policies for mutations of foreign kinds.
    Mutations(Box<mutations::MutationsArgs>),
}

/// Prints the documents to apply.
pub(crate) fn run(args: &WebhooksArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(WebhooksCommand::Doctor(args)) => return doctor::run(args),
        Some(WebhooksCommand::Overlay(args)) => return overlay::run(args),
        Some(WebhooksCommand::Policy(args)) => return policy::run(args),
        Some(WebhooksCommand::Retire(args)) => return retire::run(args, remarks),
        Some(WebhooksCommand::Mutations(args)) => return mutations::run(args, remarks),
        None => {}
    }
    let all = args.printed.kinds.load()?;
    let kind = &find(&all, args.kind.as_deref().unwrap_or_default())?.kind;
    let registered = once_each(args.controller_version.iter().chain(&args.side_by_side));
    let shadowed = once_each(&args.shadow);
    let served = served(args, &registered)?;
    let versions = ControllerVersions {
        registered: &registered,
        default: args.default.as_ref(),
        shadowed: &shadowed,
        served: &served,
    };
    let client = args.printed.server.client(&registered, served.len(), remarks)?;
    if let ([only], None, Some(_)) = (served.as_slice(), &args.default, args.printed.guard.mode()) {
        let only = only.as_str();
        warn(&format!(
            "no --default: new objects get no version label, and the guard refuses objects without a label. Add \
                 --default {only}, and start the server of this version with --default-version"
        ));
    }
    print(&documents(kind, &versions, args.printed.guard, &client), args.printed.output)
}

/// All served versions, which must include the registered ones.
fn served(args: &WebhooksArgs, registered: &[ControllerVersion]) -> Result<Vec<ControllerVersion>, Usage> {
    if let Some(default) = args.default.as_ref().filter(|default| !registered.contains(default)) {
        return Err(Usage(format!("--default {}: register this version too", default.as_str())));
    }
    if let (Some(version), [], true) = (&args.controller_version, &*args.served, args.printed.guard.mode().is_some()) {
        let version = version.as_str();
        return Err(Usage(format!(
            "--served must name all served controller versions, because the guard policy refuses every other \
                 label. Add --served {version} if this is the only version, or --guard none to keep the policy"
        )));
    }
    if let Some(own) = args.shadow.iter().find(|shadowed| registered.contains(shadowed)) {
        return Err(Usage(format!(
            "--shadow {}: this server enforces its rules for these objects, so it cannot be an audit server",
            own.as_str()
        )));
    }
    let served = if args.served.is_empty() { registered.to_vec() } else { once_each(&args.served) };
    let shadowed_webhooks = args.shadow.iter().filter(|_| args.printed.guard.mode().is_some());
    let mut known = registered.iter().chain(shadowed_webhooks);
    let Some(version) = known.find(|version| !served.contains(version)) else {
        return Ok(served);
    };
    let (version, what) = (version.as_str(), if registered.contains(version) { "registered" } else { "audited" });
    Err(Usage(format!("--served does not include {version}, {what} in this command: the guard would refuse the label")))
}

const EXAMPLES: &str = "\
Examples:
  One controller version that also takes objects without a label:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --default 2.17.0 --served 2.17.0 \\
      --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

  Two controller versions side by side, each with a Service of its own:
    pointsman webhooks --kind materialize --side-by-side 2.16.0,2.17.0 \\
      --default 2.16.0 --service 'pointsman-system/pointsman-{version}:443' \\
      --cert-manager pointsman-system/pointsman

  The new version only reports, and the old one decides:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --shadow 2.16.0 --guard none --ca-file certs/dev/ca.crt \\
      --service pointsman-system/pointsman-next:443

  Only warn where the guard of the label would refuse:
    pointsman webhooks --kind materialize --controller-version 2.17.0 \\
      --served 2.17.0 --guard warn --service pointsman-system/pointsman \\
      --ca-file certs/dev/ca.crt

Exit codes:
  0  printed
  1  a file could not be read
  2  the flags are wrong";
