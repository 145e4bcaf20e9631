//! A test runs every command of a page, or a comment before the block gives the reason.
//!
//! `readme.rs` runs `console` blocks, `tests/cluster/tutorial.rs` the `sh` blocks of the tutorial, and
//! `tests/cluster/documents.rs` those of some sections. Every other `sh` block has `<!-- not run: REASON -->` before
//! it.

use std::collections::BTreeSet;

use super::tree::{files, nothing, read};
use crate::commands::HELPS;

/// A fenced block.
#[derive(Default)]
struct Block {
    /// The line of the fence, from 1.
    line: usize,
    section: String,
    info: String,
    /// The indentation of the fence.
    indent: usize,
    /// The comment directly before the block.
    comment: Option<String>,
    lines: Vec<String>,
}

/// A parsed page.
struct Page {
    blocks: Vec<Block>,
    /// Indented code outside of fences.
    indented: Vec<(usize, String)>,
    is_closed: bool,
}

/// Sections whose commands `tests/cluster/documents.rs` runs, as `page, section`.
type Typed = BTreeSet<(String, String)>;

fn taken_apart(text: &str) -> Page {
    let (mut blocks, mut indented) = (Vec::new(), Vec::new());
    let (mut section, mut before, mut blank) = (String::new(), String::new(), true);
    let mut open: Option<Block> = None;
    for (line, whole) in (1..).zip(text.lines()) {
        let content = whole.trim();
        let fence = content.strip_prefix("```").or_else(|| content.strip_prefix("~~~"));
        match (open.take(), fence) {
            (Some(block), Some(_)) => blocks.push(block),
            (Some(mut block), None) => {
                block.lines.push(whole.to_owned());
                open = Some(block);
            }
            (None, Some(info)) => {
                let comment = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                open = Some(Block {
                    line,
                    section: section.clone(),
                    info: info.to_owned(),
                    indent: whole.len() - whole.trim_start().len(),
                    comment: comment.map(str::to_owned),
                    lines: Vec::new(),
                });
                before.clear();
            }
            (None, None) => {
                if let Some(title) = whole.strip_prefix("## ") {
                    title.clone_into(&mut section);
                }
                if blank && whole.starts_with("    ") {
                    indented.push((line, whole.to_owned()));
                }
                if !content.is_empty() {
                    content.clone_into(&mut before);
                }
                blank = content.is_empty() || blank && whole.starts_with("    ");
            }
        }
    }
    Page { blocks, indented, is_closed: open.is_none() }
}

/// True for a command line.
fn is_typed(line: &str) -> bool {
    const PROGRAMS: [&str; 16] = [
        "$",
        "cargo",
        "curl",
        "docker",
        "git",
        "go",
        "helm",
        "jq",
        "k3d",
        "kind",
        "kubectl",
        "make",
        "openssl",
        "pointsman",
        "rustup",
        "sed",
    ];
    // Skips leading variables.
    let first = line.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
    PROGRAMS.contains(&first) || first.ends_with(".sh") || first.starts_with(".ci/")
}

/// The problems of the blocks of a page.
fn problems(name: &str, text: &str, typed: &Typed) -> Vec<String> {
    let page = taken_apart(text);
    let mut wrong = Vec::new();
    if !page.is_closed {
        wrong.push(format!("{name}: a fence is not closed"));
    }
    for (line, content) in page.indented.iter().filter(|(_, content)| is_typed(content)) {
        wrong.push(format!("{name}:{line}: a command outside of a fence, which no test sees: {}", content.trim()));
    }
    for block in &page.blocks {
        let said = match block.info.as_str() {
            "console" => of_console(name, block),
            "sh" => of_shell(name, block, typed),
            // `docs.rs` and the compiler of the examples check these blocks.
            info if info.starts_with("yaml") || info.starts_with("json") => None,
            "go" | "rust,ignore" => None,
            "" | "text" => {
                let typed = block.lines.iter().find(|line| is_typed(line));
                typed.map(|line| format!("{line:?} is typed: it belongs into an `sh` or a `console` block"))
            }
            info => Some(format!("no test knows blocks of {info:?}")),
        };
        wrong.extend(said.map(|said| format!("{name}:{}: {said}", block.line)));
    }
    wrong
}

/// `readme.rs` runs `console` blocks without indentation, in the README and in `docs`.
fn of_console(name: &str, block: &Block) -> Option<String> {
    let is_run = name == "README.md" || name.starts_with("docs/");
    let begins = block.lines.first().is_some_and(|line| line.starts_with("$ "));
    match (is_run, block.indent, begins) {
        (false, ..) => Some("no test runs the `console` blocks of this page".to_owned()),
        (_, 1.., _) => Some("no test runs a `console` block that is indented".to_owned()),
        (.., false) => Some("a `console` block begins with `$ `".to_owned()),
        _ => None,
    }
}

