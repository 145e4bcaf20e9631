//! Whether a text stands in its canonical form already.
//!
//! Most values do as the API server writes them: compact, members sorted. One look tells them, and they are copied; only
//! others are written anew ([`normal`](super::normal)).

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
pub(super) enum Nothing {
    /// They are dropped, and numbers stay as they are written.
    IsDropped,
    /// They are values like others, and so are numbers: one has many spellings.
    Counts,
}

/// Whether a value has no other spelling than this one, no string in it being a UUID: compact, members sorted, and no
/// escapes. May say no where it has none.
pub(super) fn is_canonical(text: &str, nothing: Nothing) -> bool {
    let bytes = text.as_bytes();
    // The objects and lists that are open, a bit for each: 1 is an object. Of each the name that came last.
    let (mut at, mut depth, mut open, mut last) = (0, 0, 0_u32, [""; DEEP]);
    loop {
        match bytes.get(at) {
            Some(bracket @ (b'{' | b'[')) if bytes.get(at + 1) == Some(&(bracket + 2)) => {
                if open & 1 == 1 && nothing == Nothing::IsDropped {
                    return false;
                }
                at += 2;
            }
            Some(bracket @ (b'{' | b'[')) => {
                depth += 1;
                let Some(last) = last.get_mut(depth) else { return false };
                *last = "";
                open = open << 1 | u32::from(*bracket == b'{');
                at += 1;
                if *bracket == b'{' {
                    let Some(value) = name(text, at, last) else { return false };
                    at = value;
                }
                continue;
            }
            Some(b'"') => {
                at = grammar::plain(bytes, at + 1) + 1;
                if bytes.get(at - 1) != Some(&b'"') {
                    return false;
                }
            }
            Some(b'n') if open & 1 == 1 && nothing == Nothing::IsDropped => return false,
            Some(first) => {
                let start = at;
                while !matches!(bytes.get(at), None | Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')) {
                    at += 1;
                }
                let is_number = matches!(first, b'-' | b'0'..=b'9');
                if is_number && nothing == Nothing::Counts && !is_plain_number(bytes.get(start..at).unwrap_or_default())
                {
                    return false;
                }
            }
            None => return false,
        }
        // A value has ended, and so may have what it is in.
        loop {
            match bytes.get(at) {
                None => return depth == 0,
                Some(b',') => {
                    at += 1;
                    if open & 1 == 1 {
                        let next = last.get_mut(depth).and_then(|last| name(text, at, last));
                        let Some(value) = next else { return false };
                        at = value;
                    }
                    break;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    open >>= 1;
                    at += 1;
                }
                Some(_) => return false,
            }
        }
    }
}

/// Whether a number is an integer that has no other spelling: with few digits, and not `-0`.
fn is_plain_number(digits: &[u8]) -> bool {
    let digits = digits.strip_prefix(b"-").filter(|digits| *digits != b"0").unwrap_or(digits);
    digits.len() < 16 && digits.iter().all(u8::is_ascii_digit)
}

/// Where the value of a member starts whose name starts at `at`, if that stands behind the `last` one.
fn name<'t>(text: &'t str, at: usize, last: &mut &'t str) -> Option<usize> {
    let bytes = text.as_bytes();
    let end = grammar::plain(bytes, at + 1);
    let name = text.get(at + 1..end)?;
    let follows = *last < name && bytes.get(end..end + 2) == Some(b"\":");
    *last = name;
    follows.then_some(end + 2)
}

/// How deep one looks. What is nested deeper is written anew.
const DEEP: usize = 24;
