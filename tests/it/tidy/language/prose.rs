//! Sentences and words of a text.

/// The sentences of at least three words in paragraphs.
pub(super) fn sentences(paragraphs: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in paragraphs {
        let mut sentence = String::new();
        for word in paragraph.split_whitespace() {
            if !sentence.is_empty() {
                sentence.push(' ');
            }
            sentence.push_str(word);
            if word.ends_with(['.', '!', '?']) {
                found.push(std::mem::take(&mut sentence));
            }
        }
        found.push(sentence);
    }
    found.retain(|sentence| sentence.split(' ').count() >= 3);
    found
}

/// The paragraphs, items and table cells of a page, without code, comments, links and headings. Inline code is one
/// word.
pub(super) fn paragraphs(page: &str) -> Vec<String> {
    let (mut found, mut current) = (Vec::new(), String::new());
    let (mut is_code, mut is_comment) = (false, false);
    for line in page.lines().map(str::trim).chain([""]) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        is_comment |= line.starts_with("<!--");
        let is_text = !is_code && !is_comment && !line.starts_with(['#', '`', '<', '!']);
        is_comment &= !line.ends_with("-->");
        let item = line.strip_prefix(['-', '*']).and_then(|rest| rest.strip_prefix(' '));
        let numbered = line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok()).map(|(_, rest)| rest);
        if !is_text || line.is_empty() || line.starts_with('|') || item.or(numbered).is_some() {
            found.push(std::mem::take(&mut current));
        }
        if is_text && line.starts_with('|') {
            found.extend(line.replace("\\|", "").split('|').map(str::trim).map(str::to_owned));
        } else if is_text {
            current.push_str(item.or(numbered).unwrap_or_else(|| line.trim_start_matches("> ")));
            current.push(' ');
        }
    }
    found.iter().map(|text| unmarked(text)).filter(|text| !text.trim().is_empty()).collect()
}

/// A text without Markdown: links by their text, code as one word.
fn unmarked(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::new();
    for (index, part) in parts.iter().enumerate() {
        out.push_str(if index % 2 == 0 { part } else { "X" });
    }
    while let Some(end) = out.find("](") {
        let start = out[..end].rfind('[').unwrap_or(end);
        let close = out[end..].find(')').map_or(out.len(), |at| end + at + 1);
        let label = out[start..end].trim_start_matches('[').to_owned();
        out.replace_range(start..close, &label);
    }
    out.replace(['*', '_'], "")
}

/// How often these words occur, in any case.
pub(super) fn count(text: &str, of: &[&str]) -> usize {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.filter(|word| of.iter().any(|one| word.eq_ignore_ascii_case(one))).count()
}

pub(super) fn begins_with(sentence: &str, words: &[&str]) -> bool {
    let first = sentence.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    words.contains(&first)
}

#[test]
fn pages_split_into_sentences() {
    let page = "# Title\n\nOne [link text](a.md) here. Two `a b c` words.\nAnd three more.\n\n```sh\nno code here\n```\n\n\
                <!-- no comment here -->\n\n| a head cell | b |\n|---|---|\n| one two three | `x` |\n\n- an item here\n";
    let found = sentences(&paragraphs(page));
    let expected =
        ["One link text here.", "Two X words.", "And three more.", "a head cell", "one two three", "an item here"];
    assert_eq!(found, expected);
    assert_eq!(count("It is one thing, and its end.", &["it", "one"]), 2);
}
