//! Every page in the repository is plain English, and short enough to be read.

use super::super::tree::{files, read};
use super::figures::{Figures, MESSAGES, PAGES};
use super::prose::{paragraphs, sentences};

/// Words of the documents and the four pages at the top, tables and code included: 50,000, 2,500 for the operations and
/// commands that public CRDs need and for people with Go code, and 1,200 for delivery and for static Pods.
const WORDS: usize = 53_700;

/// Words of one page: half an hour of reading.
const LONGEST: usize = 5_000;

/// Written by tests, from schemas and from measurements.
const GENERATED: [&str; 2] = ["docs/api.md", "docs/api-calls.md"];

fn is_generated(file: &str) -> bool {
    GENERATED.contains(&file)
}

fn pages() -> Vec<(String, String)> {
    let pages = files("").into_iter().filter(|file| file.ends_with(".md"));
    pages.map(|file| (file.clone(), read(&file))).collect()
}

#[test]
fn pages_are_plain_english() {
    for (generated, limits) in [(false, &PAGES), (true, &MESSAGES)] {
        let pages = pages().into_iter().filter(|(file, _)| is_generated(file) == generated);
        let found: Vec<String> = pages.flat_map(|(_, page)| sentences(&paragraphs(&page))).collect();
        let figures = Figures::of(&found);
        println!("pages, generated {generated}: {figures}");
        assert!(figures.words() > 1_000, "{figures}");
        assert!(figures.broken(limits).is_empty(), "generated {generated}: {:#?}", figures.broken(limits));
    }
}

#[test]
fn pages_are_short() {
    let pages = pages();
    let written =
        pages.iter().filter(|(file, _)| !is_generated(file) && (file.starts_with("docs/") || !file.contains('/')));
    let words: Vec<(usize, &str)> =
        written.map(|(file, page)| (page.split_whitespace().count(), file.as_str())).collect();
    let sum: usize = words.iter().map(|(count, _)| count).sum();
    println!("{sum} words on {} pages", words.len());
    assert!(words.len() > 20 && sum <= WORDS, "{sum} words, at most {WORDS}");
    let long: Vec<_> = words.iter().filter(|(count, _)| *count > LONGEST).collect();
    assert!(long.is_empty(), "over {LONGEST} words: {long:?}");
}
