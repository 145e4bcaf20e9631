//! The import graph of a crate, read from `mod` and `use` lines and from paths in the code.
//!
//! Each path is resolved module by module to the file of its item. In `src/a/b.rs`
//!
//! - `crate::c::d::Thing` resolves to `src/c/d.rs`, if the file exists,
//! - `crate::c::Thing` to `src/c/mod.rs`, the interface of that folder, wherever `Thing` is defined,
//! - `super::Thing` to `src/a/mod.rs`, which imports this file by `mod b;`. So an import from the own `mod.rs` closes a
//!   circle.

use std::collections::{BTreeMap, BTreeSet};

/// The sources of a crate.
pub(super) struct Sources {
    /// The folder, such as `crates/core/src`.
    pub(super) folder: &'static str,
    /// The texts by path, such as `crates/core/src/lib.rs`.
    pub(super) texts: BTreeMap<String, String>,
}

/// An import of one file from another.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) line: usize,
    /// The path in the source, such as `super::tree::get`.
    pub(super) path: String,
    pub(super) to: String,
}

impl Sources {
    pub(super) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        for (from, text) in &self.texts {
            for (line, path) in paths(text) {
                if let Some(to) = self.resolve(from, &path).filter(|to| to != from) {
                    arrows.push(Arrow { from: from.clone(), line, path, to });
                }
            }
        }
        arrows
    }

    /// The file of a path, or `None` for another crate.
    fn resolve(&self, file: &str, path: &str) -> Option<String> {
        let mut module = self.module(file);
        let mut names = path.split("::").peekable();
        match *names.peek()? {
            "crate" => module.clear(),
            "self" | "super" => {}
            child => drop(self.file(&[&module[..], &[child]].concat())?),
        }
        names.next_if(|name| matches!(*name, "crate" | "self"));
        while names.next_if_eq(&"super").is_some() {
            module.pop()?;
        }
        for name in names {
            module.push(name);
            if self.file(&module).is_none() {
                module.pop();
                break;
            }
        }
        self.file(&module)
    }

    /// The module path of a file.
    fn module<'f>(&self, file: &'f str) -> Vec<&'f str> {
        let inside = file[self.folder.len() + 1..].strip_suffix(".rs").unwrap();
        let names = inside.split('/').filter(|name| !matches!(*name, "lib" | "main" | "mod"));
        names.collect()
    }

    fn file(&self, module: &[&str]) -> Option<String> {
        let path = [&[self.folder], module].concat().join("/");
        let ends = if module.is_empty() { ["/lib.rs", "/main.rs"] } else { [".rs", "/mod.rs"] };
        let files = ends.map(|end| format!("{path}{end}"));
        files.into_iter().find(|file| self.texts.contains_key(file))
    }
}

/// The paths in a file with their lines, including `mod name;` as `self::name`.
pub(super) fn paths(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.starts_with("//"));
    while let Some((number, line)) = lines.next() {
        if line == "#[cfg(test)]" {
            match lines.next() {
                // Test modules are at the end of a file.
                Some((_, tests)) if tests.starts_with("mod ") && tests.ends_with('{') => break,
                _ => continue,
            }
        }
        let mut paths = Vec::new();
        let item = without_visibility(line);
        if let Some(name) = item.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            paths.push(format!("self::{name}"));
        } else if let Some(tree) = item.strip_prefix("use ") {
            let mut tree = tree.to_owned();
            while !tree.contains(';') {
                tree += lines.next().expect("the end of `use`").1;
            }
            flatten("", tree.split(';').next().unwrap(), &mut paths);
        } else {
            inline(line, &mut paths);
        }
        found.extend(paths.into_iter().map(|path| (number, path)));
    }
    found
}

fn without_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else { return line };
    let end = if rest.starts_with('(') { rest.find(')').map_or(0, |end| end + 1) } else { 0 };
    rest[end..].trim_start()
}

