//! Sorts the members of objects after the text was written, so that the cost depends on the length alone, not on depth
//! or disorder.
//!
//! While `{"b":{"d":1,"c":2},"a":3}` is written, only the positions of members are recorded: the outer object has `a`
//! at 19..24 and `b` at 1..18, the inner one `c` at 12..17 and `d` at 6..11. At the end the text is copied once in that
//! order: `{"a":3,"b":{"c":2,"d":1}}`.

use std::collections::BTreeMap;

/// Objects with unsorted members.
#[derive(Default)]
pub(super) struct Unsorted(BTreeMap<usize, UnsortedObject>);

struct UnsortedObject {
    /// The position after the closing brace.
    end: usize,
    /// Start and end of each member, sorted by name.
    members: Vec<(usize, usize)>,
}

impl Unsorted {
    /// Records an object at `start..end`, with its members sorted by name.
    pub(super) fn note(&mut self, start: usize, end: usize, members: Vec<(usize, usize)>) {
        self.0.insert(start, UnsortedObject { end, members });
    }

    /// Removes the objects at `start` or later.
    pub(super) fn forget_from(&mut self, start: usize) {
        self.0.split_off(&start);
    }

    /// Sorts the members. Each byte is copied once at any depth, and depth needs no stack.
    pub(super) fn arrange(&self, text: String) -> String {
        if self.0.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        let mut pending = vec![Pending::Text(0, text.len())];
        while let Some(next) = pending.pop() {
            match next {
                Pending::Text(from, to) => {
                    let Some((start, object)) = self.0.range(from..to).next() else {
                        out.push_str(text.get(from..to).unwrap_or_default());
                        continue;
                    };
                    out.push_str(text.get(from..*start).unwrap_or_default());
                    out.push('{');
                    // Later parts are pushed first. The closing brace is copied from the text itself.
                    pending.push(Pending::Text(object.end - 1, to));
                    pending.push(Pending::Members(object, 0));
                }
                Pending::Members(object, index) => {
                    let Some((from, to)) = object.members.get(index) else {
                        continue;
                    };
                    if index > 0 {
                        out.push(',');
                    }
                    pending.push(Pending::Members(object, index + 1));
                    pending.push(Pending::Text(*from, *to));
                }
            }
        }
        out
    }
}

/// The remaining parts to copy.
enum Pending<'u> {
    /// A range that may contain objects.
    Text(usize, usize),
    /// The members of an object from this one on.
    Members(&'u UnsortedObject, usize),
}
