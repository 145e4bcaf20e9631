//! The layout of kubectl's YAML.

use serde_saphyr::SerializerOptions;

use crate::commands::json_tree::{JsonTree, quoted};
use crate::terminal::steers;

/// Writes one document, in the layout kubectl has: two spaces a level, lists not indented.
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

/// Writes members, the first one where the line already stands if `inline`.
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
        // JSON in a string, as annotations hold it, is readable in these quotes only.
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

/// Whether a string is read as that string without quotes, by readers of YAML 1.1 and 1.2.
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

/// Whether a text of several lines can stand as a block, where it is easiest to read.
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

/// Characters that YAML readers take as they are and people can see, and no terminal obeys.
fn is_printable(c: char) -> bool {
    !(steers(c) && c != '\t' || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}'))
}

/// A string in double quotes: a JSON string, and what only JSON reads unescaped escaped as well.
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
