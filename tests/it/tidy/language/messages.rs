//! The messages and the help texts are plain English.

use super::super::tree::read;
use super::catalogue::CATALOGUE;
use super::figures::{Figures, MESSAGES};
use super::prose::{paragraphs, sentences};
use crate::commands::HELPS;

#[test]
fn messages_are_plain_english() {
    let catalogue = read(CATALOGUE);
    let is_example = |line: &str| line.starts_with("    ") && is_command(line);
    let texts = catalogue.lines().filter(|line| !line.starts_with('#') && !is_example(line));
    check("messages", &texts.map(|line| line.replace("{}", "X")).collect::<Vec<_>>());
}

#[test]
fn help_is_plain_english() {
    let mut texts = vec![String::new()];
    for line in HELPS.values().flat_map(|help| help.lines().chain([""])) {
        let is_text = !line.trim().is_empty() && !line.trim_start().starts_with('-') && !line.starts_with("Usage:");
        match texts.last_mut() {
            Some(paragraph) if is_text && !is_command(line) => *paragraph = format!("{paragraph}{} ", line.trim()),
            _ => texts.push(String::new()),
        }
    }
    check("help", &texts);
}

fn check(name: &str, texts: &[String]) {
    let figures = Figures::of(&sentences(&texts.iter().flat_map(|text| paragraphs(text)).collect::<Vec<_>>()));
    println!("{name}: {figures}");
    assert!(figures.words() > 3_000, "{name}: {figures}");
    assert!(figures.broken(&MESSAGES).is_empty(), "{name}: {:#?}", figures.broken(&MESSAGES));
}

/// A line of an example that a user types.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    ["pointsman ", "kubectl ", "--", "echo ", "for ", "source ", "ln "].iter().any(|word| line.starts_with(word))
}
