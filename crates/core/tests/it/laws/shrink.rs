//! From a case that breaks a law to a small one that still does.

use crate::value::{Step, Value, Way};

/// Takes away and simplifies as long as the law stays broken.
pub(super) fn shrink(
    mut value: Value,
    mut message: String,
    broken: &dyn Fn(&Value) -> Option<String>,
) -> (Value, String) {
    let mut tries = 0;
    loop {
        let mut candidates = Vec::new();
        let head = |way: &Way| matches!(way.first(), Some(Step::Name(name)) if name == "apiVersion" || name == "kind");
        let ways: Vec<Way> = value.ways().into_iter().skip(1).filter(|way| !head(way)).collect();
        for way in &ways {
            let mut without = value.clone();
            without.remove(way);
            candidates.push(without);
        }
        for way in &ways {
            for simple in
                [Value::Null, Value::Text(String::new()), Value::object(), Value::List(Vec::new())]
            {
                let mut simpler = value.clone();
                let Some(place) = simpler.at_mut(way) else {
                    continue;
                };
                if place.to_text().len() > simple.to_text().len() {
                    *place = simple;
                    candidates.push(simpler);
                }
            }
        }
        tries += candidates.len();
        let smaller = candidates
            .into_iter()
            .find_map(|candidate| broken(&candidate).map(|message| (candidate, message)));
        match smaller {
            Some((candidate, still)) if tries < 200_000 => (value, message) = (candidate, still),
            _ => return (value, message),
        }
    }
}

#[test]
fn a_broken_law_is_shown_by_its_smallest_case() {
    let big = Value::parse(r#"{"a":{"b":[1,{"c":"xxx","d":3}]},"e":{"f":null}}"#);
    let law = |value: &Value| value.to_text().contains("\"c\"").then(|| "has a c".to_owned());
    let (small, _) = shrink(big, String::new(), &law);
    assert_eq!(small.to_text(), r#"{"a":{"b":[{"c":""}]}}"#);
}
