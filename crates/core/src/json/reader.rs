//! A text read from front to back, checked on the way: each byte is looked at once.

use std::borrow::Cow;

use super::grammar;
use super::scan::unescape;
use super::value::Json;

/// A place in a text. Each function goes on from there; `None` is text that is not JSON, is too deep for [`grammar`],
/// or is something else than what is asked for: then all of it has to be read in another way.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Nothing was read yet of the object or list that was opened last.
    is_first: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, is_first: true }
    }

    /// Goes into an object or a list.
    pub(crate) fn open(&mut self, bracket: u8) -> Option<()> {
        self.at = grammar::white(self.text.as_bytes(), self.at);
        (*self.text.as_bytes().get(self.at)? == bracket).then_some(())?;
        self.at += 1;
        self.is_first = true;
        Some(())
    }

    /// The name of the next member: its value is to be read. `None` inside where there is no other one: then the object
    /// has been left.
    pub(crate) fn member(&mut self) -> Option<Option<Cow<'a, str>>> {
        if !self.next(b'}')? {
            return Some(None);
        }
        let name = grammar::name(self.text.as_bytes(), self.at)?;
        let quoted = self.text.get(self.at..name.end)?;
        self.at = name.value;
        Some(Some(unescape(quoted)))
    }

    /// Whether there is another element, which is to be read. If not, the list has been left.
    pub(crate) fn element(&mut self) -> Option<bool> {
        self.next(b']')
    }

    /// Goes to the next member or element, or behind the bracket if there is none.
    fn next(&mut self, closing: u8) -> Option<bool> {
        let bytes = self.text.as_bytes();
        self.at = grammar::white(bytes, self.at);
        let byte = *bytes.get(self.at)?;
        let is_first = std::mem::take(&mut self.is_first);
        if byte == closing {
            self.at += 1;
            return Some(false);
        }
        if !is_first {
            (byte == b',').then_some(())?;
            self.at = grammar::white(bytes, self.at + 1);
        }
        Some(true)
    }

    /// A value: its text, and the same with so many levels of objects opened.
    pub(crate) fn value(&mut self, levels: usize) -> Option<(&'a str, Json<'a>)> {
        let (json, end) = Json::read_at(self.text, self.at, levels, None)?;
        let text = self.text.get(self.at..end)?;
        self.at = end;
        Some((text, json))
    }

    /// The rest of so many objects that are open around this place, and whether nothing is behind the outermost.
    pub(crate) fn ends(&mut self, open: usize) -> bool {
        let mut rest = || {
            for _ in 0..open {
                while self.member()?.is_some() {
                    self.value(0)?;
                }
            }
            Some(grammar::white(self.text.as_bytes(), self.at) == self.text.len())
        };
        rest().unwrap_or_default()
    }

    /// The bytes that are still to be read.
    pub(crate) fn left(&self) -> usize {
        self.text.len() - self.at
    }
}
