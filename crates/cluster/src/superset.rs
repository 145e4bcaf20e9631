//! Compares documents with their desired content.

use serde_json::Value;

/// True if a document contains the desired content: additional members are allowed.
pub(crate) fn is_superset_of(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| found.get(name).is_some_and(|found| is_superset_of(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| is_superset_of(found, wanted))
        }
        _ => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn server_defaults_are_no_difference() {
        let wanted = json!({"spec": {"a": [{"b": 1}]}});
        assert!(is_superset_of(&json!({"spec": {"a": [{"b": 1, "c": 2}], "d": 3}, "status": {}}), &wanted));
        assert!(!is_superset_of(&json!({"spec": {"a": [{"b": 2}]}}), &wanted));
        assert!(!is_superset_of(&json!({"spec": {"a": [{"b": 1}, {}]}}), &wanted));
        assert!(!is_superset_of(&json!({}), &wanted));
    }
}
