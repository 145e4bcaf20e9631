//! Upper bounds for the contents of a body, without parsing.

use super::endpoint::Endpoint;
use crate::definition::AccessedFields;
use crate::json::string_end;

/// The numbers of some bytes in a body.
#[derive(Debug)]
pub(super) struct ByteCounts {
    pub(super) backslashes: u64,
    pub(super) braces: u64,
    pub(super) commas: u64,
}

impl ByteCounts {
    pub(super) fn of(body: &[u8]) -> Self {
        Self { backslashes: count(b'\\', body), braces: count(b'{', body), commas: count(b',', body) }
    }
}

/// The counts of a body. The counts of invalid JSON are arbitrary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BodyCounts {
    /// Objects in the review.
    pub(super) objects: u64,
    /// The size of the largest object in bytes.
    pub(super) longest: u64,
    /// The contents of all objects.
    pub(super) all: Contents,
    /// For each count, the maximum in one object.
    pub(super) most: Contents,
}

/// The contents of objects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contents {
    /// Objects that may be items of a converted list or map.
    pub(super) items: u64,
    /// Values with a sibling, in parsed fields.
    pub(super) seen: u64,
    /// Values with a sibling, in all fields.
    pub(super) values: u64,
}

impl Contents {
    fn or(self, other: Self) -> Self {
        let [items, seen, values] = [(self.items, other.items), (self.seen, other.seen), (self.values, other.values)]
            .map(|(one, two)| one.max(two));
        Self { items, seen, values }
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self { items: self.items + other.items, seen: self.seen + other.seen, values: self.values + other.values }
    }
}

impl BodyCounts {
    /// Returns an upper bound. Counting bytes is much faster than tracking positions.
    pub(super) fn at_most(endpoint: Endpoint, body: &[u8], bytes: &ByteCounts) -> Self {
        let values = bytes.commas;
        let all = Contents { items: bytes.braces, seen: values, values };
        let objects = match endpoint {
            Endpoint::Convert => may_be_objects(body, bytes.backslashes).min(values + 1),
            Endpoint::Mutate | Endpoint::Validate => ADMITTED,
        };
        Self { objects, longest: body.len() as u64, all, most: all }
    }

    /// Counts the contents of parsed fields in the objects of a conversion review: in every list that is the value of a
    /// nested member. In an admission review, every such value counts as an object, and no list does.
    pub(super) fn within(body: &[u8], opened: &AccessedFields) -> Self {
        let mut scan = BodyScan { opened, ..BodyScan::default() };
        let mut at = 0;
        while let Some(byte) = body.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let end = string_end(body, at - 1);
                    scan.string(body.get(at..end).unwrap_or_default());
                    at = end;
                }
                b'{' | b'[' => scan.opens(*byte, at),
                b'}' | b']' => scan.closes(at),
                b',' => scan.comma(at),
                _ => {}
            }
        }
        // An object without an end is not read.
        scan.object_ends(at);
        scan.found
    }
}

/// A scan of a body up to some byte.
struct BodyScan<'r> {
    /// The parsed part of an object.
    opened: &'r AccessedFields,
    /// The open values, from the review on, as far as they are tracked.
    open: Vec<Open<'r>>,
    /// The number of open values inside of an untracked value.
    below: usize,
    /// Whether the contents of the untracked values count.
    counts: bool,
    /// The counts of the current object.
    own: Contents,
    /// The start of the current object.
    begun: usize,
    found: BodyCounts,
}

/// An open object, list or map.
struct Open<'r> {
    spot: Spot<'r>,
    is_list: bool,
    /// The next string is a name.
    awaits_name: bool,
    /// The place of the value after the last name, and whether it is a value of a converted map.
    value: (Spot<'r>, bool),
}

#[derive(Clone, Copy)]
enum Spot<'r> {
    /// The review, or a member of it.
    Around,
    /// The objects of a conversion review.
    Objects,
    /// An object or a part of it, with its parsed fields.
    Of(&'r AccessedFields),
}

impl Default for BodyScan<'_> {
    fn default() -> Self {
        let (own, found) = (Contents::default(), BodyCounts::default());
        Self { opened: &AccessedFields::Nothing, open: Vec::new(), below: 0, counts: false, own, begun: 0, found }
    }
}

