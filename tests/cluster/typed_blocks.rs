//! What a page has people type, block by block.
//!
//! A comment right before a block says what is special about it: `not run: ` and why, `refused`, where it has to fail,
//! `looked at`, where it may. `tests/it/tidy/page_commands.rs` sees to it that none is left out otherwise.

use std::fs;
use std::path::Path;

/// A block that is to be typed.
#[derive(Default)]
pub(crate) struct TypedBlock {
    /// What the comment before it says.
    pub(crate) comment: String,
    pub(crate) script: String,
    /// What is shown below it.
    pub(crate) shown: String,
}

impl TypedBlock {
    pub(crate) fn is_left_out(&self) -> bool {
        self.comment.starts_with("not run: ")
    }
}

/// A page of `docs`.
pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

/// The `sh` blocks of a text, in their order. A `text` block shows what the one before it says.
pub(crate) fn typed_blocks(text: &str) -> Vec<TypedBlock> {
    let mut blocks: Vec<TypedBlock> = Vec::new();
    let (mut fence, mut indent, mut comment) = ("", 0, String::new());
    for line in text.lines() {
        let content = line.trim_start();
        match (fence, content.strip_prefix("```")) {
            ("", Some(info)) => {
                (fence, indent) = (if info.is_empty() { "text" } else { info }, line.len() - content.len());
                let comment = std::mem::take(&mut comment);
                if info == "sh" {
                    blocks.push(TypedBlock { comment, ..TypedBlock::default() });
                }
            }
            (_, Some(_)) => fence = "",
            ("", None) if content.is_empty() => {}
            ("", None) => {
                let said = content.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                comment = said.unwrap_or_default().to_owned();
            }
            (inside @ ("sh" | "text"), None) => {
                let block = blocks.last_mut().expect("a block that says what is shown");
                assert!(inside == "sh" || !block.is_left_out(), "nobody compares what is shown: {line}");
                let text = if inside == "sh" { &mut block.script } else { &mut block.shown };
                text.push_str(line.get(indent..).unwrap_or(content));
                text.push('\n');
            }
            _ => {}
        }
    }
    blocks
}
