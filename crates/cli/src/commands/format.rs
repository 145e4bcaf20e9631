//! Output formats.

use clap::ValueEnum;

use super::{json_tree::JsonTree, yaml};
use crate::terminal::{escaped_lines, steers};

/// The output format.
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

    /// Writes several values: YAML documents, or a list in JSON as kubectl prints it.
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

/// Escapes JSON for terminals: outside of its strings it contains no control characters except line ends.
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

/// The output format of commands with text output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TextFormat {
    /// One JSON document.
    Json,
    /// Text for people.
    Text,
    /// YAML.
    Yaml,
}

impl TextFormat {
    /// Writes several values, each given as text and as JSON.
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

/// The output format of commands with metrics.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum WatchedFormat {
    /// One JSON document.
    Json,
    /// Metrics in the Prometheus text format.
    Prometheus,
    /// Text for people.
    Text,
    /// YAML.
    Yaml,
}

/// The output format of lists with metrics.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum WatchedListFormat {
    /// One JSON document.
    Json,
    /// One name on each line, as input for other commands.
    Name,
    /// Metrics in the Prometheus text format.
    Prometheus,
    /// The most important columns.
    Table,
    /// All columns.
    Wide,
    /// YAML.
    Yaml,
}

/// The output format of lists, as in `kubectl get`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ListFormat {
    /// One JSON document.
    Json,
    /// One name on each line, as input for other commands.
    Name,
    /// The most important columns.
    Table,
    /// All columns.
    Wide,
    /// YAML.
    Yaml,
}
