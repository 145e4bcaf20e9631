//! A text under construction, with the object that each line describes.

use super::review::QUESTION;

/// A text, and the object that each line describes.
#[derive(Clone, Debug)]
pub(super) struct LineIndex<T> {
    pub(super) text: String,
    /// The number of spaces before depth 0.
    pub(super) margin: usize,
    /// One element for each line.
    contents: Vec<Option<T>>,
}

impl<T> Default for LineIndex<T> {
    fn default() -> Self {
        Self { text: String::new(), margin: 0, contents: Vec::new() }
    }
}

impl<T> LineIndex<T> {
    /// Adds a line. `depth` is the indentation after the margin, in steps of two spaces.
    pub(super) fn push(&mut self, depth: usize, line: &str, content: Option<T>) {
        self.text.push_str(&" ".repeat(self.margin + 2 * depth));
        self.text.push_str(line);
        self.text.push('\n');
        self.contents.push(content);
    }

    /// Adds a comment, as a sentence.
    pub(super) fn comment(&mut self, depth: usize, sentence: &str) {
        let mut letters = sentence.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        let is_marked = sentence.starts_with(QUESTION);
        let start = if is_marked { sentence.to_owned() } else { format!("{first}{}", letters.as_str()) };
        let width = COLUMNS.saturating_sub(self.margin + 2 * depth + 2);
        let mut line = String::new();
        for word in format!("{start}.").split(' ') {
            if !line.is_empty() && line.len() + 1 + word.len() > width {
                self.push(depth, &format!("# {line}"), None);
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
        self.push(depth, &format!("# {line}"), None);
    }

    /// The content of a line, counted from 1.
    pub(super) fn at(&self, line: u64) -> Option<&T> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        self.contents.get(index)?.as_ref()
    }
}

/// The maximum width of a comment.
const COLUMNS: usize = 120;
