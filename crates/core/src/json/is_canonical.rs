//! Whether a text stands in its canonical form already.
//!
//! Most values do as the API server writes them: compact, members sorted. One look tells them, and they are copied;
//! only others are written anew ([`normal`](mod@super::normal)).

use super::grammar;

/// Whether a text is a UUID as its canonical form has it.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 38
        && text.bytes().enumerate().all(|(at, byte)| match at {
            0 | 37 => byte == b'"',
            9 | 14 | 19 | 24 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// What `null`, `{}` and `[]` come to as members.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EmptyMembers {
    /// They are dropped, and numbers stay as they are written.
    AreDropped,
    /// They are values like others, and so are numbers: one has many spellings.
    Count,
}

/// Whether a value has no other spelling than this one, no string in it being a UUID: compact, members sorted, and no
/// escapes. May say no where it has none.
pub(super) fn is_canonical(text: &str, empty: EmptyMembers) -> bool {
    read(text, empty).is_some()
}

/// Reads a text as long as it is canonical.
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
        // A value has ended, and so may have what it is in.
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

/// The objects and lists that are open.
struct Nesting<'t> {
    depth: usize,
    /// A bit for each: 1 is an object.
    objects: u32,
    /// Of each object the name that came last.
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

    /// Where the next value starts: in an object behind its name, which must stand behind the last one.
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

/// One past a string without escapes.
fn string(bytes: &[u8], at: usize) -> Option<usize> {
    let end = grammar::plain(bytes, at + 1);
    (bytes.get(end) == Some(&b'"')).then_some(end + 1)
}

/// One past a number, `true`, `false` or `null`.
fn scalar(bytes: &[u8], at: usize, empty: EmptyMembers) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    let is_number = matches!(rest.first(), Some(b'-' | b'0'..=b'9'));
    let is_one = empty == EmptyMembers::AreDropped || !is_number || is_plain_number(rest.get(..length)?);
    is_one.then_some(at + length)
}

/// Whether a number is an integer that has no other spelling: with few digits, and not `-0`.
fn is_plain_number(digits: &[u8]) -> bool {
    let digits = digits.strip_prefix(b"-").filter(|digits| *digits != b"0").unwrap_or(digits);
    digits.len() < 16 && digits.iter().all(u8::is_ascii_digit)
}

/// How deep one looks. What is nested deeper is written anew.
const DEEP: usize = 24;
