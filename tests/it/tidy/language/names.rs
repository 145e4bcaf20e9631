//! Words of the source, and names of tests and files.

use super::super::tree::{PACKAGES, files, nothing, read, sources, tests};
use super::prose::count;

const SUBJECTLESS: [&str; 6] = ["whoever", "nobody", "somebody", "whom", "beside", "anew"];
const REPORTS: [&str; 6] = ["told", "tell", "tells", "say", "says", "said"];

/// Words without a subject, and private words for a report or a request: how often sources and manifests may use each.
const WORDS: [(&[&str], usize); 7] = [
    (&SUBJECTLESS, 30),
    (&REPORTS, 100),
    (&["ask", "asks", "asked"], 300),
    (&["hear", "hears", "heard"], 300),
    (&["look", "looks", "looked"], 300),
    (&["go", "goes", "going", "gone", "went"], 300),
    (&["come", "comes", "coming", "came"], 300),
];

/// Folders with manifests of other projects and recorded files.
const SAMPLES: [&str; 3] = ["examples/kinds/", "tests/data/", "tests/it/"];

/// Source files named by a participle or a gerund.
const UNNAMED: usize = 5;

/// Words of a test name: half of the names have at most five, and two in a hundred more than six.
const MEDIAN: usize = 5;
const LONG: usize = 6;

#[test]
fn source_uses_standard_words() {
    let mut text = String::new();
    let texts = files("manifests").into_iter().filter(|file| !file.starts_with("manifests/plain/"));
    for file in PACKAGES.iter().flat_map(|package| sources(package)).chain(texts) {
        text.push_str(&split(&read(&file)));
    }
    let found = WORDS.map(|(words, most)| (words, count(&text, words), most));
    println!("{found:?}");
    let over: Vec<_> = found.iter().filter(|(_, found, most)| found > most).collect();
    assert!(over.is_empty(), "words, found, at most: {over:?}");
}

/// Comments of manifests, scripts and settings have none of the words without a subject.
#[test]
fn settings_use_standard_words() {
    let is_setting = |file: &String| {
        let name = file.rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        ["css", "go", "sh", "toml", "tpl", "yaml", "yml"].contains(&extension)
            || name == "Dockerfile"
            || file.starts_with(".ci/")
    };
    let is_fixture = |file: &String| file.contains("/tests/") || SAMPLES.iter().any(|folder| file.starts_with(folder));
    let mut found = Vec::new();
    for file in files("").into_iter().filter(|file| is_setting(file) && !is_fixture(file)) {
        let text = read(&file);
        let comments = text.lines().filter_map(comment).collect::<Vec<_>>().join("\n");
        for words in [&SUBJECTLESS[..], &REPORTS, &["what", "who"]] {
            let used = count(&comments, words);
            found.extend((used > 0).then(|| format!("{file}: {used} of {words:?}")));
        }
    }
    nothing(&found);
}

/// The comment of a line, of the whole line or behind a value.
fn comment(line: &str) -> Option<&str> {
    match ["#", "//", "/*", "{{/*"].iter().any(|mark| line.trim_start().starts_with(mark)) {
        true => Some(line),
        false => line.split_once(" # ").map(|(_, comment)| comment),
    }
}

#[test]
fn files_have_nouns_as_names() {
    let all = PACKAGES.iter().flat_map(|package| sources(package));
    let name = |file: &String| file.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let found: Vec<String> = all.filter(|file| name(file).ends_with("ing") || name(file).ends_with("ed")).collect();
    assert!(found.len() <= UNNAMED, "{found:#?}");
}

#[test]
fn test_names_are_short() {
    let words = |test: &String| test.rsplit("::").next().unwrap_or_default().split('_').count();
    let mut lengths: Vec<usize> = tests().iter().map(words).collect();
    lengths.sort_unstable();
    let over = lengths.iter().filter(|length| **length > LONG).count();
    let median = lengths[lengths.len() / 2];
    println!("{} tests, median {median}, {over} over {LONG}", lengths.len());
    assert!(lengths.len() > 1_000 && median <= MEDIAN && over * 50 <= lengths.len(), "median {median}, {over} long");
}

/// The words of identifiers apart: `snake_case` and `CamelCase`.
fn split(source: &str) -> String {
    let mut out = String::new();
    let mut is_lower = false;
    for c in source.chars() {
        if is_lower && c.is_ascii_uppercase() {
            out.push(' ');
        }
        out.push(if c == '_' { ' ' } else { c });
        is_lower = c.is_ascii_lowercase();
    }
    out
}

#[test]
fn identifiers_split_into_words() {
    assert_eq!(split("let told_once = WhoeverAsked;"), "let told once = Whoever Asked;");
}
