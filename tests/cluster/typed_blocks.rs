//! The command blocks of a documentation page.
//!
//! A comment right before a block marks a special case: `not run: ` with a reason, `refused` if the block must fail,
//! `looked at` if the block may fail. `tests/it/tidy/page_commands.rs` ensures that all other blocks run.

use std::fs;
use std::path::Path;

/// A block of commands.
#[derive(Default)]
pub(crate) struct TypedBlock {
    /// The comment before the block.
    pub(crate) comment: String,
    pub(crate) script: String,
    /// The output shown below the block.
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

/// The `sh` blocks of a text, in order. A `text` block shows the output of the block before it.
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
                let block = blocks.last_mut().expect("a block with its name");
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
