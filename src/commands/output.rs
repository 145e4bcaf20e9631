//! Data to stdout, talk to stderr.

use std::io::{self, Write};

use crate::terminal::in_colour;

/// Writes data.
///
/// # Errors
/// Nobody reads on, among others.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Says a line to the person.
pub(crate) fn talk(line: &str) {
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Says what is wrong.
pub(crate) fn complain(line: &str) {
    match in_colour() {
        true => talk(&format!("\u{1b}[31merror:\u{1b}[0m {line}")),
        false => talk(&format!("error: {line}")),
    }
}
