//! Data to stdout, talk to stderr.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;

use super::node::Node;
use super::yaml;

/// The form of data on stdout.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON document.
    Json,
    /// YAML.
    Yaml,
}

impl Format {
    pub(crate) fn write(self, node: &Node) -> String {
        match self {
            Self::Json => node.to_pretty_json(),
            Self::Yaml => yaml::write(node),
        }
    }

    /// Several values: YAML documents, or the list that kubectl makes of them in JSON.
    pub(crate) fn write_all(self, mut nodes: Vec<Node>) -> String {
        match (self, nodes.len()) {
            (_, 1) => nodes.pop().map(|node| self.write(&node)).unwrap_or_default(),
            (Self::Yaml, _) => nodes.iter().map(yaml::write).collect::<Vec<_>>().join("---\n"),
            (Self::Json, _) => self.write(&Node::map([
                ("apiVersion", Node::text("v1")),
                ("kind", Node::text("List")),
                ("metadata", Node::Map(Vec::new())),
                ("items", Node::List(nodes)),
            ])),
        }
    }
}

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

/// Columns, as kubectl prints them: padded to the widest cell, three spaces between.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let mut out = String::new();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}   "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A value for a cell: on one line, and not the width of a screen.
pub(crate) fn short(text: &str) -> String {
    let mut short: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CELL).collect();
    if text.chars().count() > CELL {
        short.push('…');
    }
    short
}

const CELL: usize = 48;
