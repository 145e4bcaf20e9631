//! Checks whether a text is already in canonical form.
//!
//! Most values of the API server are: compact, with sorted members. One scan detects that, and the value is copied.
//! Only other values are rewritten ([`normal`](mod@super::normal)).

use super::grammar;

/// Returns whether a text is a UUID in canonical form.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 38
        && text.bytes().enumerate().all(|(at, byte)| match at {
            0 | 37 => byte == b'"',
            9 | 14 | 19 | 24 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// The handling of the members `null`, `{}` and `[]`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EmptyMembers {
    /// They are dropped, and numbers stay as written.
    AreDropped,
    /// They count as values. Numbers must have a unique spelling.
    Count,
}

/// Returns whether a value has no other spelling, given that no string is a UUID: compact, members sorted, without
/// escapes. May return false for such a value.
pub(super) fn is_canonical(text: &str, empty: EmptyMembers) -> bool {
    read(text, empty).is_some()
}

/// Scans a text while it is canonical.
fn read(text: &str, empty: EmptyMembers) -> Option<()> {
    let (mut at, mut nesting) = (0, Nesting { depth: 0, objects: 0, last: [""; DEEP] });
    let bytes = text.as_bytes();
    loop {
        let first = *bytes.get(at)?;
        let is_dropped = nesting.in_object() && empty == EmptyMembers::AreDropped;
        match first {
            b'{' | b'[' if bytes.get(at + 1) == Some(&(first + 2)) => {
                (!is_dropped).then_some(())?;
                at += 2;
            }
            b'{' | b'[' => {
                nesting.enter(first == b'{')?;
                at = nesting.value(text, at + 1)?;
                continue;
            }
            b'"' => at = string(bytes, at)?,
            b'n' if is_dropped => return None,
            _ => at = scalar(bytes, at, empty)?,
        }
        // A value has ended, and its parents may end too.
        loop {
            match bytes.get(at) {
                None => return (nesting.depth == 0).then_some(()),
                Some(b',') => {
                    at = nesting.value(text, at + 1)?;
                    break;
                }
                Some(b'}' | b']') => {
                    nesting.leave()?;
                    at += 1;
                }
                Some(_) => return None,
            }
        }
    }
}

/// The open objects and lists.
struct Nesting<'t> {
    depth: usize,
    /// One bit each: 1 is an object.
    objects: u32,
    /// The last name in each object.
    last: [&'t str; DEEP],
}

impl<'t> Nesting<'t> {
    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn enter(&mut self, object: bool) -> Option<()> {
        self.depth += 1;
        self.objects = self.objects << 1 | u32::from(object);
        *self.last.get_mut(self.depth)? = "";
        Some(())
    }

    fn leave(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        self.objects >>= 1;
        Some(())
    }

    /// The start of the next value: in an object after its name, which must be greater than the last one.
    fn value(&mut self, text: &'t str, at: usize) -> Option<usize> {
        if !self.in_object() {
            return Some(at);
        }
        (text.as_bytes().get(at) == Some(&b'"')).then_some(())?;
        let end = grammar::plain(text.as_bytes(), at + 1);
        let name = text.get(at + 1..end)?;
        let last = self.last.get_mut(self.depth)?;
        let follows = *last < name && text.as_bytes().get(end..end + 2) == Some(b"\":");
        *last = name;
        follows.then_some(end + 2)
    }
}

/// The position after a string without escapes.
fn string(bytes: &[u8], at: usize) -> Option<usize> {
    let end = grammar::plain(bytes, at + 1);
    (bytes.get(end) == Some(&b'"')).then_some(end + 1)
}

/// The position after a number, `true`, `false` or `null`.
fn scalar(bytes: &[u8], at: usize, empty: EmptyMembers) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    let is_number = matches!(rest.first(), Some(b'-' | b'0'..=b'9'));
    let is_one = empty == EmptyMembers::AreDropped || !is_number || is_plain_number(rest.get(..length)?);
    is_one.then_some(at + length)
}

/// Returns whether a number is an integer with a unique spelling: with few digits, and not `-0`.
fn is_plain_number(digits: &[u8]) -> bool {
    let digits = digits.strip_prefix(b"-").filter(|digits| *digits != b"0").unwrap_or(digits);
    digits.len() < 16 && digits.iter().all(u8::is_ascii_digit)
}

/// The maximum depth of the scan. Deeper values are rewritten.
const DEEP: usize = 24;