impl<'r> BodyScan<'r> {
    /// A name or a value, with its closing quote.
    fn string(&mut self, text: &[u8]) {
        match self.open.last_mut() {
            // An annotation may contain JSON.
            _ if self.below > 0 => self.add_siblings(count(b',', text), self.counts),
            Some(open) if open.awaits_name => {
                open.awaits_name = false;
                if let Spot::Of(opened) = open.spot {
                    let (member, is_item) = member(opened, text.strip_suffix(b"\"").unwrap_or(text));
                    open.value = (Spot::Of(member), is_item);
                }
            }
            _ => {
                let is_seen = matches!(self.next(), (Spot::Of(AccessedFields::Everything), _));
                self.add_siblings(count(b',', text), is_seen);
            }
        }
    }

    fn opens(&mut self, bracket: u8, at: usize) {
        let is_list = bracket == b'[';
        if self.below > 0 {
            self.below += 1;
            self.own.items += u64::from(self.counts && !is_list);
            return;
        }
        let (mut spot, is_item) = self.next();
        if self.open.len() == REQUEST && matches!(spot, Spot::Around) {
            spot = if is_list { Spot::Objects } else { Spot::Of(self.opened) };
            self.begun = at;
            self.found.objects += u64::from(is_list);
        }
        let counts = matches!(spot, Spot::Of(AccessedFields::Everything));
        self.own.items += u64::from(!is_list && (is_item || counts));
        match spot {
            Spot::Of(AccessedFields::Nothing | AccessedFields::Everything) => (self.below, self.counts) = (1, counts),
            _ => self.open.push(Open { spot, is_list, awaits_name: !is_list, value: (spot, false) }),
        }
    }

    fn closes(&mut self, at: usize) {
        if self.below > 0 {
            self.below -= 1;
            return;
        }
        self.open.pop();
        if self.open.len() == REQUEST {
            self.object_ends(at);
        }
    }

    fn comma(&mut self, at: usize) {
        if self.below > 0 {
            return self.add_siblings(1, self.counts);
        }
        let Some(open) = self.open.last_mut() else { return };
        open.awaits_name = !open.is_list;
        match open.spot {
            Spot::Around => {}
            Spot::Objects => {
                self.found.objects += 1;
                self.object_ends(at);
            }
            Spot::Of(_) => self.add_siblings(1, true),
        }
    }

    /// Adds values with a sibling.
    fn add_siblings(&mut self, values: u64, is_seen: bool) {
        self.own.values += values;
        self.own.seen += if is_seen { values } else { 0 };
    }

    fn object_ends(&mut self, at: usize) {
        self.found.longest = self.found.longest.max((at - self.begun.min(at)) as u64);
        self.found.all = self.found.all.and(self.own);
        self.found.most = self.found.most.or(self.own);
        (self.begun, self.own) = (at, Contents::default());
    }

    /// The place of the next value, and whether it is an item of a converted list or map.
    fn next(&self) -> (Spot<'r>, bool) {
        match self.open.last() {
            None => (Spot::Around, false),
            Some(Open { spot: Spot::Objects, .. }) => (Spot::Of(self.opened), false),
            Some(Open { spot: Spot::Of(opened), is_list: true, .. }) => {
                let (item, is_item) = opened.item();
                (Spot::Of(item), is_item)
            }
            Some(open) => open.value,
        }
    }
}

/// The parsed part of a member. A name with escapes may be any name.
fn member<'r>(opened: &'r AccessedFields, name: &[u8]) -> (&'r AccessedFields, bool) {
    match str::from_utf8(name) {
        Ok(name) if !name.contains('\\') => opened.member(name),
        _ => (&AccessedFields::Everything, true),
    }
}

/// An upper bound for the number of objects in a body. Each has a member of this name, which may contain escapes.
fn may_be_objects(body: &[u8], backslashes: u64) -> u64 {
    let named = memchr::memmem::find_iter(body, b"\"apiVersion\"").count();
    let spelled = if backslashes > 0 { memchr::memmem::find_iter(body, b"\\u").count() } else { 0 };
    (named + spelled) as u64
}

fn count(byte: u8, text: &[u8]) -> u64 {
    bytecount::count(text, byte) as u64
}

/// The number of objects in an admission review: old and new.
pub(super) const ADMITTED: u64 = 2;

/// The nesting depth of the members of the request.
const REQUEST: usize = 2;
