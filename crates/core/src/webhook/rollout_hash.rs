//! The rollout hash: SHA-256 over the canonical form of the fields that require a rollout.
//!
//! Schema version 1: the hashed field at its version; excluded members left out; null, `{}` and `[]` dropped from
//! objects; canonical defaults filled; UUIDs lower-case with hyphens; members sorted; compact UTF-8 JSON; then the
//! bytes of the force annotation, if there is one. A new recipe needs a new schema version in addition to this one. A
//! changed hash restarts workloads.

use std::borrow::Cow;
use std::cmp::Ordering;

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use crate::definition::HashedFields;
use crate::json::{self, Json};

/// The version of the recipe, stored next to a hash.
pub const HASH_SCHEMA: &str = "1";

/// Positions in bytes, without an allocation for most kinds.
type Ends = SmallVec<[usize; 32]>;

/// The input of a rollout hash.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Preimage {
    /// Canonical JSON of the hashed field.
    pub canonical: String,
    /// The value of the force annotation, if the object has one.
    pub force: Option<String>,
    /// The position after each member in `canonical`, in bytes.
    ends: Ends,
}

impl Preimage {
    /// The hash: 64 lower-case hexadecimal digits. Too long for a label, whose values end at 63.
    #[must_use]
    pub fn hash(&self) -> String {
        digest(&[self.canonical.as_bytes(), self.force.as_deref().unwrap_or_default().as_bytes()])
    }

    /// The hashed members with their canonical values, sorted by name.
    #[must_use]
    pub fn members(&self) -> Vec<(String, String)> {
        let members = Json::borrowed(&self.canonical);
        members.members().into_iter().map(|(name, value)| (name.into_owned(), value.to_text())).collect()
    }

    /// The names of members that differ between two preimages, sorted.
    pub(crate) fn differing<'p>(&'p self, other: &'p Self) -> impl Iterator<Item = Cow<'p, str>> {
        let (mut one, mut two) = (self.member_texts().peekable(), other.member_texts().peekable());
        std::iter::from_fn(move || {
            loop {
                let order = match (one.peek(), two.peek()) {
                    (Some(a), Some(b)) if a == b => {
                        one.next();
                        two.next();
                        continue;
                    }
                    (Some(a), Some(b)) => name(a).cmp(&name(b)),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => return None,
                };
                let next = match order {
                    Ordering::Less => one.next(),
                    Ordering::Greater => two.next(),
                    Ordering::Equal => {
                        one.next();
                        two.next()
                    }
                };
                return next.map(name);
            }
        })
    }

    /// The text of each member: `"name":value`.
    fn member_texts(&self) -> impl Iterator<Item = &str> {
        let mut start = 1; // behind the brace
        self.ends.iter().map(move |end| {
            let text = self.canonical.get(start..*end).unwrap_or_default();
            start = end + 1; // behind the comma
            text
        })
    }
}

/// The name of a member.
fn name(member: &str) -> Cow<'_, str> {
    json::unescape(member.get(..json::string_end(member.as_bytes(), 0)).unwrap_or_default())
}

/// A hash that was calculated during conversion, with its preimage if requested.
#[derive(Clone, Debug)]
pub(crate) struct CalculatedHash {
    pub(crate) hash: String,
    pub(crate) preimage: Option<Preimage>,
}

/// Returns the preimage of an object. `root` is the object at the hashed version, `annotation` returns its annotations.
pub(crate) fn preimage(
    rollout: &HashedFields,
    root: &Json<'_>,
    annotation: impl Fn(&str) -> Option<String>,
) -> Preimage {
    let (canonical, ends) = canonical(rollout, root);
    Preimage { canonical, force: rollout.force.as_deref().and_then(annotation), ends }
}

/// The hashed members, and the defaults of absent members, with the end of each.
fn canonical(rollout: &HashedFields, root: &Json<'_>) -> (String, Ends) {
    let mut members: Vec<(Cow<'_, str>, Json<'_>)> = match root {
        Json::Object(members) => members.get(&rollout.of).map_or_else(Vec::new, Json::members),
        closed => closed.get(&rollout.of).map_or_else(Vec::new, Json::into_members),
    };
    if !members.is_sorted_by(|(one, _), (two, _)| one <= two) {
        members.sort_by(|(one, _), (two, _)| one.cmp(two));
    }
    let mut out =
        String::with_capacity(FEW + members.iter().map(|(name, value)| name.len() + value.size() + 4).sum::<usize>());
    let mut ends = Ends::new();
    let mut defaults = rollout.defaults.iter().peekable();
    let mut writer = rollout.canonical.sorted_members();
    for (name, value) in &members {
        while let Some((default, value)) = defaults.next_if(|(default, _)| **default < **name) {
            begin(default, &mut out);
            out.push_str(value);
            ends.push(out.len());
        }
        let before = out.len();
        begin(name, &mut out);
        match writer.write(name, &value.text(), &mut out) {
            true => {
                defaults.next_if(|(default, _)| **default == **name);
                ends.push(out.len());
            }
            // A dropped member gets its default, if it has one.
            false => out.truncate(before),
        }
    }
    for (default, value) in defaults {
        begin(default, &mut out);
        out.push_str(value);
        ends.push(out.len());
    }
    out.push_str(if out.is_empty() { "{}" } else { "}" });
    (out, ends)
}

/// Starts a member, and the object before its first member.
fn begin(name: &str, out: &mut String) {
    out.push(if out.is_empty() { '{' } else { ',' });
    Json::write_string(name, out);
    out.push(':');
}

/// Capacity for defaults, in bytes.
const FEW: usize = 256;

/// SHA-256 over several pieces, as lower-case hexadecimal digits.
pub(crate) fn digest(pieces: &[&[u8]]) -> String {
    let mut sha = Sha256::new();
    for piece in pieces {
        sha.update(piece);
    }
    let mut digits = String::with_capacity(64);
    for byte in sha.finalize() {
        for digit in [byte >> 4, byte & 15] {
            digits.push(char::from(if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }));
        }
    }
    digits
}
