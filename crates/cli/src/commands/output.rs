//! Data on stdout, messages on stderr.

use std::io::{self, Write};

use anyhow::Context;
use serde_json::Value;

use super::format::for_terminals;
use super::progress_line;
use crate::terminal::{error_mark, escaped, escaped_lines, warning_mark};

/// Writes data for programs, or a file unchanged. Fails if the pipe is closed, among others.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("failed to write to stdout")
}

/// Writes a line of JSON.
pub(crate) fn json_line(json: &Value) -> anyhow::Result<()> {
    data(&for_terminals(&format!("{json}\n")))
}

/// Writes text for people, escaped for terminals.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    data(&escaped_lines(text))
}

/// Prints a message.
pub(crate) fn talk(line: &str) {
    print_line("", line);
}

/// Prints the planned steps in order.
pub(crate) fn numbered<S: std::fmt::Display>(steps: &[S]) {
    for (at, step) in steps.iter().enumerate() {
        talk(&format!("{}. {step}", at + 1));
    }
}

/// Prints an error.
pub(crate) fn complain(line: &str) {
    print_line(error_mark(), line);
}

/// Prints a warning.
pub(crate) fn warn(line: &str) {
    print_line(warning_mark(), line);
}

/// Formats a count: `1 object`, `2 objects`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn print_line(before: &str, line: &str) {
    progress_line::clear();
    // If stderr is closed, there is no other output.
    let _ = writeln!(io::stderr().lock(), "{before}{}", escaped(line));
}
