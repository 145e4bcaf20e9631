//! A unique spelling for each value, to compare or hash values. Not recursive, so depth needs no stack.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;

use uuid::Uuid;

use super::is_canonical::{EmptyMembers, is_canonical, is_uuid};
use super::{number::decimal, order::Unsorted, scan};

/// Marks the strings of a value that are UUIDs, whose canonical form is lower-case with hyphens.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Canonical {
    /// The value itself is a UUID.
    pub(crate) uuid: bool,
    /// The value is ignored.
    pub(crate) skip: bool,
    pub(crate) members: BTreeMap<String, Self>,
    /// List elements, or the values of a map.
    pub(crate) each: Option<Box<Self>>,
}

impl Canonical {
    /// The canonical form of a value: members sorted by name, null, `{}` and `[]` dropped from objects (not from
    /// lists), strings in their shortest spelling, numbers as written. `None` if no value is left.
    pub(crate) fn text(&self, text: &str) -> Option<String> {
        let out = write(text, Some(self), Form::Canonical);
        (!is_nothing(&out)).then_some(out)
    }

    /// Starts to write the members of an object, in the order of their names.
    pub(crate) fn sorted_members(&self) -> SortedMembers<'_> {
        SortedMembers { places: self.members.iter().peekable(), each: self.each.as_deref() }
    }

    /// Removes places without special handling, so that they need no lookup.
    pub(crate) fn simplify(&mut self) {
        if let Some(each) = &mut self.each {
            each.simplify();
        }
        self.each = self.each.take().filter(|each| **each != Self::default());
        self.members.values_mut().for_each(Self::simplify);
        if self.each.is_none() {
            self.members.retain(|_, member| *member != Self::default());
        }
    }

    fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name).or(self.each.as_deref())
    }
}

/// Writes the members of an object in their canonical form.
pub(crate) struct SortedMembers<'c> {
    /// The places of the members that are not written yet, by name.
    places: Peekable<btree_map::Iter<'c, String, Canonical>>,
    each: Option<&'c Canonical>,
}

impl SortedMembers<'_> {
    /// Appends the value of the next member. Returns whether the value counts. If not, the output stays
    /// unchanged.
    pub(crate) fn write(&mut self, name: &str, text: &str, out: &mut String) -> bool {
        while self.places.next_if(|(other, _)| other.as_str() < name).is_some() {}
        let place = self.places.peek().filter(|(other, _)| *other == name).map(|(_, place)| *place).or(self.each);
        if place.is_some_and(|place| place.skip) || is_nothing(text) {
            return false;
        }
        let is_so = match place {
            None => is_canonical(text, EmptyMembers::AreDropped),
            Some(place) if !place.members.is_empty() || place.each.is_some() => false,
            Some(place) if place.uuid => is_uuid(text),
            Some(_) => is_canonical(text, EmptyMembers::AreDropped),
        };
        if is_so {
            out.push_str(text);
            return true;
        }
        let written = write(text, place, Form::Canonical);
        let counts = !is_nothing(&written);
        if counts {
            out.push_str(&written);
        }
        counts
    }
}

/// A normal form that two texts share exactly if they are equal for the API server: members sorted, numbers as it reads
/// and writes them. The result is JSON.
pub(crate) fn normal(text: &str) -> String {
    write(text, None, Form::Normal)
}

/// The normal form with numbers as written.
pub(crate) fn normal_keeping_numbers(text: &str) -> String {
    write(text, None, Form::KeepingNumbers)
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Form {
    Canonical,
    Normal,
    KeepingNumbers,
}

fn write(text: &str, places: Option<&Canonical>, form: Form) -> String {
    let mut writer = Writer {
        text,
        places,
        form,
        out: String::with_capacity(text.len()),
        unsorted: Unsorted::default(),
        stack: Vec::new(),
        entries: Vec::with_capacity(FEW),
    };
    writer.run();
    writer.unsorted.arrange(writer.out)
}

/// Returns whether a member is ignored.
fn is_nothing(value: &str) -> bool {
    matches!(value, "null" | "{}" | "[]")
}

/// Capacity for the members of a spec and of its open contents.
const FEW: usize = 48;

/// Writes a value in another spelling, token by token.
struct Writer<'a> {
    text: &'a str,
    places: Option<&'a Canonical>,
    form: Form,
    out: String,
    unsorted: Unsorted,
    /// The open objects and lists, outermost first.
    stack: Vec<Frame<'a>>,
    /// Start and end of each member of the open objects in the output.
    entries: Vec<(usize, usize)>,
}

/// An open object or list.
struct Frame<'a> {
    object: bool,
    /// The start in the output.
    start: usize,
    /// The members were sorted so far.
    sorted: bool,
    /// The last name.
    last: Option<Cow<'a, str>>,
    /// The index of its first member in `entries`.
    first: usize,
    /// The current member: its name and its start in the output.
    open: Option<(Cow<'a, str>, usize)>,
    places: Option<&'a Canonical>,
}

