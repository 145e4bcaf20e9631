//! Data to stdout, talk to stderr.

use std::io::{self, IsTerminal, Write};

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

/// Colours are for a terminal whose owner has not said no (<https://no-color.org>).
fn in_colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !refused && !dumb
}
