//! Flags in, a server that runs until it is told to stop.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_server::dev::{self, DevPair};
use pointsman_server::{CertPaths, Decide, LogQueue, Options, ServeError, Server, Shutdown};
use tokio::runtime::{Builder, Runtime};

use super::args::ServeArgs;
use crate::commands::{kinds_dir, usage::Usage};

/// Serves until a signal asks to stop.
pub(crate) fn run(args: ServeArgs, log_queue: Option<LogQueue>) -> anyhow::Result<()> {
    let (mut options, dev) = options(&args)?;
    options.log_queue.clone_from(&log_queue);
    let webhook = webhook(&args)?;
    if dev.is_some() {
        for addr in [options.listen, options.admin_listen] {
            if !addr.ip().is_loopback() {
                tracing::warn!(%addr, "--dev is open to others than this machine, with a certificate that nobody renews");
            }
        }
    }
    options.conversions = webhook.every_conversion();
    let (memory_budget, max_connections) = (options.memory_budget, options.max_connections);
    let runtime = runtime().context("failed to start the runtime")?;
    let result = runtime.block_on(async {
        let shutdown = Shutdown::on_signals().context("failed to catch signals")?;
        let decide = Decide::new(move |endpoint, body| webhook.handle(endpoint, &body));
        let bound = Server::bind(options, decide).await.map_err(advise)?;
        let (addr, admin) = (bound.local_addr()?, bound.admin_addr()?);
        let version = env!("CARGO_PKG_VERSION");
        tracing::info!(%addr, %admin, memory_budget, max_connections, version, "listening");
        if let Some(dev) = dev {
            let next = what_next(&dev, addr, admin);
            // Behind the lines before it; a closed stderr is no reason not to serve.
            let _ = match log_queue {
                Some(mut queue) => queue.write_all(next.as_bytes()),
                None => io::stderr().write_all(next.as_bytes()),
            };
        }
        Ok(bound.run(shutdown).await?)
    });
    // A decision that still runs has nobody left to answer to.
    runtime.shutdown_background();
    result
}

fn webhook(args: &ServeArgs) -> anyhow::Result<Webhook> {
    let metadata = match args.full_metadata {
        true => Metadata::Full,
        false => Metadata::Identity,
    };
    let webhook = kinds_dir::webhook(args.kinds.as_deref(), metadata)?;
    Ok(webhook.admitting(args.admission.settings()))
}

fn options(args: &ServeArgs) -> anyhow::Result<(Options, Option<DevPair>)> {
    let files = (args.tls_cert_file.clone(), args.tls_private_key_file.clone());
    let (paths, dev) = match files {
        _ if args.dev => {
            let dev = dev::prepare(&PathBuf::from(DEV_DIR)).context("--dev")?;
            (dev.paths.clone(), Some(dev))
        }
        (Some(cert), Some(key)) => (CertPaths { cert, key }, None),
        _ => {
            let message = "no certificate to serve: set --tls-cert-file and --tls-private-key-file, or try --dev";
            return Err(Usage(message.to_owned()).into());
        }
    };
    let every = |port| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let default = |port| {
        if args.dev { loopback(port) } else { every(port) }
    };
    let mut options = Options::new(
        args.listen.unwrap_or_else(|| default(8443)),
        args.admin_listen.unwrap_or_else(|| default(8080)),
        paths,
    );
    options.client_ca_file.clone_from(&args.client_ca_file);
    options.client_names.clone_from(&args.client_allowed_names);
    args.limits.apply(&mut options);
    options.shutdown_grace = args.shutdown_grace;
    options.lame_duck = match args.lame_duck {
        Some(pause) => pause,
        // Nobody has to hear of it, and a person is waiting for the prompt.
        None if args.dev => Duration::ZERO,
        None => options.lame_duck,
    };
    Ok((options, dev))
}

/// Threads as the CPU limit allows: with one core, a second thread only adds hand-overs.
fn runtime() -> io::Result<Runtime> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut builder = if cores == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    // Large bodies are decided there, which is work for a core and not waiting: more threads than cores make all of
    // them late. Two more look after files.
    builder.enable_all().max_blocking_threads(cores + 2).build()
}

fn advise(error: ServeError) -> anyhow::Error {
    let advice = match &error {
        ServeError::Pair { .. } => "check --tls-cert-file and --tls-private-key-file",
        ServeError::ClientCa { .. } => "check --client-ca-file",
        ServeError::Bind { .. } => "check --listen and --admin-listen",
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(advice)
}

fn what_next(dev: &DevPair, addr: SocketAddr, admin: SocketAddr) -> String {
    let (addr, admin) = (reachable(addr), reachable(admin));
    let ca = dev.ca.display();
    format!(
        "
pointsman serves https://{addr} with a throw-away certificate. Not for a cluster.

Convert an example:
  curl --cacert {ca} -H 'Content-Type: application/json' --data @{EXAMPLE} https://{addr}/convert

See how it is doing:
  curl 'http://{admin}/readyz?verbose'
  curl http://{admin}/metrics

In a cluster, mount a certificate and set --tls-cert-file and --tls-private-key-file: pointsman serve --help

"
    )
}

/// An address that can be called, for one that is listened on.
fn reachable(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, addr.port())
}

const DEV_DIR: &str = "certs/dev";

const EXAMPLE: &str = "manifests/examples/review.json";
