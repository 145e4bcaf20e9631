//! The forms of data on stdout.

use clap::ValueEnum;

use super::{json_tree::JsonTree, yaml};
use crate::terminal::{escaped_lines, steers};

/// The form of data on stdout.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON document.
    Json,
    /// YAML.
    Yaml,
}

impl Format {
    pub(crate) fn write(self, json: &JsonTree) -> String {
        match self {
            Self::Json => for_terminals(&format!("{json:#}\n")),
            Self::Yaml => yaml::write(json),
        }
    }

    /// Several values: YAML documents, or the list that kubectl makes of them in JSON.
    pub(crate) fn write_all(self, values: Vec<JsonTree>) -> String {
        match (self, values.as_slice()) {
            (_, [value]) => self.write(value),
            (Self::Yaml, _) => values.iter().map(yaml::write).collect::<Vec<_>>().join("---\n"),
            (Self::Json, _) => self.write(&JsonTree::object([
                ("apiVersion", JsonTree::string("v1")),
                ("kind", JsonTree::string("List")),
                ("metadata", JsonTree::object([])),
                ("items", JsonTree::Array(values)),
            ])),
        }
    }
}

/// JSON that says the same, and does nothing to a terminal: outside of its strings it has line ends alone.
pub(super) fn for_terminals(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match steers(c) && c != '\n' {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// The same, for commands that have a form for people as well.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TextFormat {
    /// One JSON document.
    Json,
    /// Lines for people.
    Text,
    /// YAML.
    Yaml,
}

impl TextFormat {
    /// Writes several values, each of which is given as text and as JSON.
    pub(crate) fn write_all(self, values: Vec<(String, JsonTree)>) -> String {
        let format = match self {
            Self::Json => Format::Json,
            Self::Text => {
                let text: String = values.into_iter().map(|(text, _)| text).collect();
                return escaped_lines(&text);
            }
            Self::Yaml => Format::Yaml,
        };
        format.write_all(values.into_iter().map(|(_, json)| json).collect())
    }
}

/// The same, for what a program may want to watch over time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum WatchedFormat {
    /// One JSON document.
    Json,
    /// Metrics in the text format of Prometheus.
    Prometheus,
    /// Lines for people.
    Text,
    /// YAML.
    Yaml,
}

/// The forms of a list, for what a program may want to watch over time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum WatchedListFormat {
    /// One JSON document.
    Json,
    /// A name on each line, as other commands take it.
    Name,
    /// Metrics in the text format of Prometheus.
    Prometheus,
    /// The columns that most people need.
    Table,
    /// All columns.
    Wide,
    /// YAML.
    Yaml,
}

/// The forms of a list, as `kubectl get` has them.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ListFormat {
    /// One JSON document.
    Json,
    /// A name on each line, as other commands take it.
    Name,
    /// The columns that most people need.
    Table,
    /// All columns.
    Wide,
    /// YAML.
    Yaml,
}
