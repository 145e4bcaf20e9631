//! YAML: a text is parsed into nodes once, and types are read from the nodes.
//!
//! A node takes one instance of a type's reader, where the streaming reader of the library takes a large one for each
//! type. Each node has its line, for messages.

mod error;
mod node;
mod node_deserializer;
mod parse;
mod span;
#[cfg(test)]
mod tests;

pub use error::{YamlError, explain_json};
pub use node::{Content, Node, Number};
pub use parse::{parse, parse_all, parse_only};
pub use span::Spanned;

/// Returns whether YAML reads a text without quotes as this text, inside of braces as well. Also false for the keywords
/// of YAML 1.1, which some parsers use.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_simple = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$' | '/'));
    let keywords = ["y", "yes", "n", "no", "on", "off", "true", "false", "null"];
    text == "." || is_simple && !keywords.contains(&text.to_lowercase().as_str())
}

/// Returns a path with `["…"]` without quotes in a flow mapping of a line, where YAML parses the bracket as a list.
pub(super) fn unquoted_path(text: &str, line: u64) -> Option<&str> {
    let line = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    let is_path = |c: char| c.is_ascii_alphanumeric() || "._-$".contains(c);
    let brackets =
        line.match_indices("[\"").filter(|(at, _)| line.get(..*at).is_some_and(|before| before.contains('{')));
    let mut paths = brackets.filter_map(|(at, _)| {
        let (before, rest) = line.split_at_checked(at)?;
        let start = before.trim_end_matches(is_path);
        let is_bare = before.len() > start.len() && !start.ends_with(['\'', '"', ']']);
        let end = rest.find("\"]").map(|end| at + end + 2)?;
        let tail = line.get(end..)?.trim_start_matches(|c| is_path(c) || "[]\"/".contains(c)).len();
        line.get(start.len()..line.len() - tail).filter(|_| is_bare)
    });
    paths.next()
}
