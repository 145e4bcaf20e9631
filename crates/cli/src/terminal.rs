//! Terminal output.

use std::io::{self, IsTerminal};

/// Moves the cursor to the first column of the first line, and clears the screen (ECMA-48, CUP and ED).
pub(crate) const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// Returns whether stderr is coloured: it is a terminal, and colours are not disabled (<https://no-color.org>).
pub(crate) fn in_colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !refused && !dumb
}

/// The width of stderr in columns, if it is a terminal.
pub(crate) fn columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0))
}

/// The prefix of error lines.
pub(crate) fn error_mark() -> &'static str {
    if in_colour() { "\u{1b}[31merror:\u{1b}[0m " } else { "error: " }
}

/// The prefix of warning lines.
pub(crate) fn warning_mark() -> &'static str {
    if in_colour() { "\u{1b}[33mwarning:\u{1b}[0m " } else { "warning: " }
}

/// The prefix of hint lines.
pub(crate) fn hint_mark() -> &'static str {
    if in_colour() { "\u{1b}[36mhint:\u{1b}[0m " } else { "hint: " }
}

/// Escapes a line for people: terminal control sequences (CVE-2021-25743), line ends, and characters that reorder text
/// without being control characters (the bidirectional controls).
pub(crate) fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match steers(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// Returns whether a character controls the terminal.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes several lines, and keeps their ends.
pub(crate) fn escaped_lines(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_neutralised() {
        assert_eq!(escaped("a\n\u{1b}[31mb\u{9b}\u{202e}é"), "a\\n\\u{1b}[31mb\\u{9b}\\u{202e}é");
        assert_eq!(escaped_lines("a\r\n\tb\n"), "a\\r\n\\tb\n");
    }
}
