//! Values as YAML in one line.

use serde_json::Value;

use crate::definition::is_plain;

/// Writes a value as YAML in one line, with quotes only where YAML needs them.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // The place comes first, as in the documentation.
            members.sort_by_key(|(name, _)| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
            let members = members.into_iter().map(|(name, value)| format!("{}: {}", scalar(name), flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The keys that come first, in this order.
const FIRST: [&str; 7] = ["field", "path", "from", "to", "into", "up", "down"];

/// Writes a text as YAML.
fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_owned(),
        false if text.contains('"') && !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', "''")),
        // A JSON string is a YAML string.
        false => Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flow_value_is_read_back() {
        let value = json!({"from": "spec.y", "to": "y", "map": {"on": ["1", "a b", ".", "it's", "it's \"", "{}", 1, null, true]}});
        let text = flow(&value);
        assert_eq!(
            text,
            r#"{from: spec.y, to: "y", map: {"on": ["1", "a b", ., "it's", 'it''s "', "{}", 1, null, true]}}"#
        );
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), value);
    }
}