fn of_shell(name: &str, block: &Block, typed: &Typed) -> Option<String> {
    let reason = block.comment.as_deref().and_then(|comment| comment.strip_prefix("not run: "));
    let page = name.strip_prefix("docs/").unwrap_or(name).to_owned();
    let is_run = page == "tutorial.md" || typed.contains(&(page, block.section.clone()));
    match reason {
        Some(reason) if reason.trim().len() < 10 => Some(format!("{reason:?} is no reason")),
        None if !is_run => Some("is neither run nor marked: <!-- not run: why --> right before it".to_owned()),
        _ => None,
    }
}

/// The pages with their texts.
fn pages() -> Vec<(String, String)> {
    let pages = files("").into_iter().filter(|file| file.ends_with(".md"));
    let pages = pages.filter(|file| !file.contains("tests/data/") && !file.starts_with("fuzz/"));
    pages.map(|file| (file.clone(), read(&file))).collect()
}

/// The sections in `tests/cluster/documents.rs`.
fn typed() -> Typed {
    let source = read("tests/cluster/documents.rs");
    let calls = source.split("typed.run(\"").skip(1);
    let strings = |call: &str| {
        let mut parts = call.split('"');
        (parts.next().unwrap().to_owned(), parts.nth(1).unwrap().to_owned())
    };
    calls.map(strings).collect()
}

#[test]
fn documented_commands_are_run() {
    let (pages, typed) = (pages(), typed());
    let wrong: Vec<String> = pages.iter().flat_map(|(name, text)| problems(name, text, &typed)).collect();
    nothing(&wrong);
    for (page, section) in &typed {
        let (_, text) = pages.iter().find(|(name, _)| *name == format!("docs/{page}")).unwrap();
        let blocks = taken_apart(text).blocks;
        assert!(blocks.iter().any(|block| block.section == *section), "{page}: {section} has no block");
    }
}

/// Each way to hide a command from the test above is found.
#[test]
fn unseen_command_is_found() {
    let typed = Typed::from([("run.md".to_owned(), "Here".to_owned())]);
    let problems = |name: &str, text: &str| problems(name, text, &typed).len();
    for text in [
        "```bash\npointsman plan\n```\n",
        "```\npointsman plan\n```\n",
        "```text\n$ kubectl get widgets\n```\n",
        "```sh\npointsman plan\n```\n",
        "~~~sh\npointsman plan\n~~~\n",
        "<!-- not run: no -->\n\n```sh\npointsman plan\n```\n",
        "<!-- not run: there is no cluster -->\n\nSo:\n\n```sh\npointsman plan\n```\n",
        "```console\npointsman plan\n```\n",
        "1. So:\n\n   ```console\n   $ pointsman plan\n   ```\n",
        "So:\n\n    pointsman plan\n",
        "So:\n\n    # first\n    pointsman plan\n",
        "```sh\n",
    ] {
        assert_eq!(problems("docs/a.md", text), 1, "{text}");
    }
    let marked = "<!-- not run: there is no cluster -->\n\n```sh\npointsman plan\n```\n";
    let section = "## Here\n\n```sh\npointsman plan\n```\n";
    assert_eq!((problems("docs/a.md", marked), problems("docs/run.md", section)), (0, 0));
    assert_eq!(problems("docs/run.md", &section.replace("Here", "There")), 1);
    assert_eq!(
        (problems("docs/a.md", "```console\n$ true\n```\n"), problems("CONTRIBUTING.md", "```console\n$ true\n```\n")),
        (0, 1)
    );
}

/// A command in a sentence exists, with its flags.
#[test]
fn inline_commands_use_existing_flags() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (name, text) in pages() {
        for (line, whole) in (1..).zip(text.lines()) {
            for span in whole.split('`').skip(1).step_by(2).filter(|span| span.starts_with("pointsman ")) {
                let command = span.split(['|', ';', '>']).next().unwrap_or_default();
                let words: Vec<&str> = command.split_whitespace().skip(1).collect();
                tried += 1;
                for said in misnamed(&words) {
                    wrong.push(format!("{name}:{line}: `{span}`: {said}"));
                }
            }
        }
    }
    nothing(&wrong);
    assert!(tried > 100, "only {tried} commands are named");
}

/// The unknown subcommands and flags of a command.
fn misnamed(words: &[&str]) -> Vec<String> {
    let is_name = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let mut command: Vec<String> = Vec::new();
    for word in words.iter().take_while(is_name) {
        let longer = [&command[..], &[(*word).to_owned()]].concat();
        if !HELPS.contains_key(&longer) {
            break;
        }
        command = longer;
    }
    let help = &HELPS[&command];
    if command.is_empty() && words.first().is_some_and(|word| is_name(&word)) {
        return vec![format!("no command {:?}", words[0])];
    }
    let flags = words.iter().filter(|word| word.starts_with("--"));
    let flags = flags.map(|word| word.split(['=', '…']).next().unwrap().trim_end_matches([',', ')', '.']));
    let has = |flag: &&str| !help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == *flag);
    flags.filter(|flag| flag.len() > 2).filter(has).map(|flag| format!("{} has no {flag}", command.join(" "))).collect()
}
