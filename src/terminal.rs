//! What a terminal is sent.

use std::io::{self, IsTerminal};

/// Whether lines on stderr are coloured: where it is a terminal whose owner has not said no (<https://no-color.org>).
pub(crate) fn in_colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !refused && !dumb
}
