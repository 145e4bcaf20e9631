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
    let text = text.as_bytes();
    let rest = match text.first() {
        Some(b'{' | b'[') => after_nested(text, empty),
        Some(_) => after_scalar(text, empty),
        None => None,
    };
    rest.is_some_and(<[u8]>::is_empty)
}

/// The text after a canonical object or list.
fn after_nested(text: &[u8], empty: EmptyMembers) -> Option<&[u8]> {
    let (mut rest, mut nesting) = (text, Nesting { depth: 0, objects: 0, last: [b""; DEEP] });
    loop {
        let &first = rest.first()?;
        let is_dropped = nesting.in_object() && empty == EmptyMembers::AreDropped;
        rest = match (first, rest) {
            (b'{', [_, b'}', behind @ ..]) | (b'[', [_, b']', behind @ ..]) => {
                (!is_dropped).then_some(())?;
                behind
            }
            (b'{' | b'[', [_, inside @ ..]) => {
                nesting.enter(first == b'{')?;
                rest = nesting.value(inside)?;
                continue;
            }
            (b'n', _) if is_dropped => return None,
            _ => after_scalar(rest, empty)?,
        };
        // A value has ended, and its parents may end too.
        while nesting.depth > 0 {
            match rest {
                [b',', behind @ ..] => {
                    rest = nesting.value(behind)?;
                    break;
                }
                [b'}' | b']', behind @ ..] => {
                    nesting.leave();
                    rest = behind;
                }
                _ => return None,
            }
        }
        if nesting.depth == 0 {
            return Some(rest);
        }
    }
}

/// The open objects and lists.
struct Nesting<'t> {
    depth: usize,
    /// One bit each: 1 is an object.
    objects: u32,
    /// The last name in each object.
    last: [&'t [u8]; DEEP],
}

impl<'t> Nesting<'t> {
    fn in_object(&self) -> bool {
        self.objects & 1 == 1
    }

    fn enter(&mut self, object: bool) -> Option<()> {
        self.depth += 1;
        self.objects = self.objects << 1 | u32::from(object);
        *self.last.get_mut(self.depth)? = b"";
        Some(())
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.objects >>= 1;
    }

    /// The text from the next value: in an object after its name, which must be greater than the last one.
    fn value(&mut self, text: &'t [u8]) -> Option<&'t [u8]> {
        if !self.in_object() {
            return Some(text);
        }
        let quoted = text.strip_prefix(b"\"")?;
        let rest = grammar::after_plain(quoted);
        let name = quoted.get(..quoted.len() - rest.len())?;
        let last = self.last.get_mut(self.depth)?;
        (*last < name).then_some(())?;
        *last = name;
        rest.strip_prefix(b"\":")
    }
}

/// The text after a string without escapes, a number, `true`, `false` or `null`.
fn after_scalar(text: &[u8], empty: EmptyMembers) -> Option<&[u8]> {
    if let [b'"', quoted @ ..] = text {
        return grammar::after_plain(quoted).strip_prefix(b"\"");
    }
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    let (scalar, rest) = text.split_at_checked(text.iter().position(is_end).unwrap_or(text.len()))?;
    let is_number = matches!(scalar.first(), Some(b'-' | b'0'..=b'9'));
    (empty == EmptyMembers::AreDropped || !is_number || is_plain_number(scalar)).then_some(rest)
}

/// Returns whether a number is an integer with a unique spelling: with few digits, and not `-0`.
fn is_plain_number(digits: &[u8]) -> bool {
    let digits = digits.strip_prefix(b"-").filter(|digits| *digits != b"0").unwrap_or(digits);
    digits.len() < 16 && digits.iter().all(u8::is_ascii_digit)
}

/// The maximum depth of the scan. Deeper values are rewritten.
const DEEP: usize = 24;