/// `a::{b, c::{self, d as e}}` is `a::b`, `a::c::self` and `a::c::d`.
fn flatten(before: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, list)) = tree.split_once('{') else {
        let name = tree.trim().split(" as ").next().unwrap();
        paths.extend((!name.is_empty()).then(|| format!("{before}{name}")));
        return;
    };
    let before = format!("{before}{}", head.trim());
    let (mut depth, mut start) = (0, 0);
    for (at, sign) in list.char_indices() {
        match sign {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                flatten(&before, &list[start..at], paths);
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The paths in a line of code that begin with `crate`, `self` or `super`, without visibilities.
fn inline(line: &str, paths: &mut Vec<String>) {
    let is_path = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let mut rest = line;
    while let Some(start) = rest.find(is_path) {
        let (before, path) = rest.split_at(start);
        let (path, after) = path.split_at(path.find(|sign| !is_path(sign)).unwrap_or(path.len()));
        let ours = ["crate::", "self::", "super::"].iter().any(|first| path.starts_with(first));
        if ours && !(before == " " && line[..line.len() - rest.len()].ends_with("(in")) {
            paths.push(path.trim_end_matches(':').to_owned());
        }
        rest = after;
    }
}

/// The imports that are part of a circle, grouped by circle.
pub(super) fn circles(arrows: &[Arrow]) -> Vec<Vec<&Arrow>> {
    let mut next = BTreeMap::<&str, BTreeSet<&str>>::new();
    for arrow in arrows {
        next.entry(&arrow.from).or_default().insert(&arrow.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|file| (*file, reached(file, &next))).collect();
    let meet = |one: &str, other: &str| {
        let leads = |one: &str, other: &str| reached.get(one).is_some_and(|all| all.contains(other));
        leads(one, other) && leads(other, one)
    };
    let mut circles = BTreeMap::<&str, Vec<&Arrow>>::new();
    for arrow in arrows.iter().filter(|arrow| meet(&arrow.from, &arrow.to)) {
        // A circle has the name of its first file.
        let first = reached.keys().find(|file| meet(file, &arrow.from)).unwrap();
        circles.entry(first).or_default().push(arrow);
    }
    circles.into_values().collect()
}

/// The files that a file imports, directly or indirectly.
fn reached<'a>(from: &'a str, next: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let further = next.get(file).into_iter().flatten();
        open.extend(further.copied().filter(|file| seen.insert(*file)));
    }
    seen
}

#[test]
fn a_circle_is_found() {
    let texts = [
        ("src/lib.rs", "mod high;\npub mod low;\n"),
        ("src/high.rs", "use crate::low::{Face, leaf::{self, Leaf as Green}};\nuse std::fmt;\n"),
        (
            "src/low/mod.rs",
            "//! use crate::high::Comment;\nmod leaf;\nmod stem;\npub use self::leaf::Leaf;\npub struct Face;\n",
        ),
        (
            "src/low/leaf.rs",
            "pub(in crate::high) struct Leaf(Vec<super::stem::Stem>);\n#[cfg(test)]\nuse crate::high::High;\n",
        ),
        ("src/low/stem.rs", "pub struct Stem;\n#[cfg(test)]\nmod tests {\n    use crate::high::High;\n}\n"),
    ];
    let mut sources =
        Sources { folder: "src", texts: texts.map(|(file, text)| (file.to_owned(), text.to_owned())).into() };
    let arrows = |sources: &Sources| -> Vec<String> {
        let arrows = sources.arrows().into_iter();
        arrows.map(|Arrow { from, line, path, to }| format!("{from}:{line} {path} {to}")).collect()
    };
    assert_eq!(
        arrows(&sources),
        [
            "src/high.rs:1 crate::low::Face src/low/mod.rs",
            "src/high.rs:1 crate::low::leaf::self src/low/leaf.rs",
            "src/high.rs:1 crate::low::leaf::Leaf src/low/leaf.rs",
            "src/lib.rs:1 self::high src/high.rs",
            "src/lib.rs:2 self::low src/low/mod.rs",
            "src/low/leaf.rs:1 super::stem::Stem src/low/stem.rs",
            "src/low/mod.rs:2 self::leaf src/low/leaf.rs",
            "src/low/mod.rs:3 self::stem src/low/stem.rs",
            "src/low/mod.rs:4 self::leaf::Leaf src/low/leaf.rs",
        ]
    );
    assert_eq!(circles(&sources.arrows()), [[]; 0] as [[&Arrow; 0]; 0]);
    let circle = |sources: &Sources| -> Vec<Vec<String>> {
        let arrows = sources.arrows();
        let circle =
            |circle: &Vec<&Arrow>| circle.iter().map(|arrow| format!("{}:{}", arrow.from, arrow.line)).collect();
        circles(&arrows).iter().map(circle).collect()
    };
    // A file imports from the `mod.rs` of its folder.
    sources.texts.insert("src/low/stem.rs".to_owned(), "use super::Face;\n".to_owned());
    let found = circle(&sources);
    assert_eq!(
        found,
        [["src/low/leaf.rs:1", "src/low/mod.rs:2", "src/low/mod.rs:3", "src/low/mod.rs:4", "src/low/stem.rs:1"]]
    );
    // Two files import each other, in the middle of their code.
    sources.texts.insert("src/low/stem.rs".to_owned(), "type A = super::leaf::Leaf;\n".to_owned());
    assert_eq!(circle(&sources), [["src/low/leaf.rs:1", "src/low/stem.rs:1"]]);
}
