//! Patterns of schemas, in the dialect of Go (<https://pkg.go.dev/regexp/syntax>), translated for the crate `regex`.
//!
//! Go knows only ASCII in `\d`, `\w`, `\s` and `\b`, has no sets within brackets, and takes a `{` that begins no
//! repetition as text.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Compiles a pattern of a CRD. API servers accept only patterns that Go can compile, so others may compile here too.
/// `None` for a pattern that is larger than [`MAX_COMPILED_SIZE`], and for a few rare forms: surrogates, empty or
/// repeated flags, and group names that begin with a digit.
pub(crate) fn go_regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(&translated(pattern)?).size_limit(MAX_COMPILED_SIZE).build().ok()
}

/// The maximum size of a compiled pattern, in bytes. Go repeats a part up to 1,000 times, and 1,000 letters of all
/// scripts take 40 MB.
const MAX_COMPILED_SIZE: usize = 64 << 20;

fn translated(pattern: &str) -> Option<String> {
    let mut reader = Reader { rest: pattern.chars().peekable(), text: String::with_capacity(pattern.len()) };
    while let Some(next) = reader.rest.next() {
        match next {
            '\\' => drop(reader.escape(false)?),
            '[' => reader.brackets()?,
            '{' => reader.repetition(),
            next => reader.text.push(next),
        }
    }
    Some(reader.text)
}

struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    text: String,
}

impl Reader<'_> {
    /// A character that is no syntax.
    fn literal(&mut self, literal: char) {
        if literal.is_alphanumeric() {
            return self.text.push(literal);
        }
        self.code(u32::from(literal));
    }

    /// A character by its number.
    fn code(&mut self, code: u32) {
        self.text.push_str(&format!("\\x{{{code:X}}}"));
    }

    /// The rest of an escape sequence, within brackets or not. Returns whether it is one character.
    fn escape(&mut self, is_within: bool) -> Option<bool> {
        let next = self.rest.next()?;
        match next {
            'd' | 'w' | 's' if is_within => self.text.push_str(ascii_class(next)),
            'd' | 'w' | 's' => self.text.push_str(&format!("[{}]", ascii_class(next))),
            'D' | 'W' | 'S' => self.text.push_str(&format!("[^{}]", ascii_class(next))),
            'b' if !is_within => self.text.push_str("(?-u:\\b)"),
            'B' if !is_within => self.text.push_str("(?-u:\\B)"),
            'A' | 'z' if !is_within => self.text.extend(['\\', next]),
            'Q' if !is_within => self.quotation(),
            'p' | 'P' => self.category(next == 'P')?,
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => self.text.extend(['\\', next]),
            'x' => self.hexadecimal()?,
            '0'..='7' => self.octal(next)?,
            next if next.is_ascii() && !next.is_ascii_alphanumeric() => self.literal(next),
            _ => return None,
        }
        Some(!matches!(next, 'd' | 'w' | 's' | 'D' | 'W' | 'S' | 'p' | 'P'))
    }

    /// The rest of `\Q…\E`. The end of the pattern ends it too.
    fn quotation(&mut self) {
        while let Some(next) = self.rest.next() {
            if next == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(next);
        }
    }

    /// The rest of `\pL`, `\p{Greek}` or `\p{^Greek}`.
    fn category(&mut self, is_negated: bool) -> Option<()> {
        let first = self.rest.next()?;
        let name: String = match first {
            '{' => self.rest.by_ref().take_while(|next| *next != '}').collect(),
            first => first.to_string(),
        };
        let (name, is_negated) = name.strip_prefix('^').map_or((name.as_str(), is_negated), |name| (name, !is_negated));
        self.text.push_str(&format!("\\{}{{{name}}}", if is_negated { 'P' } else { 'p' }));
        Some(())
    }

    /// The rest of `\x7F` or `\x{10FFFF}`.
    fn hexadecimal(&mut self) -> Option<()> {
        let digits: String = match self.rest.next_if_eq(&'{') {
            Some(_) => self.rest.by_ref().take_while(|next| *next != '}').collect(),
            None => self.rest.by_ref().take(2).collect(),
        };
        self.code(u32::from_str_radix(&digits, 16).ok()?);
        Some(())
    }

    /// Up to three octal digits. A single one other than 0 would be a reference, which Go does not have.
    fn octal(&mut self, first: char) -> Option<()> {
        let mut digits = first.to_string();
        while let Some(digit) = self.rest.next_if(|next| digits.len() < 3 && ('0'..='7').contains(next)) {
            digits.push(digit);
        }
        if digits.len() == 1 && first != '0' {
            return None;
        }
        self.code(u32::from_str_radix(&digits, 8).ok()?);
        Some(())
    }

    /// `{2}`, `{2,}` or `{2,5}`, after the brace. Other text is no repetition.
    fn repetition(&mut self) {
        let ahead = self.ahead();
        let is_number = |text: &str| {
            let is_led_by_zero = text.len() > 1 && text.starts_with('0');
            !text.is_empty() && !is_led_by_zero && text.chars().all(|digit| digit.is_ascii_digit())
        };
        let is_repetition = ahead.split_once('}').is_some_and(|(counts, _)| match counts.split_once(',') {
            Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
            None => is_number(counts),
        });
        match is_repetition {
            true => self.text.push('{'),
            false => self.literal('{'),
        }
    }

    /// The next characters: enough for the longest repetition and the longest name of a class. A longer part of the
    /// pattern would be read again for each brace and bracket.
    fn ahead(&self) -> String {
        self.rest.clone().take(16).collect()
    }

    /// A class, after its first bracket.
    fn brackets(&mut self) -> Option<()> {
        self.text.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.text.push('^');
        }
        let mut is_first = true;
        loop {
            let is_one = match self.rest.next()? {
                ']' if !is_first => break,
                '[' if self.rest.peek() == Some(&':') => self.named_class()?,
                next => self.member(next)?,
            };
            is_first = false;
            // A hyphen between two characters is a range.
            let mut ahead = self.rest.clone();
            if is_one && ahead.next() == Some('-') && ahead.next().is_some_and(|end| end != ']') {
                self.rest.next();
                self.text.push('-');
                let end = self.rest.next()?;
                self.member(end)?.then_some(())?;
            }
        }
        self.text.push(']');
        Some(())
    }

    /// A character or an escape sequence within brackets. Returns whether it is one character.
    fn member(&mut self, first: char) -> Option<bool> {
        match first {
            '\\' => self.escape(true),
            literal => {
                self.literal(literal);
                Some(true)
            }
        }
    }

    /// A class such as `[:alpha:]`, after its first bracket. Without an end, the bracket is text: one character.
    fn named_class(&mut self) -> Option<bool> {
        let ahead = self.ahead();
        // A name is not empty.
        let Some(end) = ahead.get(1..).and_then(|name| name.find(":]")).map(|end| end + 1) else {
            self.literal('[');
            return Some(true);
        };
        self.text.push('[');
        self.text.push_str(ahead.get(..end + 2)?);
        self.rest.nth(ahead.get(..end + 1)?.chars().count());
        Some(false)
    }
}

/// The members of `\d`, `\w` and `\s`, also for the capital letters.
fn ascii_class(letter: char) -> &'static str {
    match letter.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        _ => "\\t\\n\\f\\r ",
    }
}
