//! Flags in, another authority that is trusted, an exit code out.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use pointsman_cluster::{RotateError, RotateOptions, rotate};
use pointsman_core::parse_duration;
use pointsman_core::registration::ClientConfig;

use super::output::{RotateTold, document, sentence};
use crate::commands::address_args::{AddressArgs, host_and_port};
use crate::commands::ca_file::{AuthorityRemarks, trust};
use crate::commands::connected::{ClusterArgs, advised};
use crate::commands::dry_run_args::DryRunArgs;
use crate::commands::format::Format;
use crate::commands::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RotateArgs {
    #[command(flatten)]
    server: AddressArgs,
    /// Authorities that the API server is to trust in the end, PEM.
    #[arg(long, value_name = "FILE")]
    ca_file: PathBuf,
    /// Ask these, instead of the endpoints of the Service. May be given several times.
    #[arg(long = "endpoint", value_name = "HOST:PORT", value_parser = host_and_port)]
    endpoints: Vec<String>,
    /// Write the caBundle also where cert-manager does: its annotation is taken away.
    #[arg(long)]
    take_over: bool,
    #[command(flatten)]
    dry_run: DryRunArgs,
    /// Form of the result; without it, lines for people.
    #[arg(short, long, value_enum)]
    output: Option<Format>,
    /// How long to wait for every endpoint to show a certificate of the new authority.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "0s", help_heading = "Pace")]
    wait: Duration,
    /// How long API servers may take to hear of a caBundle.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "10s", help_heading = "Pace")]
    settle: Duration,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Changes the authority.
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
    let mut told = RotateTold::default();
    let rotated = args.cluster.act(async |cluster| {
        let result = rotate(&cluster, &options, &mut |event| told.hear(event)).await;
        result.map_err(|error| advised(error, RotateError::call))
    })?;
    match args.output {
        None => output::text(&sentence(&rotated, options.dry_run))?,
        Some(format) => output::data(&format.write(&document(&rotated, options.dry_run)?))?,
    }
    Ok(ExitCode::SUCCESS)
}

const EXAMPLES: &str = "\
For every CRD and webhook configuration that leads to the server: first the
new authority is trusted beside the old one; then every endpoint that is ready
must show a certificate of the new one; then it is trusted alone. Where one
still shows the old one, both stay trusted, nothing fails, and the same
command goes on once the servers have their certificates. A new certificate of
the same authority needs none of this. Each change of a CRD is said: the API
server builds its caches of the kind anew.

Examples:
  Trust both, give the servers their certificates, and trust the new one alone:
    pointsman rotate-ca --service pointsman-system/pointsman --ca-file new-ca.crt
    kubectl -n pointsman-system create secret tls pointsman --cert new.crt \\
      --key new.key --dry-run=client -o yaml | kubectl apply -f -
    pointsman rotate-ca --service pointsman-system/pointsman \\
      --ca-file new-ca.crt --wait 5m

  What would be done:
    pointsman rotate-ca --service pointsman-system/pointsman \\
      --ca-file new-ca.crt --dry-run=server

Exit codes:
  0    the new authority alone is trusted, or, in a dry run, that could be
       begun
  1    something stood in the way: the message says what, and what is trusted
       now
  2    the flags are wrong
  130  stopped by Ctrl-C, or SIGTERM";
