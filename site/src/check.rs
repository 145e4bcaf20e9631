//! Checks every link of the generated pages.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use super::paths::resolved;

/// The anchors and links of a page.
#[derive(Default)]
struct Page {
    anchors: RefCell<BTreeSet<String>>,
    /// The element name and the target of each link.
    links: RefCell<Vec<(String, String)>>,
}

/// Checks the links of every page below a folder. Returns their number.
///
/// # Errors
///
/// Broken links and external resources, each with its page; an unreadable file.
pub(crate) fn check(site: &Path) -> Result<usize> {
    let mut files = Vec::new();
    walk(site, &mut files)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "html")) {
        pages.insert(file.clone(), Page::read(&fs::read_to_string(file)?));
    }
    let known: BTreeSet<&PathBuf> = files.iter().collect();
    let (mut followed, mut wrong) = (0, Vec::new());
    for (file, page) in &pages {
        for (element, link) in page.links.borrow().iter() {
            followed += 1;
            if !leads_somewhere(file, element, link, &known, &pages) {
                wrong.push(format!("{}: <{element}> {link}", file.strip_prefix(site)?.display()));
            }
        }
    }
    ensure!(!pages.is_empty(), "no page was made");
    ensure!(wrong.is_empty(), "{} links lead nowhere, or away:\n{}", wrong.len(), wrong.join("\n"));
    Ok(followed)
}

fn leads_somewhere(
    from: &Path,
    element: &str,
    link: &str,
    files: &BTreeSet<&PathBuf>,
    pages: &BTreeMap<PathBuf, Page>,
) -> bool {
    if link.starts_with("https://") || link.starts_with("http://") {
        // Only `a` may link to other sites; a page loads no external resources.
        return element == "a";
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { from.to_owned() } else { resolved(from, path) };
    let has_anchor = || pages.get(&target).is_some_and(|page| page.anchors.borrow().contains(anchor));
    files.contains(&target) && (anchor.is_empty() || has_anchor())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

impl Page {
    fn read(text: &str) -> Self {
        let input = BufferQueue::default();
        input.push_back(StrTendril::from(text));
        let tokenizer = Tokenizer::new(Self::default(), TokenizerOpts::default());
        // The input is complete, so the tokenizer never suspends.
        let _ = tokenizer.feed(&input);
        tokenizer.end();
        tokenizer.sink
    }
}

impl TokenSink for Page {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(Tag { kind: TagKind::StartTag, name, attrs, .. }) = token else {
            return TokenSinkResult::Continue;
        };
        for attribute in attrs {
            match &*attribute.name.local {
                "id" => {
                    self.anchors.borrow_mut().insert(attribute.value.to_string());
                }
                "href" | "src" | "data" | "xlink:href" => {
                    self.links.borrow_mut().push((name.to_string(), attribute.value.to_string()));
                }
                _ => {}
            }
        }
        if &*name == "script" {
            return TokenSinkResult::RawData(html5ever::tokenizer::states::RawKind::ScriptData);
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a site of this page and a second page `b.html` with the anchor `there`.
    fn found(page: &str) -> Result<usize> {
        let site = tempfile::tempdir()?;
        fs::create_dir(site.path().join("in"))?;
        fs::write(site.path().join("in/a.html"), page)?;
        fs::write(site.path().join("b.html"), "<h1 id=\"there\">b</h1>")?;
        check(site.path())
    }

    #[test]
    fn what_leads_somewhere_is_counted() -> Result<()> {
        let page = "<h1 id=here>a</h1><a href=#here>1</a><a href=../b.html#there>2</a><img src='../b.html'>\
                    <a href=https://example.com/x#y>3</a><script>let text = '<a href=nowhere>';</script>";
        assert_eq!(found(page)?, 4);
        Ok(())
    }

    #[test]
    fn what_leads_nowhere_is_named() {
        for (page, wrong) in [
            ("<a href=c.html>", "in/a.html: <a> c.html"),
            ("<a href=../b.html#elsewhere>", "../b.html#elsewhere"),
            ("<a href=#here>", "#here"),
            ("<a href=..>", ".."),
            ("<img src=gone.svg>", "<img> gone.svg"),
            ("<script src=https://cdn.example/x.js></script>", "<script> https://cdn.example/x.js"),
            ("<link rel=stylesheet href=//fonts.example/x.css>", "//fonts.example/x.css"),
        ] {
            let said = found(page).map_err(|error| error.to_string());
            assert!(said.as_ref().is_err_and(|said| said.contains(wrong)), "{page}: {said:?}");
        }
    }
}
