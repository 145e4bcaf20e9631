//! Shrinks a counter-example.
//!
//! `{"a":{"b":[1,{"c":"xxx","d":3}]},"e":null}` violates "no `c`" and becomes `{"a":{"b":[{"c":""}]}}`: values are
//! removed or simplified until no smaller value violates the law.

use std::collections::VecDeque;

use super::value::{Segment, Value};

/// The maximum number of smaller values to try.
const TRIES: usize = 20_000;

/// Removes and simplifies values while the law stays violated. `broken` returns the violation, or `None`. A place whose
/// first name is in `fixed` stays unchanged.
pub fn shrink<E>(value: Value, breach: E, fixed: &[&str], broken: &mut dyn FnMut(&Value) -> Option<E>) -> (Value, E) {
    let mut search = Search { value, breach, fixed, broken, tries: 0 };
    while search.thin_out() | search.simplify() {}
    (search.value, search.breach)
}

/// The smallest counter-example so far.
struct Search<'s, E> {
    value: Value,
    breach: E,
    fixed: &'s [&'s str],
    broken: &'s mut dyn FnMut(&Value) -> Option<E>,
    tries: usize,
}

impl<E> Search<'_, E> {
    /// Accepts the candidate if it violates the law as well.
    fn takes(&mut self, candidate: Value) -> bool {
        self.tries += 1;
        if self.tries > TRIES {
            return false;
        }
        let Some(breach) = (self.broken)(&candidate) else { return false };
        (self.value, self.breach) = (candidate, breach);
        true
    }

    /// Removes members and elements, from the outermost place inwards: first all of a place, then half of them, then a
    /// quarter, so that a large object shrinks quickly.
    fn thin_out(&mut self) -> bool {
        let mut smaller = false;
        let mut queue = VecDeque::from([Vec::new()]);
        while let Some(way) = queue.pop_front() {
            let mut size = self.inside(&way).len();
            while size > 0 {
                // From the end, so that earlier indices stay valid.
                for some in self.inside(&way).rchunks(size) {
                    let mut candidate = self.value.clone();
                    some.iter().rev().for_each(|inner| drop(candidate.remove(inner)));
                    smaller |= self.takes(candidate);
                }
                size /= 2;
            }
            queue.extend(self.inside(&way));
        }
        smaller
    }

    /// The direct contents of a place, without fixed places.
    fn inside(&self, way: &[Segment]) -> Vec<Vec<Segment>> {
        let inner: Vec<Segment> = match self.value.at(way) {
            Some(Value::Object(members)) => members.keys().cloned().map(Segment::Name).collect(),
            Some(Value::List(elements)) => (0..elements.len()).map(Segment::Index).collect(),
            _ => Vec::new(),
        };
        let inner = inner.into_iter().map(|segment| [way, &[segment]].concat());
        inner.filter(|way| self.may_change(way)).collect()
    }

    fn may_change(&self, way: &[Segment]) -> bool {
        match way.first() {
            Some(Segment::Name(name)) => !self.fixed.contains(&name.as_str()),
            Some(Segment::Index(_)) => true,
            None => false,
        }
    }

    /// Replaces values by simpler ones.
    fn simplify(&mut self) -> bool {
        let mut simpler = false;
        for way in self.value.ways() {
            if !self.may_change(&way) {
                continue;
            }
            for simple in [Value::Null, Value::text(""), Value::object(), Value::List(Vec::new())] {
                let Some(here) = self.value.at(&way) else { break };
                if here.to_text().len() <= simple.to_text().len() {
                    continue;
                }
                let mut candidate = self.value.clone();
                if let Some(place) = candidate.at_mut(&way) {
                    *place = simple;
                }
                simpler |= self.takes(candidate);
            }
        }
        simpler
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violation_shrinks_to_smallest_case() {
        let big = Value::read(r#"{"a":{"b":[1,{"c":"xxx","d":3}]},"e":{"f":null}}"#).unwrap();
        let mut law = |value: &Value| value.to_text().contains("\"c\"").then_some("has a c");
        let (small, _) = shrink(big, "", &[], &mut law);
        assert_eq!(small.to_text(), r#"{"a":{"b":[{"c":""}]}}"#);
    }
}
