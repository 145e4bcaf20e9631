//! The `rotate-ca` command.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{RotateError, RotateOptions, rotate};
use pointsman_core::parse_duration;
use pointsman_core::registration::ClientConfig;

use super::output::{RotatePrinter, document, sentence};
use crate::commands::address_args::{AddressArgs, host_and_port};
use crate::commands::ca_file::{AuthorityRemarks, trust};
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::format::Format;
use crate::commands::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RotateArgs {
    #[command(flatten)]
    server: AddressArgs,
    /// PEM file of the certificate authorities that the API server will trust at the end.
    #[arg(long, value_name = "FILE")]
    ca_file: PathBuf,
    /// Check this address instead of the endpoints of the Service. Can be repeated.
    #[arg(long = "endpoint", value_name = "HOST:PORT", value_parser = host_and_port)]
    endpoints: Vec<String>,
    /// Write the caBundle also where cert-manager manages it, and remove its annotation.
    #[arg(long)]
    take_over: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    /// Output format. The default is text.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// Time to wait until every endpoint presents a certificate of the new authority.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "0s", help_heading = "Pace")]
    wait: Duration,
    /// Time that API servers get to see a new caBundle.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s", help_heading = "Pace")]
    settle: Duration,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Replaces the certificate authority.
pub(crate) fn run(args: &RotateArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let trust = trust(Some(&args.ca_file), None, remarks)?;
    let address = args.server.address().context("no server was named")?;
    let options = RotateOptions {
        client: ClientConfig { address, trust }.for_conversion(),
        endpoints: args.endpoints.clone(),
        take_over: args.take_over,
        wait: args.wait,
        settle: args.settle,
        dry_run: args.dry_run.mode(),
    };
    let mut printer = RotatePrinter::default();
    let rotated = args.cluster.act(async |cluster| {
        let result = rotate(&cluster, &options, &mut |event| printer.on_event(event)).await;
        result.map_err(|error| advised(error, RotateError::call))
    })?;
    match args.output {
        None => output::text(&sentence(&rotated, options.dry_run))?,
        Some(format) => output::data(&format.write(&document(&rotated, options.dry_run)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

const EXAMPLES: &str = "\
The command changes every CRD and webhook configuration of the server in three
steps:
  1. Trust the new authority in addition to the old one.
  2. Wait until every ready endpoint presents a certificate of the new one.
  3. Trust the new authority alone.
If an endpoint still presents an old certificate, both authorities stay trusted
and calls succeed. Run the same command again when the servers have their new
certificates. A new certificate of the same authority does not need this
command. Each change of a CRD is printed, because the API server then rebuilds
its caches of the kind.

Examples:
  Trust both, replace the certificates, then trust the new authority alone:
    pointsman rotate-ca --service pointsman-system/pointsman \\
      --ca-file new-ca.crt
    kubectl -n pointsman-system create secret tls pointsman --cert new.crt \\
      --key new.key --dry-run=client -o yaml | kubectl apply -f -
    pointsman rotate-ca --service pointsman-system/pointsman \\
      --ca-file new-ca.crt --wait 5m

  Show the steps:
    pointsman rotate-ca --service pointsman-system/pointsman \\
      --ca-file new-ca.crt --dry-run=server

Exit codes:
  0    only the new authority is trusted, or the change can start (dry run)
  1    failed: the message contains the cause and the trusted authorities
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";
