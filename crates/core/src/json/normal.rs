//! One spelling for each value: for comparing two values, and for hashing one. No recursion, so depth costs no stack.

use std::borrow::Cow;
use std::collections::BTreeMap;

use uuid::Uuid;

use super::scan;

/// Where in a value strings are UUIDs, so that their canonical form is lower-case with hyphens.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Canonical {
    /// The value itself is a UUID.
    pub(crate) uuid: bool,
    /// The value does not count at all.
    pub(crate) skip: bool,
    pub(crate) members: BTreeMap<String, Self>,
    /// List elements, or the values of a map.
    pub(crate) each: Option<Box<Self>>,
}

impl Canonical {
    /// The canonical form of a value: members sorted by name, null, `{}` and `[]` dropped from objects (not from lists),
    /// strings in their shortest spelling, numbers as they are written. `None` where nothing is left.
    pub(crate) fn text(&self, text: &str) -> Option<String> {
        let out = write(text, Some(self), Form::Canonical);
        (!is_nothing(&out)).then_some(out)
    }

    fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name).or(self.each.as_deref())
    }
}

/// A spelling that two texts share exactly when they are the same value: members sorted, numbers as exact decimals.
pub(crate) fn normal(text: &str) -> String {
    write(text, None, Form::Normal)
}

/// The same with numbers as they are written.
pub(crate) fn spelled(text: &str) -> String {
    write(text, None, Form::Spelled)
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Form {
    Canonical,
    Normal,
    Spelled,
}

struct Frame<'a> {
    object: bool,
    start: usize,
    /// Where the value that this frame is started, with its name where it is a member.
    sorted: bool,
    entries: Vec<(Cow<'a, str>, usize, usize)>,
    /// The member that is being read: its name and where it starts in the output.
    open: Option<(Cow<'a, str>, usize)>,
    places: Option<&'a Canonical>,
}

fn is_nothing(value: &str) -> bool {
    matches!(value, "null" | "{}" | "[]")
}

/// Objects whose members are still to be put in order: from where each starts to where it ends, with its members sorted.
type Unsorted = BTreeMap<usize, (usize, Vec<(usize, usize)>)>;

fn write(text: &str, places: Option<&Canonical>, form: Form) -> String {
    let mut out = String::with_capacity(text.len());
    let mut unsorted = Unsorted::new();
    rewrite(text, places, form, &mut out, &mut unsorted);
    if unsorted.is_empty() { out } else { arrange(&out, &unsorted) }
}

/// Puts members in order. Each byte is moved once, however deep it stands, and depth costs no stack.
fn arrange(text: &str, unsorted: &Unsorted) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pending = vec![(0, text.len())];
    while let Some((from, to)) = pending.pop() {
        let next = unsorted.range(from..to).next();
        let Some((start, (end, members))) = next else {
            out.push_str(text.get(from..to).unwrap_or_default());
            continue;
        };
        out.push_str(text.get(from..*start).unwrap_or_default());
        out.push('{');
        // What comes later is pushed first. Commas and the closing brace are cut from the text itself.
        pending.push((end - 1, to));
        let comma = members.iter().map(|(_, end)| *end).min().unwrap_or_default();
        for (index, member) in members.iter().enumerate().rev() {
            pending.push(*member);
            if index > 0 {
                pending.push((comma, comma + 1));
            }
        }
    }
    out
}

fn rewrite<'a>(
    text: &'a str,
    places: Option<&'a Canonical>,
    form: Form,
    out: &mut String,
    unsorted: &mut Unsorted,
) {
    let mut stack: Vec<Frame<'a>> = Vec::new();
    let mut at = 0;
    loop {
        at = scan::skip_separators(text, at);
        let Some(byte) = text.as_bytes().get(at) else {
            return;
        };
        let mut start = out.len();
        match byte {
            b'{' | b'[' => {
                let places = if stack.is_empty() { places } else { place(&stack) };
                out.push(char::from(*byte));
                let object = *byte == b'{';
                stack.push(Frame {
                    object,
                    start,
                    sorted: true,
                    entries: Vec::new(),
                    open: None,
                    places,
                });
                at += 1;
                continue;
            }
            b'}' | b']' => {
                let Some(frame) = stack.pop() else { return };
                start = frame.start;
                close(frame, out, unsorted);
                at += 1;
            }
            _ => {
                let Some(token) = scan::token(text, at) else {
                    return;
                };
                at += token.len();
                if let Some(frame) = stack.last_mut()
                    && frame.object
                    && frame.open.is_none()
                {
                    let name = scan::unescape(token);
                    if frame
                        .places
                        .and_then(|places| places.member(&name))
                        .is_some_and(|place| place.skip)
                    {
                        at = scan::skip_separators(text, at);
                        at += scan::token(text, at).map_or(0, str::len);
                        continue;
                    }
                    scan::escape(&name, out);
                    out.push(':');
                    frame.open = Some((name, start));
                    continue;
                }
                let places = if stack.is_empty() { places } else { place(&stack) };
                scalar(token, places.is_some_and(|places| places.uuid), form, out);
            }
        }
        // A value is complete and stands at `start..` in the output.
        let Some(frame) = stack.last_mut() else {
            return;
        };
        if let Some((name, entry)) = frame.open.take() {
            if form == Form::Canonical && is_nothing(out.get(start..).unwrap_or_default()) {
                out.truncate(entry);
                unsorted.split_off(&entry);
                continue;
            }
            frame.sorted &= frame.entries.last().is_none_or(|(last, _, _)| *last < name);
            frame.entries.push((name, entry, out.len()));
        }
        out.push(',');
    }
}

/// The places below the member or element that is about to be read.
fn place<'a>(stack: &[Frame<'a>]) -> Option<&'a Canonical> {
    let frame = stack.last()?;
    match &frame.open {
        Some((name, _)) => frame.places?.member(name),
        None => frame.places?.each.as_deref(),
    }
}

fn close(mut frame: Frame<'_>, out: &mut String, unsorted: &mut Unsorted) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push(if frame.object { '}' } else { ']' });
    if frame.object && !frame.sorted {
        frame.entries.sort_by(|(a, _, _), (b, _, _)| a.cmp(b));
        let members = frame.entries.into_iter().map(|(_, start, end)| (start, end));
        unsorted.insert(frame.start, (out.len(), members.collect()));
    }
}

fn scalar(token: &str, uuid: bool, form: Form, out: &mut String) {
    if token.starts_with('"') {
        let value = scan::unescape(token);
        match Uuid::try_parse(&value) {
            Ok(parsed) if uuid => scan::escape(&parsed.hyphenated().to_string(), out),
            _ => scan::escape(&value, out),
        }
    } else if form != Form::Normal || token.starts_with(['t', 'f', 'n']) {
        out.push_str(token);
    } else {
        decimal(token, out);
    }
}

/// A number as sign, digits without outer zeros, and exponent. Numbers too large for that stay as they are written.
fn decimal(token: &str, out: &mut String) {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else {
        out.push_str(token);
        return;
    };
    let (negative, mantissa) =
        mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - significant.len()).unwrap_or_default();
    let places = i64::try_from(fraction.len()).unwrap_or_default();
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        out.push('0');
        return;
    }
    if negative {
        out.push('-');
    }
    out.push_str(significant);
    out.push('e');
    out.push_str(&exponent.saturating_sub(places).saturating_add(dropped).to_string());
}
