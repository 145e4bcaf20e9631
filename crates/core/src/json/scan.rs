//! Splits valid JSON text at one level. Cannot fail: stops early on invalid JSON.

use std::borrow::Cow;

use super::grammar;

/// The members of an object's text: unescaped name, raw value.
pub(super) fn members(text: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let mut at = 1; // behind the brace
    std::iter::from_fn(move || {
        at = skip_separators(text, at);
        let name = token(text, at)?;
        at = skip_separators(text, at + name.len());
        let value = token(text, at)?;
        at += value.len();
        Some((unescape(name), value))
    })
}

/// The elements of a list's text, raw.
pub(super) fn elements(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 1; // behind the bracket
    std::iter::from_fn(move || {
        at = skip_separators(text, at);
        let element = token(text, at)?;
        at += element.len();
        Some(element)
    })
}

/// The numbers in a text, at any depth.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let (bytes, mut at) = (text.as_bytes(), 0);
    std::iter::from_fn(move || {
        loop {
            match bytes.get(at)? {
                b'"' => at = string_end(bytes, at),
                b'-' | b'0'..=b'9' => {
                    let number = token(text, at)?;
                    at += number.len();
                    return Some(number);
                }
                _ => at += 1,
            }
        }
    })
}

/// Skips white space, commas and colons, whose order is correct in valid JSON.
pub(super) fn skip_separators(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')).count()
}

/// The whole value at `at`. `None` at a closing bracket or the end.
pub(super) fn token(text: &str, at: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let end = match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => nested_end(bytes, at),
        b'}' | b']' => return None,
        _ => {
            let rest = bytes.get(at..)?;
            at + rest
                .iter()
                .take_while(|byte| !matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\n' | b'\r'))
                .count()
        }
    };
    text.get(at..end).filter(|token| !token.is_empty())
}

/// The position after the closing quote of the string at `at`, or the end of the text.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            _ => return at + 1,
        }
    }
    bytes.len()
}

/// The position after the matching bracket of the one at `at`. Counts, so depth needs no stack.
fn nested_end(bytes: &[u8], at: usize) -> usize {
    let (mut at, mut depth) = (at, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The characters of a quoted string. A lone surrogate becomes U+FFFD, as in Go's decoder, which the API server uses.
pub(crate) fn unescape(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = escaped.chars();
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let (character, used) = unicode(escaped);
                out.push(character);
                rest = escaped.get(used..).unwrap_or_default();
                continue;
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The character of `uXXXX` or `uXXXX\uXXXX` at the start of a text, and the number of bytes that it occupies there.
fn unicode(escaped: &str) -> (char, usize) {
    let unit = |from: usize| escaped.get(from..from + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let Some(first) = unit(1) else {
        return (char::REPLACEMENT_CHARACTER, escaped.len().min(5));
    };
    if (0xD800..0xDC00).contains(&first)
        && escaped.get(5..7) == Some("\\u")
        && let Some(second @ 0xDC00..0xE000) = unit(7)
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

/// Writes a quoted string in the spelling of [`escape`], without a copy of its decoded text.
pub(super) fn respell(quoted: &str, out: &mut String) {
    let mut rest = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    out.push('"');
    while let Some((plain, escaped)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = escaped.chars();
        match chars.next() {
            Some('u') => {
                let (character, used) = unicode(escaped);
                escape_inside(character.encode_utf8(&mut [0; 4]), &mut |piece| out.push_str(piece));
                rest = escaped.get(used..).unwrap_or_default();
                continue;
            }
            Some('/') => out.push('/'),
            Some(other) => out.extend(['\\', other]),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Writes a quoted string with the fewest escapes that JSON allows, as `serde_json` does, so that each string has one
/// spelling.
pub(super) fn escape(value: &str, out: &mut String) {
    out.push('"');
    escape_inside(value, &mut |piece| out.push_str(piece));
    out.push('"');
}

/// The number of bytes that escapes add to a string in JSON: one for quotes, backslashes and characters with a short
/// escape, five for other control characters.
pub(super) fn escape_length(value: &str) -> usize {
    let more = |byte: &u8| match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 1,
        0..0x20 => 5,
        _ => 0,
    };
    let sum = |bytes: &[u8]| bytes.iter().map(more).sum::<usize>();
    // Most words of eight bytes have none of these.
    let (words, rest) = value.as_bytes().as_chunks();
    let of_word = |bytes: &[u8; 8]| match grammar::escape_marks(u64::from_le_bytes(*bytes)) {
        0 => 0,
        _ => sum(bytes),
    };
    words.iter().map(of_word).sum::<usize>() + sum(rest)
}

/// Like [`escape`] without quotes, piece by piece.
pub(super) fn escape_inside(value: &str, add: &mut (impl FnMut(&str) + ?Sized)) {
    let mut rest = value;
    loop {
        let from_escape = grammar::after_plain(rest.as_bytes());
        let Some(byte) = from_escape.first() else {
            add(rest);
            break;
        };
        let Some((plain, behind)) = rest.split_at_checked(rest.len() - from_escape.len()) else {
            break;
        };
        add(plain);
        match byte {
            b'"' => add("\\\""),
            b'\\' => add("\\\\"),
            0x08 => add("\\b"),
            0x0c => add("\\f"),
            b'\n' => add("\\n"),
            b'\r' => add("\\r"),
            b'\t' => add("\\t"),
            _ => add(&format!("\\u{byte:04x}")),
        }
        rest = behind.get(1..).unwrap_or_default();
    }
}
