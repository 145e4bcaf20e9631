//! The messages and the help texts are plain English.

use std::collections::BTreeMap;

use super::super::page_commands::help;
use super::super::tree::read;
use super::catalogue::CATALOGUE;
use super::figures::{Figures, MESSAGES};
use super::prose::{paragraphs, sentences};

#[test]
fn messages_are_plain_english() {
    let catalogue = read(CATALOGUE);
    let is_example = |line: &str| line.starts_with("    ") && is_command(line);
    let texts = catalogue.lines().filter(|line| !line.starts_with('#') && !is_example(line));
    check("messages", &texts.map(|line| line.replace("{}", "X")).collect::<Vec<_>>());
}

#[test]
fn help_is_plain_english() {
    let mut helps = BTreeMap::new();
    let mut texts = Vec::new();
    collect(&[], &mut helps, &mut texts);
    assert!(helps.len() > 40, "{} commands", helps.len());
    check("help", &texts);
}

fn check(name: &str, texts: &[String]) {
    let figures = Figures::of(&sentences(&texts.iter().flat_map(|text| paragraphs(text)).collect::<Vec<_>>()));
    println!("{name}: {figures}");
    assert!(figures.words() > 3_000, "{name}: {figures}");
    assert!(figures.broken(&MESSAGES).is_empty(), "{name}: {:#?}", figures.broken(&MESSAGES));
}

/// The paragraphs of the help of a command and of its subcommands.
fn collect(command: &[String], helps: &mut BTreeMap<Vec<String>, Option<String>>, texts: &mut Vec<String>) {
    let Some(help) = help(command, helps) else { return };
    let mut paragraph = String::new();
    for line in help.lines().chain([""]) {
        if line.trim().is_empty()
            || line.trim_start().starts_with('-')
            || is_command(line)
            || line.starts_with("Usage:")
        {
            texts.push(std::mem::take(&mut paragraph));
        } else {
            paragraph.push_str(line.trim());
            paragraph.push(' ');
        }
    }
    let commands = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    for line in commands.lines().filter(|line| !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap_or_default();
        if name != "help" {
            collect(&[command, &[name.to_owned()]].concat(), helps, texts);
        }
    }
}

/// A line of an example that a user types.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    ["pointsman ", "kubectl ", "--", "echo ", "for ", "source ", "ln "].iter().any(|word| line.starts_with(word))
}
