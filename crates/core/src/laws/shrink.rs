//! From a case that breaks a law to a small one that still does.
//!
//! `{"a":{"b":[1,{"c":"xxx","d":3}]},"e":null}` breaks "no `c`" and becomes `{"a":{"b":[{"c":""}]}}`: whatever can go
//! goes, whatever can be simpler is made simpler, until nothing smaller breaks the law.

use super::value::{Segment, Value};

/// As many smaller values are looked at before the smallest one so far is taken.
const TRIES: usize = 20_000;

/// Takes away and simplifies as long as the law stays broken. `broken` says how, or nothing where the law holds; a
/// place whose first name is in `fixed` stays as it is.
pub fn shrink<E>(
    mut value: Value,
    mut breach: E,
    fixed: &[&str],
    broken: &mut dyn FnMut(&Value) -> Option<E>,
) -> (Value, E) {
    let mut tries = 0;
    loop {
        let mut smaller = None;
        for candidate in candidates(&value, fixed) {
            tries += 1;
            if tries > TRIES {
                return (value, breach);
            }
            if let Some(still) = broken(&candidate) {
                smaller = Some((candidate, still));
                break;
            }
        }
        match smaller {
            Some((candidate, still)) => (value, breach) = (candidate, still),
            None => return (value, breach),
        }
    }
}

/// Values that are a little smaller: without a place, largest first, then with a simpler one.
fn candidates(value: &Value, fixed: &[&str]) -> Vec<Value> {
    let may_go = |way: &Vec<Segment>| match way.first() {
        Some(Segment::Name(name)) => !fixed.contains(&name.as_str()),
        Some(Segment::Index(_)) => true,
        None => false,
    };
    let ways: Vec<Vec<Segment>> = value.ways().into_iter().filter(may_go).collect();
    let mut candidates = Vec::new();
    for way in &ways {
        let mut without = value.clone();
        without.remove(way);
        candidates.push(without);
    }
    for way in &ways {
        for simple in [Value::Null, Value::text(""), Value::object(), Value::List(Vec::new())] {
            let mut simpler = value.clone();
            let Some(place) = simpler.at_mut(way) else { continue };
            if place.to_text().len() > simple.to_text().len() {
                *place = simple;
                candidates.push(simpler);
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_law_is_shown_by_its_smallest_case() {
        let big = Value::read(r#"{"a":{"b":[1,{"c":"xxx","d":3}]},"e":{"f":null}}"#).unwrap();
        let mut law = |value: &Value| value.to_text().contains("\"c\"").then_some("has a c");
        let (small, _) = shrink(big, "", &[], &mut law);
        assert_eq!(small.to_text(), r#"{"a":{"b":[{"c":""}]}}"#);
    }
}
