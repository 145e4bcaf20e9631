//! JSON's grammar (RFC 8259), checked in one pass without memory.
//!
//! Each function takes where something starts and returns one past its end. `None` is text that is not JSON, or a value
//! that is nested deeper than [`DEEPEST`]: what is wrong with it is for `serde_json` to say.

/// One past the white space at `at`.
pub(super) fn white(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// One past the value that starts at `at`, whatever is inside.
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
        // A value has ended, and so may have what it is in.
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
    /// One past its closing quote.
    pub(super) end: usize,
    /// Where the member's value starts.
    pub(super) value: usize,
    /// It is spelled with escapes.
    pub(super) is_escaped: bool,
}

/// The name of a member that starts at `at`.
pub(super) fn name(bytes: &[u8], at: usize) -> Option<Name> {
    if *bytes.get(at)? != b'"' {
        return None;
    }
    let (end, is_escaped) = string(bytes, at)?;
    let colon = white(bytes, end);
    (*bytes.get(colon)? == b':').then(|| Name { end, value: white(bytes, colon + 1), is_escaped })
}

/// A value that is neither a string nor an object or list.
fn scalar(bytes: &[u8], at: usize) -> Option<usize> {
    let literal = |text: &[u8]| bytes.get(at..)?.starts_with(text).then(|| at + text.len());
    match bytes.get(at)? {
        b'f' => literal(b"false"),
        b'n' => literal(b"null"),
        b't' => literal(b"true"),
        _ => number(bytes, at),
    }
}

/// One past the closing quote of the string that opens at `at`, and whether there are escapes in it.
fn string(bytes: &[u8], at: usize) -> Option<(usize, bool)> {
    let end = plain(bytes, at + 1);
    match bytes.get(end)? {
        b'"' => Some((end + 1, false)),
        _ => Some((escaped(bytes, end)?, true)),
    }
}

/// One past the closing quote of a string that goes on at `at`. Apart from [`string`], as few have escapes, and what
/// these take in registers every call would have to save.
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

/// One past the characters at `at` that a string may hold as they are: up to a quote, a backslash, a control character
/// or the end. Eight bytes at a time: most strings are short, but most of a text is strings.
pub(super) fn plain(bytes: &[u8], at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut at = at;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*eight);
        // With its second bit turned round a quote stands at 0x20, behind the control characters, and what stood there
        // does not.
        let controls_and_quotes = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
        let backslashes = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
        // The lowest bit that is set marks the first byte below a limit; those above it may be marked wrongly.
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

/// The objects and lists that are open, a bit for each: 1 is an object.
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

    /// Whether the innermost is an object. `None` where none is open.
    fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }
}

/// As many as there are bits. Kubernetes decodes at most 10,000, people write a dozen.
const DEEPEST: u32 = u128::BITS;
