//! The grammar of JSON (RFC 8259), checked in one pass without allocation.
//!
//! Each function takes the start of a token and returns what follows its end. `None` is invalid JSON, or a value nested
//! deeper than [`DEEPEST`]. `serde_json` then reports the error.

/// The position after the white space at `at`.
pub(super) fn white(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).map_or(at, |text| bytes.len() - after_white(text).len())
}

/// The position after the value at `at`.
pub(super) fn value(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = after_value(bytes.get(at..)?)?;
    Some(bytes.len() - rest.len())
}

/// The text after the value at its start. The functions below take and return texts instead of positions: each step
/// then needs one comparison, of the length.
fn after_value(text: &[u8]) -> Option<&[u8]> {
    let (mut rest, mut open) = (text, OpenBrackets::default());
    let mut awaits_name = false;
    loop {
        let (&first, behind) = rest.split_first()?;
        rest = match first {
            // One place for names and other strings, so that the compiler inlines the scan of strings once.
            b'"' => {
                let (end, _) = after_string(behind)?;
                if awaits_name {
                    rest = after_colon(end)?;
                    awaits_name = false;
                    continue;
                }
                end
            }
            _ if awaits_name => return None,
            b'{' | b'[' => {
                let inside = after_white(behind);
                let closing = first + 2; // `}` and `]` in ASCII.
                let (&next, behind) = inside.split_first()?;
                if next != closing {
                    awaits_name = first == b'{';
                    open.enter(awaits_name)?;
                    rest = inside;
                    continue;
                }
                behind
            }
            _ => after_scalar(rest)?,
        };
        // A value has ended, and its parents may end too.
        loop {
            let Some(in_object) = open.innermost() else { return Some(rest) };
            let (&byte, behind) = rest.split_first()?;
            match (byte, in_object) {
                (b',', _) => {
                    rest = after_white(behind);
                    awaits_name = in_object;
                    break;
                }
                (b'}', true) | (b']', false) => {
                    open.leave();
                    rest = behind;
                }
                (b' ' | b'\t' | b'\n' | b'\r', _) => rest = behind,
                _ => return None,
            }
        }
    }
}

fn after_white(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let [b' ' | b'\t' | b'\n' | b'\r', behind @ ..] = rest {
        rest = behind;
    }
    rest
}

/// The text after the colon behind a name.
fn after_colon(text: &[u8]) -> Option<&[u8]> {
    Some(after_white(after_white(text).strip_prefix(b":")?))
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
    let (rest, is_escaped) = after_string(bytes.get(at..)?.strip_prefix(b"\"")?)?;
    let value = after_colon(rest)?;
    Some(Name { end: bytes.len() - rest.len(), value: bytes.len() - value.len(), is_escaped })
}

/// The text after a scalar other than a string.
fn after_scalar(text: &[u8]) -> Option<&[u8]> {
    match text.first()? {
        b'f' => text.strip_prefix(b"false"),
        b'n' => text.strip_prefix(b"null"),
        b't' => text.strip_prefix(b"true"),
        _ => after_number(text),
    }
}

/// The text after the closing quote of a string, and whether the string contains escapes. The text starts after the
/// opening quote.
#[inline]
fn after_string(text: &[u8]) -> Option<(&[u8], bool)> {
    let rest = after_plain(text);
    match rest.split_first()? {
        (b'"', behind) => Some((behind, false)),
        _ => Some((after_escaped(rest)?, true)),
    }
}

/// The text after the closing quote of a string that continues here. Separate from [`after_string`], because escapes
/// are rare, and every call would have to save the additional registers.
#[cold]
fn after_escaped(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    loop {
        rest = match rest {
            [b'"', behind @ ..] => return Some(behind),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', behind @ ..] => behind,
            [b'\\', b'u', behind @ ..] => {
                let (digits, behind) = behind.split_first_chunk::<4>()?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(behind)?
            }
            _ => return None,
        };
        rest = after_plain(rest);
    }
}

/// The text after its plain characters: from a quote, a backslash, a control character or the end. Processes eight
/// bytes at a time: most strings are short, but most of a text is strings.
#[inline]
pub(super) fn after_plain(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some((eight, behind)) = rest.split_first_chunk() {
        let found = escape_marks(u64::from_le_bytes(*eight));
        if found != 0 {
            return rest.get(found.trailing_zeros() as usize / 8..).unwrap_or_default();
        }
        rest = behind;
    }
    after_last_plain(rest)
}

/// The same for less than eight bytes. Four or more are processed as two overlapping words of four bytes.
#[inline(never)]
fn after_last_plain(text: &[u8]) -> &[u8] {
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
        if escape_marks(first | last << 32) == 0 {
            return &[];
        }
    }
    let plain = text.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(text.len());
    text.get(plain..).unwrap_or_default()
}

/// Marks the quotes, backslashes and control characters among eight bytes, by their highest bits. Only the lowest mark
/// is exact: higher bytes may be marked wrongly.
pub(super) fn escape_marks(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // With the second lowest bit flipped, a quote is 0x20, adjacent to the control characters, and a space is 0x22.
    let controls_and_quotes = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
    let backslashes = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (controls_and_quotes | backslashes) & !word & (ONES << 7)
}

fn after_number(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let mut rest = if let [b'0', behind @ ..] = rest { behind } else { after_digits(rest)? };
    if let [b'.', behind @ ..] = rest {
        rest = after_digits(behind)?;
    }
    if let [b'e' | b'E', b'+' | b'-', behind @ ..] | [b'e' | b'E', behind @ ..] = rest {
        rest = after_digits(behind)?;
    }
    Some(rest)
}

/// The text after at least one digit.
fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    while let [b'0'..=b'9', behind @ ..] = rest {
        rest = behind;
    }
    (rest.len() < text.len()).then_some(rest)
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

/// The maximum depth: 128, one for each bit of [`OpenBrackets`]. Kubernetes decodes at most 10,000. Typical objects
/// have a dozen.
const DEEPEST: u32 = u128::BITS;
