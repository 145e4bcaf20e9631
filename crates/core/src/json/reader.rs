//! A reader that scans and checks a text from front to back. Each byte is read once.

use std::borrow::Cow;

use super::grammar;
use super::scan::unescape;
use super::value::Json;

/// A position in a text. Each function continues from there. `None` is invalid JSON, nesting beyond [`grammar`], or
/// another value than requested. The whole text must then be read in another way.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// True until the first member or item of the last opened object or list is read.
    is_first: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, is_first: true }
    }

    /// Enters an object or a list.
    pub(crate) fn open(&mut self, bracket: u8) -> Option<()> {
        self.at = grammar::white(self.text.as_bytes(), self.at);
        (*self.text.as_bytes().get(self.at)? == bracket).then_some(())?;
        self.at += 1;
        self.is_first = true;
        Some(())
    }

    /// The name of the next member, whose value must be read next. Inner `None` if there is none; the object is then
    /// closed.
    pub(crate) fn member(&mut self) -> Option<Option<Cow<'a, str>>> {
        if !self.next(b'}')? {
            return Some(None);
        }
        let name = grammar::name(self.text.as_bytes(), self.at)?;
        let quoted = self.text.get(self.at..name.end)?;
        self.at = name.value;
        Some(Some(unescape(quoted)))
    }

    /// Returns whether there is another element, which must be read next. If not, the list is closed.
    pub(crate) fn element(&mut self) -> Option<bool> {
        self.next(b']')
    }

    /// Moves to the next member or element, or after the bracket if there is none.
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

    /// A value: its text, and the value with this many levels of objects parsed.
    pub(crate) fn value(&mut self, levels: usize) -> Option<(&'a str, Json<'a>)> {
        let (json, end) = Json::read_at(self.text, self.at, levels, None)?;
        let text = self.text.get(self.at..end)?;
        self.at = end;
        Some((text, json))
    }

    /// Reads the rest of this many open objects. Returns whether the text ends after the outermost.
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

    /// The number of remaining bytes.
    pub(crate) fn left(&self) -> usize {
        self.text.len() - self.at
    }
}
