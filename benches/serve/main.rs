//! The cost of a server, compared with others in one run: `cargo bench --bench serve -- --help`.
//!
//! Each server is a separate process on the loopback address, with the same certificate. The same client sends the same
//! requests to each in turn, round by round. The result is the CPU time of the server process, from `/proc`, because
//! latencies are meaningful only on an idle machine. Two servers make no decisions. `null` has the listener of
//! pointsman with TLS, HTTP, limits and metrics, and a prepared response: the difference to `null` is the cost of
//! decisions. `plain` is hyper on tokio-rustls without limits or metrics. `--requests` and `--seconds` bound every run.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement talks to its reader, and stops where it cannot measure"
)]

mod chart;
mod client;
mod fairness;
mod load;
mod nothing;
mod process;
#[expect(dead_code, reason = "servers are asked for the newer version only")]
#[path = "../data/reviews.rs"]
mod reviews;
mod scenario;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::client::Target;
use crate::load::Load;
use crate::process::{Program, Server};
use crate::scenario::{Call, Protocol, Scenario};
use crate::table::{Measured, Row};

/// Measures webhook servers on this machine.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// The servers to compare: pointsman, null, plain, axum, controller-runtime.
    #[arg(long, value_delimiter = ',', default_value = "plain,null,pointsman")]
    servers: Vec<Program>,
    /// Measure a running server instead, such as 127.0.0.1:8443. Loopback only.
    #[arg(long, requires = "ca")]
    addr: Option<std::net::SocketAddr>,
    /// The certificate authority of the running server, PEM.
    #[arg(long)]
    ca: Option<PathBuf>,
    /// The process id of the running server, for CPU time and memory.
    #[arg(long)]
    pid: Option<u32>,
    /// The calls to measure. Default: all.
    #[arg(long, value_delimiter = ',')]
    call: Vec<Call>,
    /// Objects in a conversion review.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    objects: Vec<usize>,
    /// Connections, or streams of the single connection with HTTP/2.
    #[arg(long, value_delimiter = ',', default_value = "1,10,100")]
    connections: Vec<usize>,
    /// HTTP/1.1 with keep-alive, as API servers do; HTTP/2; or HTTP/1.1 with a new connection for each request.
    #[arg(long, value_delimiter = ',', default_value = "http1")]
    protocol: Vec<Protocol>,
    /// Rounds. The result is their median.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Maximum number of requests to a server in a round.
    #[arg(long, default_value_t = 4000)]
    requests: usize,
    /// Maximum duration of a round for a server, in seconds.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// The processor for servers; clients use the others. Default: servers and clients share all.
    #[arg(long)]
    pin: Option<usize>,
    /// Instead: measure calls of one object every 5 ms while reviews of 20,000 objects are converted.
    #[arg(long)]
    fairness: bool,
    /// Instead: measure the time of each server from start to first response, and its memory use then.
    #[arg(long)]
    startup: bool,
    /// Print rows as JSON, one per line.
    #[arg(long)]
    json: bool,
    /// Write a plot of CPU time per request to this file.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
    /// Run as a server without decisions: its kind, port, directory of certificates, file of the response.
    #[arg(long, hide = true, num_args = 4)]
    be: Vec<String>,
}

fn main() {
    let args = Args::parse();
    if let [kind, port, certs, answer] = args.be.as_slice() {
        nothing::serve(kind, port.parse().expect("a port"), certs.as_ref(), std::fs::read(answer).expect("an answer"));
        return;
    }
    process::keep_off(args.pin);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run(&args));
}

async fn run(args: &Args) {
    if !args.json {
        println!("load average before: {}", process::load_average());
    }
    match args {
        Args { fairness: true, .. } => fairness::run(args).await,
        Args { startup: true, .. } => startup(args).await,
        _ => compare(args).await,
    }
    if !args.json {
        println!("load average after: {}", process::load_average());
    }
}

/// Puts all servers under one load after the other.
async fn compare(args: &Args) {
    let mut rows = Vec::new();
    if !args.json {
        println!("{}", table::HEAD);
    }
    for scenario in Scenario::all(args) {
        let mut servers = Vec::new();
        for program in args.programs() {
            let Some(server) = args.server(program, &scenario).await else { continue };
            servers.push((server, Vec::new()));
        }
        for _ in 0..args.rounds {
            for (server, rounds) in &mut servers {
                let load = Load { requests: args.requests, time: Duration::from_secs_f64(args.seconds) };
                let connections = load::connections(&server.target, &scenario).await;
                let before = server.cpu();
                let asked = load.run(&server.target, &scenario, connections).await;
                rounds.push((server.cpu().saturating_sub(before), asked));
            }
        }
        // The server does not release memory that it still holds after this time.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for (server, rounds) in servers {
            let row = Row::new(&scenario, &server, Measured::of(rounds));
            println!("{}", if args.json { row.json() } else { row.line() });
            rows.push(row);
        }
    }
    if let Some(file) = &args.svg {
        std::fs::write(file, chart::svg(&rows)).expect("a file to write the plot to");
    }
}

/// The time of each server to its first response, the CPU time of that, and the memory use then: the median of the
/// rounds.
async fn startup(args: &Args) {
    let scenario = Scenario::new(Call::Convert, 1, 1, Protocol::Http1);
    println!("server              ready ms   CPU ms  idle MB");
    for program in args.programs() {
        let (mut ready, mut work, mut idle) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..args.rounds {
            let Some(server) = args.server(program, &scenario).await else { continue };
            ready.extend(server.startup.map(|startup| startup.as_secs_f64() * 1e3));
            work.push(server.cpu().as_secs_f64() * 1e3);
            idle.extend(server.idle.map(|idle| idle as f64 / 1e6));
        }
        let [ready, work, idle] = [ready, work, idle].map(table::median);
        println!("{:<18} {ready:>9.1} {work:>8.1} {idle:>8.1}", program.name());
    }
}

impl Args {
    /// The measured servers.
    fn programs(&self) -> Vec<Program> {
        if self.addr.is_some() { vec![Program::Running] } else { self.servers.clone() }
    }

    /// Starts a server, or connects to a running one, and checks its response to the scenario. `None` if the server
    /// does not support the call.
    async fn server(&self, program: Program, scenario: &Scenario) -> Option<Server> {
        if !program.answers(scenario.call) {
            return None;
        }
        let mut server = match (program, self.addr) {
            (Program::Running, Some(addr)) => {
                assert!(addr.ip().is_loopback(), "{addr} is no address of this machine: load is for loopback only");
                let ca = self.ca.as_ref().expect("--ca");
                Server::running(Target::new(addr, ca), self.pid)
            }
            _ => Server::start(program, self.pin, scenario),
        };
        server.warm_up(scenario, self.startup).await;
        Some(server)
    }
}
