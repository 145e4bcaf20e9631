//! YAML in the layout of kubectl.

use serde_saphyr::SerializerOptions;

use crate::commands::json_tree::{JsonTree, quoted};
use crate::terminal::steers;

/// Writes one document in the layout of kubectl: two spaces a level, lists not indented.
pub(crate) fn write(json: &JsonTree) -> String {
    let mut out = String::new();
    match json {
        JsonTree::Object(members) if !members.is_empty() => write_map(&mut out, members, 0, true),
        JsonTree::Array(items) if !items.is_empty() => write_list(&mut out, items, 0, true),
        scalar => {
            write_scalar(&mut out, scalar, 2);
            out.push('\n');
        }
    }
    out
}

/// Writes members. With `inline`, the first one starts on the current line.
fn write_map(out: &mut String, members: &[(String, JsonTree)], indent: usize, inline: bool) {
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 || !inline {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.push_str(&if is_plain_key(name) { name.clone() } else { escaped(name) });
        out.push(':');
        match value {
            JsonTree::Object(members) if !members.is_empty() => {
                out.push('\n');
                write_map(out, members, indent + 2, false);
            }
            JsonTree::Array(items) if !items.is_empty() => {
                out.push('\n');
                write_list(out, items, indent, false);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

fn write_list(out: &mut String, items: &[JsonTree], indent: usize, inline: bool) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 || !inline {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.push_str("- ");
        match item {
            JsonTree::Object(members) if !members.is_empty() => write_map(out, members, indent + 2, true),
            JsonTree::Array(items) if !items.is_empty() => write_list(out, items, indent + 2, true),
            scalar => {
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

fn write_scalar(out: &mut String, json: &JsonTree, indent: usize) {
    match json {
        JsonTree::String(text) if is_plain(text) => out.push_str(text),
        JsonTree::String(text) if is_literal(text) => write_literal(out, text, indent),
        // JSON in a string, as in annotations, is most readable in single quotes.
        JsonTree::String(text) if text.contains(['"', '\\']) && text.chars().all(is_printable) => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        JsonTree::String(text) => out.push_str(&escaped(text)),
        // Empty lists and maps are the same in JSON.
        other => out.push_str(&other.to_string()),
    }
}

/// Returns whether a string without quotes is the same string in YAML 1.1 and 1.2.
fn is_plain(text: &str) -> bool {
    let options: SerializerOptions = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let written = serde_saphyr::to_string_with_options(&text, options);
    text.chars().all(is_printable) && written.is_ok_and(|yaml| yaml.strip_suffix('\n') == Some(text))
}

fn is_plain_key(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '-' | '_'))
        && !name.starts_with('-')
        && is_plain(name)
}

/// Returns whether a text of several lines can be written as a block.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(|c| c == '\n' || is_printable(c))
        && text.lines().all(|line| line.is_empty() || !line.ends_with([' ', '\t']) && !line.starts_with('\t'))
}

/// Writes a block without its last line end, which the caller writes.
fn write_literal(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    out.push_str(match ends {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
    }
    out.extend(std::iter::repeat_n('\n', ends.saturating_sub(1)));
}

/// Returns whether a character is printable, accepted by YAML parsers, and harmless for terminals.
fn is_printable(c: char) -> bool {
    !(steers(c) && c != '\t' || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
}

/// A string in double quotes: a JSON string with additional escapes for YAML.
fn escaped(text: &str) -> String {
    let json = quoted(text);
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match is_printable(c) {
            true => out.push(c),
            false => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out
}
