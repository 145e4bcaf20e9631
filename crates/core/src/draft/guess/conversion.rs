//! How the value of a field becomes the value of another field. A new operation between two fields gets a variant here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::item_map::ItemMap;
use super::shape::{has_fields, is_same, only_scalar};
use super::words::{similarity, words};
use crate::apimachinery::QUANTITY;
use crate::definition::{Schema, Sides};

/// The way from the older value to the newer value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Conversion {
    /// The value is copied.
    Copy,
    /// Both are objects, with fields that convert one by one.
    Fields,
    /// Both are lists or maps, with contents that convert one by one.
    Items,
    /// A scalar has another type.
    Type,
    /// A duration or a quantity as text is a number of this unit.
    Measure(&'static str),
    /// Values of an enum have other names: older and newer name.
    Values(Vec<(Value, Value)>),
    /// A single value becomes a list.
    Wrap,
    /// A map by name in one version is a list with names in the other one.
    ItemMap(ItemMap),
}

/// Finds the conversion between two fields. `names` are the names of the fields. `None` if the types have no
/// conversion.
pub(super) fn conversion(older: &Schema, newer: &Schema, names: &Sides<&str>) -> Option<Conversion> {
    if older.is_scalar() && newer.is_scalar() {
        return scalars(older, newer, names);
    }
    match (older.kind.as_deref(), newer.kind.as_deref()) {
        (None, None) => Some(Conversion::Copy),
        (_, Some("array")) if older.is_scalar() => {
            let fits = newer.each.as_ref().is_some_and(|item| item.kind == older.kind);
            fits.then_some(Conversion::Wrap)
        }
        (Some("object"), Some("array")) | (Some("array"), Some("object")) => {
            ItemMap::find(older, newer).map(Conversion::ItemMap)
        }
        (one, two) if one != two => None,
        _ if has_fields(older) && has_fields(newer) => {
            Some(if is_same(older, newer) { Conversion::Copy } else { Conversion::Fields })
        }
        _ => match (&older.each, &newer.each) {
            (Some(one), Some(two)) if is_same(older, newer) => {
                let changes = scalars_differ(one, two, names);
                Some(if changes { Conversion::Items } else { Conversion::Copy })
            }
            (Some(one), Some(two)) => match (only_scalar(one), only_scalar(two)) {
                (Some((_, field)), None) if field.kind == two.kind => Some(Conversion::Items),
                (None, Some((_, field))) if field.kind == one.kind => Some(Conversion::Items),
                _ => conversion(one, two, names).map(|_| Conversion::Items),
            },
            (None, None) => (has_fields(older) == has_fields(newer)).then_some(Conversion::Copy),
            _ => None,
        },
    }
}

/// Returns whether the items of two lists need more than a copy.
fn scalars_differ(older: &Schema, newer: &Schema, names: &Sides<&str>) -> bool {
    older.is_scalar() && scalars(older, newer, names) != Some(Conversion::Copy)
}

fn scalars(older: &Schema, newer: &Schema, names: &Sides<&str>) -> Option<Conversion> {
    let (one, two) = (older.kind.as_deref().unwrap_or_default(), newer.kind.as_deref().unwrap_or_default());
    if one == two {
        let renamed = renamed_values(older, newer);
        return Some(if renamed.is_empty() { Conversion::Copy } else { Conversion::Values(renamed) });
    }
    let unit = match (one, two) {
        ("int-or-string", "integer") => quantity((older, names.older), names.newer),
        ("integer", "int-or-string") => quantity((newer, names.newer), names.older),
        _ => None,
    };
    if let Some(unit) = unit {
        return Some(Conversion::Measure(unit));
    }
    let is_wider = |one: &str, two: &str| match one {
        "number" => two == "integer",
        "int-or-string" => matches!(two, "integer" | "string"),
        _ => false,
    };
    if is_wider(one, two) || is_wider(two, one) {
        return Some(Conversion::Copy);
    }
    let (text, number) = match (one, two) {
        ("string", "integer") => ((older, names.older), names.newer),
        ("integer", "string") => ((newer, names.newer), names.older),
        _ => return Some(Conversion::Type),
    };
    let unit = duration(text, number).or_else(|| quantity(text, number));
    Some(unit.map_or(Conversion::Type, Conversion::Measure))
}

/// The unit of a number, if the text in the other version is a quantity.
fn quantity((schema, name): (&Schema, &str), number: &str) -> Option<&'static str> {
    let unit = quantity_unit(number)?;
    let is_pattern = schema.bounds.get("pattern").and_then(Value::as_str) == Some(QUANTITY);
    (is_pattern || quantity_unit(name) != Some(unit)).then_some(unit)
}

fn quantity_unit(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    QUANTITY_UNITS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| *unit)
}

/// The ends of names that have a unit. A longer end comes first.
const QUANTITY_UNITS: [(&str, &str); 7] = [
    ("mebibytes", "mebibytes"),
    ("mib", "mebibytes"),
    ("gibibytes", "gibibytes"),
    ("gib", "gibibytes"),
    ("bytes", "bytes"),
    ("millicores", "millicores"),
    ("millicpu", "millicores"),
];

