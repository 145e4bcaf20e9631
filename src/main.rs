//! The pointsman binary: flags in, exit code out.

mod error_throttle;
mod facts;
mod serve;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use pointsman_cli::{LogArgs, ParsedCommand, ServeArgs, ended};
use pointsman_server::{LogQueue, authority_remarks};

/// Returns the memory of requests to the kernel soon (`.cargo/config.toml`).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match pointsman_cli::run(remarks) {
        ParsedCommand::Done(code) => code,
        ParsedCommand::Serve(log, args) => serve(&log, &args),
    }
}

fn remarks(pem: &[u8]) -> anyhow::Result<Vec<String>> {
    Ok(authority_remarks(pem)?.iter().map(ToString::to_string).collect())
}

fn serve(log: &LogArgs, args: &ServeArgs) -> ExitCode {
    // Serving must not wait for the reader of stderr.
    let mut queue = match LogQueue::start(io::stderr()).context("failed to start logging") {
        Ok(queue) => queue,
        Err(error) => return ended(Err(error), &mut io::stderr()),
    };
    let lines = queue.clone();
    let limits = queue.clone();
    let writer = Box::new(move || Box::new(lines.clone()) as Box<dyn io::Write>);
    let result = log.start(writer, Box::new(move |target| limits.admits(target)));
    let result = result.and_then(|()| serve::run(args, &queue));
    let code = ended(result, &mut queue);
    // An active reader gets the last lines; a blocked one does not delay the exit.
    queue.flush(LAST_LINES);
    code
}

const LAST_LINES: Duration = Duration::from_secs(1);
