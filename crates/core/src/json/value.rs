//! A JSON value and the members of an object, parsed on demand.

use std::borrow::Cow;

use super::grammar;
use super::is_canonical::{EmptyMembers, is_canonical};
use super::normal::normal;
use super::scan::{self, unescape};

/// A JSON value: unparsed text, or one parsed level.
#[derive(Clone, Debug)]
pub enum Json<'a> {
    /// A value that is not parsed yet, as text.
    Text(Cow<'a, str>),
    /// An object, whose members may be unparsed.
    Object(Members<'a>),
    /// An array, whose elements may be unparsed.
    Array(Vec<Self>),
}

/// The members of an object, in their original order. Names are unique.
#[derive(Clone, Debug, Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

/// An object with a duplicate member. Readers disagree on the value, so it is an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Duplicate(pub(crate) String);

/// The outermost levels of objects that contain only the members of these names. Of duplicates, the first counts.
#[derive(Clone, Copy)]
pub(crate) struct OnlyMembers<'n> {
    pub(crate) levels: usize,
    pub(crate) names: &'n [&'n str],
}

impl OnlyMembers<'_> {
    fn inside(self) -> Option<Self> {
        (self.levels > 0).then_some(self)
    }

    /// The rest for the next level.
    fn below(self) -> Option<Self> {
        Self { levels: self.levels.saturating_sub(1), ..self }.inside()
    }
}

impl<'a> Json<'a> {
    pub(crate) const NULL: Self = Json::Text(Cow::Borrowed("null"));

    /// A placeholder for a value that was taken out. Never written: see [`Members::close_holes`].
    pub(crate) const HOLE: Self = Json::Text(Cow::Borrowed(""));

    pub(crate) fn is_hole(&self) -> bool {
        matches!(self, Json::Text(text) if text.is_empty())
    }

    /// Wraps valid JSON.
    pub(crate) fn borrowed(text: &'a str) -> Self {
        Json::Text(Cow::Borrowed(text.trim_matches(WHITESPACE)))
    }

    /// Wraps valid, owned JSON.
    pub fn owned(text: String) -> Self {
        Json::Text(Cow::Owned(text))
    }

    pub(crate) fn string(value: &str) -> Self {
        // Reserves capacity for all escapes at once, because a growing text exists twice.
        let mut text = String::with_capacity(value.len() + scan::escape_length(value) + 2);
        scan::escape(value, &mut text);
        Json::Text(Cow::Owned(text))
    }

    /// Appends the text of a string.
    pub(crate) fn write_string(value: &str, out: &mut String) {
        scan::escape(value, out);
    }

