//! The functions of expressions: those of the CEL specification, and the string extensions that Kubernetes has.
//!
//! Source: `cel-spec doc/langdef.md`, and `cel-go ext/strings.go`. The functions for JSON and YAML are of pointsman.

use std::sync::Arc;

use super::meter::{Meter, NoValue, VALUE};
use super::structure::{from_json, from_yaml, to_json, to_yaml};
use super::types::Type;
use super::value::Value;

/// A function. The target of a call, as in `text.trim()`, is its first argument.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Function {
    Size,
    Int,
    Double,
    String,
    Contains,
    StartsWith,
    EndsWith,
    Split,
    Join,
    Replace,
    Substring,
    IndexOf,
    LastIndexOf,
    Trim,
    LowerAscii,
    UpperAscii,
    FromJson,
    ToJson,
    FromYaml,
    ToYaml,
}

/// The type of an argument or a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Simple {
    Any,
    Bool,
    Int,
    Double,
    Text,
    Texts,
}

impl Simple {
    pub(super) fn to_type(self) -> Type {
        match self {
            Self::Any => Type::Any,
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Double => Type::Double,
            Self::Text => Type::Text,
            Self::Texts => Type::List(Box::new(Type::Text)),
        }
    }
}

/// The arguments and the result of a function.
pub(super) struct Signature {
    pub(super) required: &'static [Simple],
    pub(super) optional: &'static [Simple],
    pub(super) result: Simple,
}

impl Function {
    /// All functions, by name.
    pub(super) const ALL: [(&str, Self); 20] = [
        ("size", Self::Size),
        ("int", Self::Int),
        ("double", Self::Double),
        ("string", Self::String),
        ("contains", Self::Contains),
        ("startsWith", Self::StartsWith),
        ("endsWith", Self::EndsWith),
        ("split", Self::Split),
        ("join", Self::Join),
        ("replace", Self::Replace),
        ("substring", Self::Substring),
        ("indexOf", Self::IndexOf),
        ("lastIndexOf", Self::LastIndexOf),
        ("trim", Self::Trim),
        ("lowerAscii", Self::LowerAscii),
        ("upperAscii", Self::UpperAscii),
        ("fromJson", Self::FromJson),
        ("toJson", Self::ToJson),
        ("fromYaml", Self::FromYaml),
        ("toYaml", Self::ToYaml),
    ];

    pub(super) fn signature(self) -> Signature {
        use Simple::{Any, Bool, Double, Int, Text, Texts};
        let (required, optional, result): (&[_], &[_], _) = match self {
            Self::Size => (&[Any], &[], Int),
            Self::Int => (&[Any], &[], Int),
            Self::Double => (&[Any], &[], Double),
            Self::String => (&[Any], &[], Text),
            Self::Contains | Self::StartsWith | Self::EndsWith => (&[Text, Text], &[], Bool),
            Self::Split => (&[Text, Text], &[Int], Texts),
            Self::Join => (&[Texts], &[Text], Text),
            Self::Replace => (&[Text, Text, Text], &[Int], Text),
            Self::Substring => (&[Text, Int], &[Int], Text),
            Self::IndexOf | Self::LastIndexOf => (&[Text, Text], &[], Int),
            Self::Trim | Self::LowerAscii | Self::UpperAscii => (&[Text], &[], Text),
            Self::FromJson | Self::FromYaml => (&[Text], &[], Any),
            Self::ToJson | Self::ToYaml => (&[Any], &[], Text),
        };
        Signature { required, optional, result }
    }

    /// Calls the function.
    ///
    /// # Errors
    /// If the arguments have no result, or the result exceeds the meter.
    pub(super) fn call(self, arguments: &[Value], meter: &mut Meter) -> Result<Value, NoValue> {
        let texts: Vec<&str> = arguments.iter().filter_map(as_text).collect();
        let number = |at: usize| match arguments.get(at) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        };
        let length = texts.iter().map(|text| text.len()).sum();
        meter.spend(length)?;
        meter.allocate(length)?;
        let first = arguments.first().ok_or(NoValue::Error)?;
        match (self, texts.as_slice()) {
            (Self::Size, _) => size(first),
            (Self::Int, _) => int(first),
            (Self::Double, _) => double(first),
            (Self::String, _) => string(first),
            (Self::ToJson, _) => to_json(first, meter),
            (Self::ToYaml, _) => to_yaml(first, meter),
            (Self::FromJson, [text]) => from_json(text, meter),
            (Self::FromYaml, [text]) => from_yaml(text, meter),
            (Self::Join, separator) => joined(first, separator.first().copied().unwrap_or_default(), meter),
            (Self::Contains, [text, part]) => Ok(Value::Bool(text.contains(part))),
            (Self::StartsWith, [text, part]) => Ok(Value::Bool(text.starts_with(part))),
            (Self::EndsWith, [text, part]) => Ok(Value::Bool(text.ends_with(part))),
            (Self::Split, [text, separator]) => split(text, separator, number(2), meter),
            (Self::Replace, [text, old, new]) => replaced(text, (old, new), number(3), meter),
            (Self::Substring, [text]) => substring(text, number(1), number(2)),
            (Self::IndexOf, [text, part]) => Ok(position(text, text.find(part))),
            (Self::LastIndexOf, [text, part]) => Ok(position(text, text.rfind(part))),
            (Self::Trim, [text]) => Ok(text_of(text.trim())),
            (Self::LowerAscii, [text]) => Ok(text_of(&text.to_ascii_lowercase())),
            (Self::UpperAscii, [text]) => Ok(text_of(&text.to_ascii_uppercase())),
            _ => Err(NoValue::Error),
        }
    }
}

