//! tests/data/messages.txt: every message of the program in one file, so that it can be read as an operator would.

use super::super::tree::{PACKAGES, read, sources};
use super::rust_text::literals;
use crate::bless::agrees;

pub(super) const CATALOGUE: &str = "tests/data/messages.txt";

const HEAD: &str = "\
# The messages of the program, by source file: every text of three words or more. {} stands for a value.
# `POINTSMAN_BLESS=1 cargo test --locked --test it -- catalogue` writes this file. Read the difference as an operator.
";

#[test]
fn catalogue_lists_every_message() {
    let mut text = HEAD.to_owned();
    for file in PACKAGES.iter().flat_map(|package| sources(package)) {
        let messages: Vec<String> =
            literals(&read(&file)).iter().filter(|text| is_message(text)).map(|text| line(text)).collect();
        if !messages.is_empty() {
            text.push_str(&format!("\n## {file}\n{}\n", messages.join("\n")));
        }
    }
    agrees(CATALOGUE, &text);
}

/// Three words, two of them in sequence: neither a name nor code.
fn is_message(text: &str) -> bool {
    let text = valueless(text);
    let word = |word: &str| {
        let word = word.trim_end_matches([',', '.', ':', ';']).to_owned();
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-' || byte == b'\'')
    };
    let words: Vec<&str> = text.split([' ', '\n']).collect();
    let is_prose =
        |pair: &[&str]| word(pair[0]) && word(pair[1]) && pair.concat().bytes().any(|byte| byte.is_ascii_lowercase());
    words.iter().filter(|one| word(one)).count() >= 3 && words.windows(2).any(is_prose)
}

/// A text with `{}` for each value.
fn valueless(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('{') {
        out.push_str(before);
        match inside.split_once('}') {
            Some((name, after)) if !name.contains(['{', '\n', '"']) => {
                out.push_str("{}");
                rest = after;
            }
            _ => {
                out.push('{');
                rest = inside;
            }
        }
    }
    out + rest
}

/// A message on one line; a help text on several, indented.
fn line(text: &str) -> String {
    valueless(text).trim_end().replace('\n', "\n    ")
}