    /// Parses external text, or returns the error and its position.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        Self::parse_open(text, 0)
    }

    /// Like `parse`, with this many outermost levels of objects parsed.
    pub(crate) fn parse_open(text: &'a str, levels: usize) -> Result<Self, serde_json::Error> {
        Self::parse_for(text, levels, OnlyMembers { levels: 0, names: &[] })
    }

    /// Like `parse_open`, with some levels limited to the members of some names.
    pub(crate) fn parse_for(text: &'a str, levels: usize, only: OnlyMembers<'_>) -> Result<Self, serde_json::Error> {
        match Self::read(text, levels, only.inside()) {
            Some(json) => Ok(json),
            None => serde_json::from_str::<&serde_json::value::RawValue>(text).map(|raw| Self::borrowed(raw.get())),
        }
    }

    /// Parses a whole text, if it is valid JSON and not too deep for [`grammar`].
    pub(super) fn read(text: &'a str, levels: usize, only: Option<OnlyMembers<'_>>) -> Option<Self> {
        let bytes = text.as_bytes();
        let (json, end) = Self::read_at(text, grammar::white(bytes, 0), levels, only)?;
        (grammar::white(bytes, end) == bytes.len()).then_some(json)
    }

    /// The value at `at`, and the position after its end. Recursion is limited by the number of levels.
    ///
    /// Two kinds of objects stay unparsed, so that a later access handles them: those with duplicate members, and those
    /// with unusually many members.
    pub(super) fn read_at(
        text: &'a str,
        at: usize,
        levels: usize,
        only: Option<OnlyMembers<'_>>,
    ) -> Option<(Self, usize)> {
        let bytes = text.as_bytes();
        if levels > 0
            && bytes.get(at) == Some(&b'{')
            && let Some((members, end)) = Members::read_at(text, at, levels, only)
            && repeated(&members.0).is_none()
        {
            return Some((Json::Object(members), end));
        }
        let end = grammar::value(bytes, at)?;
        Some((Json::Text(Cow::Borrowed(text.get(at..end)?)), end))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Json::Text(text) if text == "null")
    }

    pub(crate) fn is_object(&self) -> bool {
        match self {
            Json::Text(text) => text.starts_with('{'),
            Json::Object(_) => true,
            Json::Array(_) => false,
        }
    }

    pub(crate) fn is_array(&self) -> bool {
        match self {
            Json::Text(text) => text.starts_with('['),
            Json::Object(_) => false,
            Json::Array(_) => true,
        }
    }

    /// The text of a string, if this is one.
    pub(crate) fn as_str(&self) -> Option<Cow<'_, str>> {
        match self {
            Json::Text(text) if text.starts_with('"') => Some(unescape(text)),
            _ => None,
        }
    }

    /// The text of a scalar as written: `null`, `true`, `12`, `"a"`.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match self {
            Json::Text(text) if !text.starts_with(['{', '[']) => Some(text),
            _ => None,
        }
    }

    /// The OpenAPI type of the value.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Json::Object(_) => "object",
            Json::Array(_) => "array",
            Json::Text(text) => match text.as_bytes().first() {
                Some(b'{') => "object",
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "boolean",
                Some(b'n') => "null",
                _ => "number",
            },
        }
    }

    /// The type with its article, for messages.
    pub(crate) fn a_type_name(&self) -> &'static str {
        match self.type_name() {
            "array" => "an array",
            "boolean" => "a boolean",
            "null" => "null",
            "number" => "a number",
            "object" => "an object",
            _ => "a string",
        }
    }

    /// Parses this value as an object in place. `None` if it is no object.
    pub(crate) fn open(&mut self) -> Result<Option<&mut Members<'a>>, Duplicate> {
        if let Json::Text(text) = self {
            if !text.starts_with('{') {
                return Ok(None);
            }
            let members = match text {
                Cow::Borrowed(text) => Members::split(text)?,
                Cow::Owned(text) => Members::split(text)?.into_owned(),
            };
            *self = Json::Object(members);
        }
        Ok(match self {
            Json::Object(members) => Some(members),
            Json::Array(_) | Json::Text(_) => None,
        })
    }

    /// Parses this value as a list in place. `None` if it is no list.
    pub(crate) fn open_array(&mut self) -> Option<&mut Vec<Self>> {
        if let Json::Text(text) = self {
            if !text.starts_with('[') {
                return None;
            }
            let elements = match text {
                Cow::Borrowed(text) => split_list(text, Self::borrowed),
                Cow::Owned(text) => split_list(text, |element| Self::owned(element.to_owned())),
            };
            *self = Json::Array(elements);
        }
        match self {
            Json::Array(elements) => Some(elements),
            Json::Object(_) | Json::Text(_) => None,
        }
    }

    /// Returns whether a condition holds for each number, at any depth. Depth needs no stack.
    pub(crate) fn every_number(&self, holds: impl FnMut(&str) -> bool) -> bool {
        scan::numbers(&self.text()).all(holds)
    }

    /// Returns one member without parsing permanently.
    pub(crate) fn get(&self, name: &str) -> Option<Json<'_>> {
        match self {
            Json::Object(members) => members.get(name).map(Json::view),
            Json::Text(text) if text.starts_with('{') => {
                scan::members(text).find(|(key, _)| key == name).map(|(_, value)| Json::borrowed(value))
            }
            Json::Array(_) | Json::Text(_) => None,
        }
    }

    /// Returns the value at a path of names without parsing permanently.
    pub(crate) fn get_path(&self, way: &[&str]) -> Option<Json<'_>> {
        match (self, way.split_first()) {
            (_, None) => Some(self.view()),
            (Json::Object(members), Some((name, way))) => members.get(name)?.get_path(way),
            (Json::Text(text), Some(_)) => {
                let found = way.iter().try_fold(&**text, |text, name| {
                    let mut members = scan::members(text.starts_with('{').then_some(text)?);
                    members.find(|(other, _)| other == name).map(|(_, value)| value)
                });
                found.map(Json::borrowed)
            }
            (Json::Array(_), Some(_)) => None,
        }
    }

    /// Returns the members without parsing permanently. Empty if this is no object.
    pub(crate) fn members(&self) -> Vec<(Cow<'_, str>, Json<'_>)> {
        match self {
            Json::Object(members) => members.iter().map(|(name, value)| (Cow::Borrowed(name), value.view())).collect(),
            Json::Text(text) if text.starts_with('{') => {
                scan::members(text).map(|(name, value)| (name, Json::borrowed(value))).collect()
            }
            Json::Array(_) | Json::Text(_) => Vec::new(),
        }
    }

    /// Iterates over the members, including duplicates. Empty if the text is no object.
    pub(crate) fn each_member(text: &'a str) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        let text = if text.starts_with('{') { text } else { "" };
        scan::members(text).map(|(name, value)| (name, Self::borrowed(value)))
    }

    /// Iterates over the elements: the text of each, and the value with this many levels of objects parsed in one pass.
    /// Empty if the text is no list.
    pub(crate) fn each_element(text: &'a str, levels: usize) -> impl Iterator<Item = (&'a str, Self)> {
        let mut at = if text.starts_with('[') { 1 } else { text.len() };
        std::iter::from_fn(move || {
            at = scan::skip_separators(text, at);
            let (json, end) = match Self::read_at(text, at, levels, None) {
                Some(read) => read,
                None => scan::token(text, at).map(|token| (Self::borrowed(token), at + token.len()))?,
            };
            let element = text.get(at..end)?;
            at = end;
            Some((element, json))
        })
    }

    /// The members, including duplicates. Empty if this is no object.
    pub(crate) fn into_members(self) -> Vec<(Cow<'a, str>, Self)> {
        match self {
            Json::Object(members) => members.0,
            Json::Text(Cow::Borrowed(text)) if text.starts_with('{') => {
                scan::members(text).map(|(name, value)| (name, Self::borrowed(value))).collect()
            }
            Json::Text(Cow::Owned(text)) if text.starts_with('{') => scan::members(&text)
                .map(|(name, value)| (Cow::Owned(name.into_owned()), Self::owned(value.to_owned())))
                .collect(),
            Json::Array(_) | Json::Text(_) => Vec::new(),
        }
    }

    /// Returns the elements without parsing permanently. Empty if this is no list.
    pub(crate) fn elements(&self) -> Vec<Json<'_>> {
        match self {
            Json::Array(elements) => elements.iter().map(Json::view).collect(),
            Json::Text(text) if text.starts_with('[') => scan::elements(text).map(Json::borrowed).collect(),
            Json::Object(_) | Json::Text(_) => Vec::new(),
        }
    }

    /// The value, borrowed. Parsed levels are written as text.
    pub(crate) fn view(&self) -> Json<'_> {
        Json::Text(self.text())
    }

    /// The value, independent of the lifetime of the request.
    pub(crate) fn into_owned<'b>(self) -> Json<'b> {
        match self {
            Json::Text(text) => Json::Text(Cow::Owned(text.into_owned())),
            Json::Object(members) => Json::Object(members.into_owned()),
            Json::Array(elements) => Json::Array(elements.into_iter().map(Json::into_owned).collect()),
        }
    }

    /// Returns whether two values are equal for the API server: members in any order, strings in any spelling, numbers
    /// as it reads them (it writes `1.0` as `1`). Null differs from absence, and an empty list differs from null.
    pub(crate) fn same(&self, other: &Json<'_>) -> bool {
        match (self, other) {
            (Json::Text(a), Json::Text(b)) if a == b => true,
            // Most texts have no other spelling, so two different texts are two values.
            (Json::Text(a), Json::Text(b))
                if is_canonical(a, EmptyMembers::Count) && is_canonical(b, EmptyMembers::Count) =>
            {
                false
            }
            (Json::Object(a), Json::Object(b)) if a.has_names_of(b) => {
                a.0.iter().zip(&b.0).all(|((_, one), (_, two))| one.same(two))
            }
            _ => self.type_name() == other.type_name() && normal(&self.text()) == normal(&other.text()),
        }
    }

    /// The text of this value, without a copy if the value was never parsed.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Json::Text(text) => Cow::Borrowed(text),
            Json::Object(_) | Json::Array(_) => Cow::Owned(self.to_text()),
        }
    }

    /// The size of its text in bytes, or slightly less if a name needs an escape.
    pub(crate) fn size(&self) -> usize {
        match self {
            Json::Text(text) => text.len(),
            Json::Object(members) => {
                let sizes = members.0.iter().map(|(name, value)| name.len() + 3 + value.size());
                2 + sizes.sum::<usize>() + members.0.len().saturating_sub(1)
            }
            Json::Array(elements) => {
                2 + elements.iter().map(Json::size).sum::<usize>() + elements.len().saturating_sub(1)
            }
        }
    }

    /// The value as JSON text.
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(self.size());
        self.write(&mut out);
        out
    }

    /// Appends the text of this value, and reserves capacity at once.
    pub(crate) fn write(&self, out: &mut String) {
        out.reserve(self.size());
        self.append(out);
    }

    /// Appends the text of this value without reserving capacity.
    pub(crate) fn append(&self, out: &mut String) {
        self.each_piece(&mut |piece| out.push_str(piece));
    }

    /// Passes the text of this value on, piece by piece.
    pub(crate) fn each_piece(&self, add: &mut (impl FnMut(&str) + ?Sized)) {
        match self {
            Json::Text(text) => add(text),
            Json::Object(members) => {
                let mut before = "{\"";
                for (name, value) in &members.0 {
                    add(before);
                    scan::escape_inside(name, add);
                    add("\":");
                    value.each_piece(add);
                    before = ",\"";
                }
                add(if members.is_empty() { "{}" } else { "}" });
            }
            Json::Array(elements) => {
                add("[");
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        add(",");
                    }
                    element.each_piece(add);
                }
                add("]");
            }
        }
    }

    /// Passes the text of a string on, piece by piece.
    pub(crate) fn each_piece_of_string(value: &str, add: &mut (impl FnMut(&str) + ?Sized)) {
        add("\"");
        scan::escape_inside(value, add);
        add("\"");
    }
}