impl<'a> Writer<'a> {
    fn run(&mut self) {
        let mut at = 0;
        loop {
            at = scan::skip_separators(self.text, at);
            let Some(byte) = self.text.as_bytes().get(at) else {
                return;
            };
            let start = match byte {
                b'{' | b'[' => {
                    self.open(*byte);
                    at += 1;
                    continue;
                }
                b'}' | b']' => {
                    at += 1;
                    self.close()
                }
                _ => {
                    let Some(token) = scan::token(self.text, at) else {
                        return;
                    };
                    at += token.len();
                    if self.awaits_name() {
                        at = self.name(token, at);
                        continue;
                    }
                    Some(self.scalar(token))
                }
            };
            let (Some(start), false) = (start, self.stack.is_empty()) else {
                return;
            };
            self.complete(start);
        }
    }

    fn open(&mut self, bracket: u8) {
        let (start, places) = (self.out.len(), self.below());
        self.out.push(char::from(bracket));
        let object = bracket == b'{';
        let first = self.entries.len();
        self.stack.push(Frame { object, start, sorted: true, last: None, first, open: None, places });
    }

    /// Closes the innermost frame. Returns its start in the output. `None` if no frame is open.
    fn close(&mut self) -> Option<usize> {
        let frame = self.stack.pop()?;
        if self.out.ends_with(',') {
            self.out.pop();
        }
        self.out.push(if frame.object { '}' } else { ']' });
        if let Some(entries) = self.entries.get_mut(frame.first..).filter(|_| !frame.sorted) {
            let name = |start: usize| scan::token(&self.out, start).map(scan::unescape);
            entries.sort_by(|(a, _), (b, _)| name(*a).cmp(&name(*b)));
            self.unsorted.note(frame.start, self.out.len(), entries.to_vec());
        }
        self.entries.truncate(frame.first);
        Some(frame.start)
    }

    fn awaits_name(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.object && frame.open.is_none())
    }

    /// Reads the name of a member that ends at `at`. Returns the position to continue: after the value, if the member
    /// is ignored.
    fn name(&mut self, token: &'a str, at: usize) -> usize {
        let Some(frame) = self.stack.last_mut() else {
            return at;
        };
        let name = scan::unescape(token);
        if frame.places.and_then(|places| places.member(&name)).is_some_and(|place| place.skip) {
            let value = scan::skip_separators(self.text, at);
            return value + scan::token(self.text, value).map_or(0, str::len);
        }
        let start = self.out.len();
        match &name {
            Cow::Borrowed(_) => self.out.push_str(token),
            Cow::Owned(name) => scan::escape(name, &mut self.out),
        }
        self.out.push(':');
        frame.open = Some((name, start));
        at
    }

    /// Writes a scalar. Returns its start in the output.
    fn scalar(&mut self, token: &str) -> usize {
        let start = self.out.len();
        if token.starts_with('"') {
            let is_uuid = self.below().is_some_and(|places| places.uuid);
            match is_uuid.then(|| Uuid::try_parse(&scan::unescape(token))) {
                Some(Ok(parsed)) => scan::escape(&parsed.hyphenated().to_string(), &mut self.out),
                _ => scan::respell(token, &mut self.out),
            }
        } else if self.form != Form::Normal || token.starts_with(['t', 'f', 'n']) {
            self.out.push_str(token);
        } else {
            decimal(token, &mut self.out);
        }
        start
    }

    /// Completes a value at `start..` in the output: a member, an element, or an ignored value.
    fn complete(&mut self, start: usize) {
        let Some(frame) = self.stack.last_mut() else {
            return;
        };
        if let Some((name, entry)) = frame.open.take() {
            if self.form == Form::Canonical && is_nothing(self.out.get(start..).unwrap_or_default()) {
                self.out.truncate(entry);
                self.unsorted.forget_from(entry);
                return;
            }
            frame.sorted &= frame.last.as_ref().is_none_or(|last| *last < name);
            frame.last = Some(name);
            if self.entries.len() == self.entries.capacity() {
                // Grows by half instead of doubling, because both copies exist for a moment.
                self.entries.reserve_exact(8 + self.entries.len() / 2);
            }
            self.entries.push((entry, self.out.len()));
        }
        self.out.push(',');
    }

    /// The places of the next value.
    fn below(&self) -> Option<&'a Canonical> {
        let Some(frame) = self.stack.last() else {
            return self.places;
        };
        match &frame.open {
            Some((name, _)) => frame.places?.member(name),
            None => frame.places?.each.as_deref(),
        }
    }
}
