//! Runs a server from command line flags, until it is stopped.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use pointsman_cli::{DefinitionFiles, DevAnswers, LimitArgs, ServeArgs, Usage, hinted};
use pointsman_core::webhook::Webhook;
use pointsman_server::{
    BodyLimits, CertPaths, Collector, DefinitionSource, Definitions, DevPage, DevPair, FollowedFacts, LogQueue, Memory,
    Options, RequestHandler, ServeError, ServedWebhook,
};

use crate::facts::FactFollower;

/// Serves until a stop signal.
pub(crate) fn run(args: &ServeArgs, log_queue: &LogQueue) -> anyhow::Result<ExitCode> {
    let (mut options, dev) = options(args)?;
    options.log_queue = Some(log_queue.clone());
    let (files, webhook) = args.definitions()?;
    for misfit in args.misfits()? {
        let (document, problem, change) = (misfit.document, misfit.problem, misfit.change);
        tracing::warn!(document, problem, change, "the registered configuration does not match this server");
    }
    if dev.is_some() {
        for addr in [options.listen, options.admin_listen] {
            if !addr.ip().is_loopback() {
                tracing::warn!(%addr, "--dev is reachable from other machines, with a certificate that expires without renewal");
            }
        }
    }
    options.conversions = webhook.every_conversion();
    let kinds = webhook.names();
    // Without mutations, and without files that may add some, no cluster is needed.
    let needs_facts = files.may_change() || !webhook.watched_facts().is_empty();
    let served = ServedWebhook::new(webhook);
    // For local use only: hidden on other addresses.
    if dev.is_some() && options.admin_listen.ip().is_loopback() {
        let current = served.clone();
        let kinds = args.dev_answers(move || current.webhook());
        let tried = kinds.clone();
        let page = DevPage::new(
            (DevAnswers::PAGE, DevAnswers::SCRIPT),
            move || kinds.kinds(),
            move |question| tried.tried(question),
        );
        options.dev_page = Some(page);
    }
    if needs_facts {
        let follower = FactFollower::new(served.clone(), args.facts_cluster());
        follower.start().context("failed to start following facts")?;
        options.facts = Some(FollowedFacts::new(follower));
    }
    if files.may_change() {
        options.definitions = Some(Definitions::new(served.clone(), ReloadedFiles(files)));
    }
    let (memory_budget, max_connections) = (options.memory_budget, options.max_connections);
    let decide = RequestHandler::new(served);
    pointsman_server::serve(options, decide, &mut |addr, admin| {
        let version = env!("CARGO_PKG_VERSION");
        tracing::info!(%addr, %admin, kinds, memory_budget, max_connections, version, "listening");
        if let Some(dev) = &dev {
            // After the earlier lines; a closed stderr must not stop the server.
            let _ = log_queue.clone().write_all(what_next(dev, addr, admin).as_bytes());
        }
    })
    .map_err(advise)?;
    Ok(ExitCode::SUCCESS)
}

/// The files of `--kinds`, which the server reads again.
struct ReloadedFiles(DefinitionFiles);

impl DefinitionSource for ReloadedFiles {
    fn changed(&mut self, serving: &Webhook) -> Result<Option<Webhook>, String> {
        self.0.changed(serving).map_err(|error| format!("{error:#}"))
    }
}

fn options(args: &ServeArgs) -> anyhow::Result<(Options, Option<DevPair>)> {
    let files = (args.tls_cert_file.clone(), args.tls_private_key_file.clone());
    let (paths, dev) = match files {
        _ if args.dev => {
            let dev = pointsman_server::prepare_dev_pair(&PathBuf::from(DEV_DIR)).context("--dev")?;
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
    options.collector = args.otlp_endpoint.as_deref().map_or(Ok(None), collector)?;
    apply(&args.limits, &mut options);
    options.shutdown_grace = args.shutdown_grace;
    options.lame_duck = match args.lame_duck {
        Some(pause) => pause,
        // No load balancer is involved, and a person waits for the prompt.
        None if args.dev => Duration::ZERO,
        None => options.lame_duck,
    };
    Ok((options, dev))
}

/// The span collector. An empty variable means none (opentelemetry.io/docs/specs/otel/configuration).
fn collector(url: &str) -> Result<Option<Collector>, Usage> {
    match url {
        "" => Ok(None),
        url => url.parse().map(Some).map_err(|error| Usage(format!("--otlp-endpoint: {url} is {error}"))),
    }
}

/// Applies the limits to the options.
fn apply(limits: &LimitArgs, options: &mut Options) {
    let memory = Memory::of_this_process(options.collector.as_ref());
    options.body_limits = BodyLimits::up_to(limits.max_body);
    options.memory_budget = limits.memory_budget.unwrap_or(memory.budget);
    options.max_connections = limits.max_connections.unwrap_or(memory.connections);
    options.request_deadline = limits.request_timeout;
    options.write_timeout = limits.write_timeout;
    options.idle_timeout = limits.idle_timeout;
}

fn advise(error: ServeError) -> anyhow::Error {
    let advice = match &error {
        ServeError::Pair { .. } => "check --tls-cert-file and --tls-private-key-file",
        ServeError::ClientCa { .. } => "check --client-ca-file",
        ServeError::Bind { .. } => "check --listen and --admin-listen",
        _ => return error.into(),
    };
    hinted(error, advice)
}

fn what_next(dev: &DevPair, addr: SocketAddr, admin: SocketAddr) -> String {
    let (addr, admin) = (reachable(addr), reachable(admin));
    let ca = dev.ca.display();
    let (example, review) = match Path::new(EXAMPLE).exists() {
        true => ("an example", EXAMPLE),
        false => ("a ConversionReview of yours", "review.json"),
    };
    format!(
        "
pointsman serves https://{addr} with a throw-away certificate. Not for a cluster.

Convert {example}:
  curl --cacert {ca} -H 'Content-Type: application/json' --data @{review} https://{addr}/convert

See how it is doing:
  curl 'http://{admin}/readyz?verbose'
  curl http://{admin}/metrics

Try conversions in a browser:
  http://{admin}/dev

In a cluster, mount a certificate and set --tls-cert-file and --tls-private-key-file: pointsman serve --help

"
    )
}

/// A reachable address for a listening one.
fn reachable(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, addr.port())
}

const DEV_DIR: &str = "certs/dev";

/// Valid in a clone of the repository.
const EXAMPLE: &str = "manifests/examples/review.json";