impl<'a> Members<'a> {
    /// The members of the object at `at`, and the position after its end. All of them, unless there are more than
    /// [`MANY`]; or the first of each of these names.
    fn read_at(text: &'a str, at: usize, levels: usize, only: Option<OnlyMembers<'_>>) -> Option<(Self, usize)> {
        let bytes = text.as_bytes();
        let mut next = grammar::white(bytes, at + 1);
        if *bytes.get(next)? == b'}' {
            return Some((Self::default(), next + 1));
        }
        let mut members = Self(Vec::with_capacity(USUAL));
        loop {
            let grammar::Name { end, value, is_escaped } = grammar::name(bytes, next)?;
            let name = match is_escaped {
                true => unescape(text.get(next..end)?),
                false => Cow::Borrowed(text.get(next + 1..end - 1)?),
            };
            let is_wanted = only.is_none_or(|only| only.names.contains(&&*name) && members.get(&name).is_none());
            let end = if is_wanted {
                let (value, end) = Json::read_at(text, value, levels - 1, only.and_then(OnlyMembers::below))?;
                if members.0.len() == USUAL {
                    members.0.reserve_exact(MANY - USUAL);
                }
                members.0.push((name, value));
                end
            } else {
                grammar::value(bytes, value)?
            };
            let end = grammar::white(bytes, end);
            match bytes.get(end)? {
                b',' if members.0.len() == MANY => return None,
                b',' => next = grammar::white(bytes, end + 1),
                b'}' => return Some((members, end + 1)),
                _ => return None,
            }
        }
    }

