//! The grammar of JSON (RFC 8259), checked in one pass without allocation.
//!
//! Each function takes the start of a token and returns the position after its end. `None` is invalid JSON, or a value
//! nested deeper than [`DEEPEST`]. `serde_json` then reports the error.

/// The position after the white space at `at`.
pub(super) fn white(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The position after the value at `at`.
pub(super) fn value(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut open) = (at, OpenBrackets::default());
    loop {
        let next = *bytes.get(at)?;
        at = match next {
            b'"' => string(bytes, at)?.0,
            b'{' | b'[' => {
                let inside = white(bytes, at + 1);
                let closing = next + 2; // `}` and `]` in ASCII.
                if *bytes.get(inside)? == closing {
                    inside + 1
                } else {
                    open.enter(next == b'{')?;
                    at = if next == b'{' { name(bytes, inside)?.value } else { inside };
                    continue;
                }
            }
            _ => scalar(bytes, at)?,
        };
        // A value has ended, and its parents may end too.
        loop {
            let Some(in_object) = open.innermost() else { return Some(at) };
            match (*bytes.get(at)?, in_object) {
                (b',', _) => {
                    at = white(bytes, at + 1);
                    if in_object {
                        at = name(bytes, at)?.value;
                    }
                    break;
                }
                (b'}', true) | (b']', false) => {
                    open.leave();
                    at += 1;
                }
                (b' ' | b'\t' | b'\n' | b'\r', _) => at += 1,
                _ => return None,
            }
        }
    }
}

/// The name of a member.
pub(super) struct Name {
    /// The position after the closing quote.
    pub(super) end: usize,
    /// The start of the member's value.
    pub(super) value: usize,
    /// The name contains escapes.
    pub(super) is_escaped: bool,
}

/// The name of the member at `at`.
pub(super) fn name(bytes: &[u8], at: usize) -> Option<Name> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let (end, is_escaped) = string(bytes, at)?;
    let colon = white(bytes, end);
    (*bytes.get(colon)? == b':').then(|| Name { end, value: white(bytes, colon + 1), is_escaped })
}

/// The position after a scalar other than a string.
fn scalar(bytes: &[u8], at: usize) -> Option<usize> {
    let literal = |text: &[u8]| bytes.get(at..)?.starts_with(text).then(|| at + text.len());
    match bytes.get(at)? {
        b'f' => literal(b"false"),
        b'n' => literal(b"null"),
        b't' => literal(b"true"),
        _ => number(bytes, at),
    }
}

/// The position after the closing quote of the string at `at`, and whether it contains escapes.
fn string(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let end = plain(bytes, at + 1);
    match bytes.get(end)? {
        b'"' => Some((end + 1, false)),
        _ => Some((escaped(bytes, end)?, true)),
    }
}

/// The position after the closing quote of a string that continues at `at`. Separate from [`string`], because escapes
/// are rare, and every call would have to save the additional registers.
#[cold]
fn escaped(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'"', _) => return Some(at + 1),
            (b'\\', Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => at += 2,
            (b'\\', Some(b'u')) => {
                let digits = bytes.get(at + 2..at + 6)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                at += 6;
            }
            _ => return None,
        }
        at = plain(bytes, at);
    }
}

/// The position after the plain characters at `at`: up to a quote, a backslash, a control character or the end.
/// Processes eight bytes at a time: most strings are short, but most of a text is strings.
pub(super) fn plain(bytes: &[u8], at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut at = at;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*eight);
        // With its second bit flipped, a quote is 0x20, adjacent to the control characters. The character with that
        // value before is no longer in the range.
        let controls_and_quotes = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
        let backslashes = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
        // The lowest set bit marks the first byte below a limit. Higher bytes may be marked wrongly.
        let found = (controls_and_quotes | backslashes) & !word & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        at += 1;
    }
    at
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let mut at = from;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > from).then_some(at)
    };
    let at = if bytes.get(at) == Some(&b'-') { at + 1 } else { at };
    let mut at = if bytes.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = digits(at + 1 + usize::from(sign))?;
    }
    Some(at)
}

/// The open objects and lists, one bit each: 1 is an object.
#[derive(Default)]
struct OpenBrackets {
    bits: u128,
    depth: u32,
}

impl OpenBrackets {
    fn enter(&mut self, object: bool) -> Option<()> {
        self.bits = (self.bits << 1) | u128::from(object);
        self.depth += 1;
        (self.depth <= DEEPEST).then_some(())
    }

    fn leave(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
    }

    /// Returns whether the innermost is an object. `None` if none is open.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}

/// The maximum depth, one for each bit. Kubernetes decodes at most 10,000. Typical objects have a dozen.
const DEEPEST: u32 = u128::BITS;