fn as_text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn text_of(text: &str) -> Value {
    Value::Text(text.into())
}

fn whole(number: usize) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn size(value: &Value) -> Result<Value, NoValue> {
    match value {
        Value::Text(text) => Ok(whole(text.chars().count())),
        Value::List(items) => Ok(whole(items.len())),
        Value::Map(members) => Ok(whole(members.len())),
        _ => Err(NoValue::Error),
    }
}

/// Fractions are cut off.
fn int(value: &Value) -> Result<Value, NoValue> {
    // The first float above the range of an int64.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Int(_) => Ok(value.clone()),
        Value::Double(number) if number.abs() < ABOVE => Ok(Value::Int(*number as i64)),
        Value::Text(text) => text.parse().map(Value::Int).map_err(|_| NoValue::Error),
        _ => Err(NoValue::Error),
    }
}

fn double(value: &Value) -> Result<Value, NoValue> {
    match value {
        Value::Double(_) => Ok(value.clone()),
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::Text(text) => {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.map(Value::Double).ok_or(NoValue::Error)
        }
        _ => Err(NoValue::Error),
    }
}

fn string(value: &Value) -> Result<Value, NoValue> {
    match value {
        Value::Text(_) => Ok(value.clone()),
        Value::Int(number) => Ok(text_of(&number.to_string())),
        Value::Double(number) => Ok(text_of(&number.to_string())),
        Value::Bool(value) => Ok(text_of(if *value { "true" } else { "false" })),
        _ => Err(NoValue::Error),
    }
}

/// Positions count characters. -1 if the text has no such part.
fn position(text: &str, found: Option<usize>) -> Value {
    let before = found.and_then(|at| text.get(..at));
    before.map_or(Value::Int(-1), |before| whole(before.chars().count()))
}

/// Without a limit or with a negative one, all parts. The last part of a limit is the rest.
fn split(text: &str, separator: &str, limit: Option<i64>, meter: &mut Meter) -> Result<Value, NoValue> {
    let parts: Vec<&str> = match limit {
        Some(0) => Vec::new(),
        Some(limit) if limit > 0 => {
            text.splitn(usize::try_from(limit).map_err(|_| NoValue::Error)?, separator).collect()
        }
        _ if separator.is_empty() => {
            text.char_indices().filter_map(|(at, c)| text.get(at..at + c.len_utf8())).collect()
        }
        _ => text.split(separator).collect(),
    };
    meter.spend(parts.len().saturating_mul(8))?;
    meter.allocate(parts.len().saturating_mul(VALUE))?;
    let parts: Vec<Value> = parts.into_iter().map(text_of).collect();
    Ok(Value::List(parts.into()))
}

fn joined(list: &Value, separator: &str, meter: &mut Meter) -> Result<Value, NoValue> {
    let Value::List(items) = list else { return Err(NoValue::Error) };
    let texts: Option<Vec<&str>> = items.iter().map(as_text).collect();
    let texts = texts.ok_or(NoValue::Error)?;
    let length = texts.iter().map(|text| text.len() + separator.len()).sum();
    meter.spend(length)?;
    meter.allocate(length)?;
    Ok(text_of(&texts.join(separator)))
}

/// Without a limit or with a negative one, replaces all occurrences.
fn replaced(text: &str, (old, new): (&str, &str), limit: Option<i64>, meter: &mut Meter) -> Result<Value, NoValue> {
    let count = text.matches(old).count().saturating_mul(new.len());
    meter.spend(text.len().saturating_add(count))?;
    meter.allocate(text.len().saturating_add(count))?;
    match limit.and_then(|limit| usize::try_from(limit).ok()) {
        Some(limit) => Ok(text_of(&text.replacen(old, new, limit))),
        None => Ok(text_of(&text.replace(old, new))),
    }
}

fn substring(text: &str, start: Option<i64>, end: Option<i64>) -> Result<Value, NoValue> {
    let length = text.chars().count();
    let at = |position: i64| usize::try_from(position).ok().filter(|at| *at <= length).ok_or(NoValue::Error);
    let start = at(start.ok_or(NoValue::Error)?)?;
    let end = end.map_or(Ok(length), at)?;
    let count = end.checked_sub(start).ok_or(NoValue::Error)?;
    let part: String = text.chars().skip(start).take(count).collect();
    Ok(Value::Text(Arc::from(part)))
}