/// The unit of a number, if the text in the other version is a duration.
fn duration((schema, name): (&Schema, &str), number: &str) -> Option<&'static str> {
    let unit = words(number).last().and_then(|last| unit(last));
    let pattern = schema.bounds.get("pattern").and_then(Value::as_str);
    // The units of a Go duration.
    let is_pattern = pattern.is_some_and(|pattern| pattern.contains("ms") && pattern.contains('h'));
    let is_named = words(name).iter().any(|word| TIMES.contains(&word.as_str()));
    let is_duration = schema.format.as_deref() == Some("duration") || is_pattern;
    match unit {
        // The number of seconds of the same name may also be digits.
        Some(unit) if is_duration || is_named || unit_of(name) != Some(unit) => Some(unit),
        _ if is_duration => Some("seconds"),
        _ => None,
    }
}

fn unit_of(name: &str) -> Option<&'static str> {
    words(name).last().and_then(|last| unit(last))
}

fn unit(word: &str) -> Option<&'static str> {
    match word {
        "milli" | "millisecond" | "ms" => Some("milliseconds"),
        "second" | "sec" => Some("seconds"),
        "minute" | "min" => Some("minutes"),
        "hour" => Some("hours"),
        _ => None,
    }
}

/// Words in the names of durations.
const TIMES: [&str; 9] = ["age", "delay", "duration", "interval", "period", "time", "timeout", "ttl", "wait"];

/// The values of two enums that have another spelling: older and newer value. Values of only one version are left out.
fn renamed_values(older: &Schema, newer: &Schema) -> Vec<(Value, Value)> {
    let (Some(one), Some(two)) = (&older.options, &newer.options) else { return Vec::new() };
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let lost: Vec<String> = one.iter().filter(|value| !two.contains(value)).filter_map(text).collect();
    let new: Vec<String> = two.iter().filter(|value| !one.contains(value)).filter_map(text).collect();
    let mut scored: Vec<(f64, &String, &String)> = Vec::new();
    for older in &lost {
        scored.extend(new.iter().map(|newer| (likeness(older, newer), older, newer)));
    }
    scored.retain(|(score, ..)| *score >= ALIKE);
    scored.sort_by(|one, two| two.0.total_cmp(&one.0));
    let (mut taken, mut pairs) = (BTreeSet::new(), Vec::new());
    for (_, older, newer) in scored {
        if !taken.contains(&(0, older)) && !taken.contains(&(1, newer)) {
            taken.extend([(0, older), (1, newer)]);
            pairs.push((Value::from(older.as_str()), Value::from(newer.as_str())));
        }
    }
    pairs.sort_by_key(|(older, _)| lost.iter().position(|value| Some(value.as_str()) == older.as_str()));
    pairs
}

/// Values with at least this likeness are the same value.
const ALIKE: f64 = 0.6;

/// How similar two values of an enum are. All words of one value in the other are a sign of a longer name.
fn likeness(one: &str, two: &str) -> f64 {
    let (first, second) = (words(one), words(two));
    let (short, long) = if first.len() <= second.len() { (&first, &second) } else { (&second, &first) };
    let is_part = short.len() > 1 && short.iter().all(|word| long.contains(word));
    similarity(one, two).max(if is_part { 0.7 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(older: Value, newer: Value, names: (&str, &str), expected: Option<Conversion>) {
        let (older, newer) = (Schema::read(&older), Schema::read(&newer));
        assert_eq!(conversion(&older, &newer, &Sides { older: names.0, newer: names.1 }), expected);
    }

    fn list(item: Value) -> Value {
        json!({"type": "array", "items": item})
    }

    #[test]
    fn types_select_the_conversion() {
        let [text, number, flag] = ["string", "integer", "boolean"].map(|kind| json!({"type": kind}));
        check(text.clone(), text.clone(), ("a", "a"), Some(Conversion::Copy));
        check(text.clone(), number.clone(), ("port", "port"), Some(Conversion::Type));
        check(text.clone(), number.clone(), ("timeout", "timeoutSeconds"), Some(Conversion::Measure("seconds")));
        check(number.clone(), text.clone(), ("ttlMinutes", "ttl"), Some(Conversion::Measure("minutes")));
        check(text.clone(), number.clone(), ("memory", "memoryBytes"), Some(Conversion::Measure("bytes")));
        check(number.clone(), text.clone(), ("cpuMillicores", "cpu"), Some(Conversion::Measure("millicores")));
        check(number, text.clone(), ("diskGiB", "disk"), Some(Conversion::Measure("gibibytes")));
        check(text.clone(), list(text.clone()), ("host", "hosts"), Some(Conversion::Wrap));
        check(list(text.clone()), text.clone(), ("hosts", "host"), None);
        check(flag, list(text), ("a", "a"), None);
    }

    #[test]
    fn similar_enum_values_are_pairs() {
        let options = |names: &[&str]| json!({"type": "string", "enum": names});
        let pairs = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(older, newer)| (json!(older), json!(newer))).collect();
            Some(Conversion::Values(pairs))
        };
        let expected = pairs(&[("rsa", "RSA"), ("ecdsa", "ECDSA")]);
        check(options(&["rsa", "ecdsa"]), options(&["RSA", "ECDSA", "Ed25519"]), ("a", "a"), expected);
        let expected = pairs(&[("WhenUnderused", "WhenEmptyOrUnderused")]);
        check(options(&["WhenUnderused", "x"]), options(&["WhenEmptyOrUnderused", "x"]), ("a", "a"), expected);
        check(options(&["fast"]), options(&["Always"]), ("a", "a"), Some(Conversion::Copy));
    }
}
