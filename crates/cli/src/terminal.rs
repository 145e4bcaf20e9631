//! What a terminal is sent.

use std::io::{self, IsTerminal};

/// Whether lines on stderr are coloured: where it is a terminal whose owner has not said no (<https://no-color.org>).
pub(crate) fn in_colour() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !refused && !dumb
}

/// How many columns stderr has, where it is a terminal.
pub(crate) fn columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0))
}

/// What a line begins with that says what is wrong.
pub(crate) fn error_mark() -> &'static str {
    if in_colour() { "\u{1b}[31merror:\u{1b}[0m " } else { "error: " }
}

/// What a line begins with that says what may be wrong.
pub(crate) fn warning_mark() -> &'static str {
    if in_colour() { "\u{1b}[33mwarning:\u{1b}[0m " } else { "warning: " }
}

/// What a line begins with that says what to do next.
pub(crate) fn hint_mark() -> &'static str {
    if in_colour() { "\u{1b}[36mhint:\u{1b}[0m " } else { "hint: " }
}

/// One line as a person is shown it: what a terminal would obey is escaped (CVE-2021-25743), and so are line ends and
/// what reorders a line without being a control character (the bidirectional controls).
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

/// Whether it does something to a terminal, beside being seen.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The same for several lines, which end where they end.
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
