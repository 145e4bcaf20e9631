//! Data to stdout, talk to stderr.

use std::io::{self, Write};

use anyhow::Context;
use serde_json::Value;

use super::format::for_terminals;
use super::progress_line;
use crate::terminal::{error_mark, escaped, escaped_lines, warning_mark};

/// Writes data for programs, or a file as it is. Fails where nobody reads on, among others.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("failed to write to stdout")
}

/// A line of JSON.
pub(crate) fn json_line(json: &Value) -> anyhow::Result<()> {
    data(&for_terminals(&format!("{json}\n")))
}

/// The same for people: names and values in it cannot steer their terminal.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    data(&escaped_lines(text))
}

/// Says a line to the person.
pub(crate) fn talk(line: &str) {
    say("", line);
}

/// Says what is going to be done, in order.
pub(crate) fn numbered<S: std::fmt::Display>(steps: &[S]) {
    for (at, step) in steps.iter().enumerate() {
        talk(&format!("{}. {step}", at + 1));
    }
}

/// Says what is wrong.
pub(crate) fn complain(line: &str) {
    say(error_mark(), line);
}

/// Says what may be wrong.
pub(crate) fn warn(line: &str) {
    say(warning_mark(), line);
}

/// `1 object`, `2 objects`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn say(before: &str, line: &str) {
    progress_line::clear();
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(io::stderr().lock(), "{before}{}", escaped(line));
}
