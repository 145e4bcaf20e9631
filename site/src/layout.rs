//! Copies the pages for mdBook to the same relative paths as in the repository, so that links between pages stay valid.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use mdbook_markdown::pulldown_cmark::{Event, Parser, Tag};

use super::paths::resolved;

/// The file with the order of the pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Copies the pages and their link targets into the folder `source` of `to`.
///
/// # Errors
///
/// A page of `docs` that the summary lacks, a link to a missing file, an unreadable file.
pub(crate) fn lay_out(root: &Path, to: &Path) -> Result<()> {
    let source = to.join("source");
    let summary = read(root, Path::new(SUMMARY))?;
    let mut pages = BTreeSet::new();
    let by_root = relinked(&summary, |link| {
        let page = resolved(Path::new(SUMMARY), link);
        let named = page.display().to_string();
        pages.insert(page);
        Ok(named)
    })?;
    write(&source.join("SUMMARY.md"), &by_root)?;
    for entry in fs::read_dir(root.join("docs"))? {
        let page = Path::new("docs").join(entry?.file_name());
        let named = page == Path::new(SUMMARY) || pages.contains(&page);
        ensure!(named || !is_markdown(&page), "{SUMMARY} does not name {}", page.display());
    }
    for page in &pages {
        let text = relinked(&read(root, page)?, |link| {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = resolved(page, path);
            if path.is_empty() || link.contains("://") || pages.contains(&target) {
                return Ok(link.to_owned());
            }
            ensure!(anchor.is_empty(), "{}: {link}: only pages have anchors", page.display());
            ensure!(target.is_relative(), "{}: {link}: leads out of the repository", page.display());
            let file = shown(root, &target, &source).with_context(|| format!("{}: {link}", page.display()))?;
            Ok(format!("{}{file}", path.trim_end_matches('/')))
        })?;
        write(&source.join(page), &text)?;
    }
    Ok(())
}

/// Copies a link target that is not a page, so that a browser can show it. Returns the suffix of its new path: `.txt`
/// for text files, `/index.html` with a list of files for a folder.
fn shown(root: &Path, target: &Path, source: &Path) -> Result<&'static str> {
    let (from, to) = (root.join(target), source.join(target));
    if from.is_dir() {
        let mut files = Vec::new();
        walk(&from, &mut files)?;
        let mut list = format!(
            "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n<h1>{0}</h1>\n<ul>\n",
            target.display()
        );
        for file in files {
            let inside = file.strip_prefix(&from)?;
            copy(&file, &with_suffix(&to.join(inside), ".txt"))?;
            list.push_str(&format!("<li><a href=\"{0}.txt\">{0}</a>\n", inside.display()));
        }
        write(&to.join("index.html"), &format!("{list}</ul>\n"))?;
        return Ok("/index.html");
    }
    if target.extension().is_some_and(|kind| kind == "svg" || kind == "png") {
        copy(&from, &to)?;
        return Ok("");
    }
    if is_markdown(target) {
        bail!("a page that {SUMMARY} does not name");
    }
    copy(&from, &with_suffix(&to, ".txt"))?;
    Ok(".txt")
}

/// All files below a folder, sorted, without build output.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if !path.is_dir() {
            files.push(path);
        } else if entry.file_name() != "target" {
            walk(&path, files)?;
        }
    }
    Ok(())
}

/// The text with replaced link targets.
fn relinked(text: &str, mut link: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut made = String::with_capacity(text.len());
    let mut done = 0;
    for (place, to) in links(text) {
        made.push_str(&text[done..place.start]);
        made.push_str(&link(&to)?);
        done = place.end;
    }
    made.push_str(&text[done..]);
    Ok(made)
}

/// The ranges and targets of the links and images of a text, in order.
fn links(text: &str) -> Vec<(Range<usize>, String)> {
    let options = mdbook_markdown::MarkdownOptions::default();
    let parser: Parser<'_> = mdbook_markdown::new_cmark_parser(text, &options);
    let mut links = Vec::new();
    for (event, range) in parser.into_offset_iter() {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            let before = text[range.clone()].rfind(&format!("]({dest_url})"));
            if let Some(at) = before.map(|before| range.start + before + "](".len()) {
                links.push((at..at + dest_url.len(), dest_url.into_string()));
            }
        }
    }
    links.sort_by_key(|(place, _)| place.start);
    links
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "md")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn read(root: &Path, file: &Path) -> Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| file.display().to_string())
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(file.parent().context("a file is in a folder")?)?;
    fs::write(file, text).with_context(|| file.display().to_string())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out a repository of two pages, of which the second has this text. Returns the resulting page.
    fn laid_out(page: &str, more: &[&str]) -> Result<String> {
        let (root, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
        write(&root.path().join(SUMMARY), "# Summary\n\n[All](../README.md)\n\n- [One](one.md)\n")?;
        write(&root.path().join("README.md"), "# All\n")?;
        write(&root.path().join("docs/one.md"), page)?;
        for file in more {
            write(&root.path().join(file), "text\n")?;
        }
        lay_out(root.path(), to.path())?;
        read(&to.path().join("source"), Path::new("docs/one.md"))
    }

    #[test]
    fn links_between_pages_stay_and_others_lead_to_what_a_browser_shows() -> Result<()> {
        let page = "[a](../README.md#all) [b](#one) [c](../src/main.rs) [d](../src) ![e](e.svg) `[f](gone.md)`\n";
        let laid = laid_out(page, &["src/main.rs", "docs/e.svg"])?;
        let shown = page.replace("main.rs", "main.rs.txt").replace("../src)", "../src/index.html)");
        assert_eq!(laid, shown);
        Ok(())
    }

    #[test]
    fn what_no_reader_would_find_is_refused() {
        for (page, more, wrong) in [
            ("# One\n", "docs/two.md", "does not name docs/two.md"),
            ("[two](../two.md)\n", "two.md", "docs/one.md: ../two.md"),
            ("[two](../two.rs)\n", "three.rs", "docs/one.md: ../two.rs"),
            ("[hosts](/etc/hosts)\n", "three.rs", "docs/one.md: /etc/hosts: leads out of the repository"),
        ] {
            let said = laid_out(page, &[more]).map_err(|error| format!("{error:#}"));
            assert!(said.as_ref().is_err_and(|said| said.contains(wrong)), "{page}: {said:?}");
        }
    }
}