    /// Splits the text of an object into its members.
    pub(crate) fn split(text: &'a str) -> Result<Self, Duplicate> {
        let mut members: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        let mut read = 0;
        for (name, value) in Json::each_member(text) {
            if members.len() == MANY && members.capacity() == MANY {
                // A vector that doubles would cost up to three times its members, which may be most of the request.
                members.reserve_exact(scan::members(text).skip(MANY).count());
            }
            members.push((name, value));
            read += 1;
            // Checks before many more are read.
            if read == MANY
                && let Some(name) = repeated(&members)
            {
                return Err(Duplicate(name));
            }
        }
        match repeated(&members) {
            Some(name) => Err(Duplicate(name)),
            None => Ok(Self(members)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (Cow<'a, str>, Json<'a>)> {
        self.0.into_iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Json<'a>)> {
        self.0.iter_mut().map(|entry| (&*entry.0, &mut entry.1))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json<'a>> {
        self.0.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Json<'a>> {
        let index = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(index).1)
    }

    /// Takes the members with a position among other names, in the order of those.
    pub(crate) fn take_where(&mut self, position: impl Fn(&str) -> Option<usize>) -> Vec<(usize, Json<'a>)> {
        let mut taken = Vec::new();
        for (name, value) in &mut self.0 {
            if let Some(at) = position(name) {
                taken.push((at, std::mem::replace(value, Json::HOLE)));
            }
        }
        if !taken.is_empty() {
            self.close_holes();
            taken.sort_unstable_by_key(|(at, _)| *at);
        }
        taken
    }

    /// Replaces a member in place, or appends it.
    pub(crate) fn set(&mut self, name: &str, value: Json<'a>) {
        match self.get_mut(name) {
            Some(place) => *place = value,
            None => self.0.push((Cow::Owned(name.to_owned()), value)),
        }
    }

    /// Appends a new member.
    pub(crate) fn add(&mut self, name: impl Into<Cow<'a, str>>, value: Json<'a>) {
        self.0.push((name.into(), value));
    }

    /// Retains only the members of these names.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| is_kept(name));
    }

    /// Returns whether both have the same names in the same order.
    fn has_names_of(&self, other: &Members<'_>) -> bool {
        self.0.iter().map(|(name, _)| name).eq(other.0.iter().map(|(name, _)| name))
    }

    /// Appends the text of each member after other members.
    pub(crate) fn append_behind(&self, out: &mut String) {
        for (name, value) in &self.0 {
            out.push_str(",\"");
            scan::escape_inside(name, &mut |piece| out.push_str(piece));
            out.push_str("\":");
            value.append(out);
        }
    }

    /// Removes the members with holes.
    pub(crate) fn close_holes(&mut self) {
        self.0.retain(|(_, value)| !value.is_hole());
    }

    fn into_owned<'b>(self) -> Members<'b> {
        Members(self.0.into_iter().map(|(name, value)| (Cow::Owned(name.into_owned()), value.into_owned())).collect())
    }
}

/// From members with distinct names.
impl<'a> FromIterator<(Cow<'a, str>, Json<'a>)> for Members<'a> {
    fn from_iter<I: IntoIterator<Item = (Cow<'a, str>, Json<'a>)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

/// The elements of a list.
fn split_list<'t, 'a>(text: &'t str, element: impl Fn(&'t str) -> Json<'a>) -> Vec<Json<'a>> {
    let mut elements = Vec::new();
    for text_of_one in scan::elements(text) {
        if elements.len() == MANY && elements.capacity() == MANY {
            elements.reserve_exact(scan::elements(text).skip(MANY).count());
        }
        elements.push(element(text_of_one));
    }
    elements
}

/// The first duplicate name. Comparing each pair is fastest for typical objects. For larger ones, sorting is faster,
/// and needs less memory than a set of names.
fn repeated(members: &[(Cow<'_, str>, Json<'_>)]) -> Option<String> {
    const FEW: usize = 48;
    // In the order of the API server.
    if members.is_sorted_by(|(one, _), (two, _)| one < two) {
        return None;
    }
    if members.len() <= FEW {
        let mut rest = members;
        while let Some(((name, _), tail)) = rest.split_first() {
            if tail.iter().any(|(other, _)| other == name) {
                return Some(name.to_string());
            }
            rest = tail;
        }
        return None;
    }
    let name = |index: &u32| members.get(*index as usize).map(|(name, _)| name);
    let mut order: Vec<u32> = (0_u32..).zip(members).map(|(index, _)| index).collect();
    order.sort_unstable_by(|one, other| name(one).cmp(&name(other)));
    let twice = order.windows(2).find(|pair| matches!(pair, [one, other] if name(one) == name(other)));
    twice.and_then(|pair| pair.first()).and_then(name).map(ToString::to_string)
}

/// From this number on, members and elements are counted before capacity is reserved.
const MANY: usize = 64;

/// Initial capacity for the members of a head or a small object. A spec grows once.
const USUAL: usize = 12;

/// White space between JSON tokens (RFC 8259 §2).
const WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];
