//! Members of objects put in order after the text was written, so that neither depth nor disorder costs more than
//! length.
//!
//! While `{"b":{"d":1,"c":2},"a":3}` is written, it is only noted where members stand: the outer object has `a` at
//! 19..24 and `b` at 1..18, the inner one `c` at 12..17 and `d` at 6..11. At the end all of it is copied once, in that
//! order: `{"a":3,"b":{"c":2,"d":1}}`.

use std::collections::BTreeMap;

/// Objects whose members are still to be put in order.
#[derive(Default)]
pub(super) struct Unsorted(BTreeMap<usize, UnsortedObject>);

struct UnsortedObject {
    /// One past its closing brace.
    end: usize,
    /// From where each member starts to where it ends, sorted by name.
    members: Vec<(usize, usize)>,
}

impl Unsorted {
    /// Notes an object that stands at `start..end`, with its members sorted by name.
    pub(super) fn note(&mut self, start: usize, end: usize, members: Vec<(usize, usize)>) {
        self.0.insert(start, UnsortedObject { end, members });
    }

    /// Forgets what stood at `start` or behind it.
    pub(super) fn forget_from(&mut self, start: usize) {
        self.0.split_off(&start);
    }

    /// Puts members in order. Each byte is moved once, however deep it stands, and depth costs no stack.
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
                    // What comes later is pushed first. The closing brace is cut from the text itself.
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

/// What is still to be copied.
enum Pending<'u> {
    /// From here to there, in which objects may stand.
    Text(usize, usize),
    /// The members of an object from this one on.
    Members(&'u UnsortedObject, usize),
}
