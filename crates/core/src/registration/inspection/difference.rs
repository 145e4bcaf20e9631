//! Differences between a document and the printed document.

use serde_json::Value;

use crate::apimachinery::excerpt;

/// A difference between two documents. Absent and empty values equal the API server's default.
#[derive(Debug, PartialEq)]
pub struct Difference<'v> {
    /// The path, such as `spec.validations[0].expression`.
    pub(in crate::registration) path: String,
    pub(in crate::registration) found: Option<&'v Value>,
    pub(in crate::registration) printed: Option<&'v Value>,
}

/// All differences between a document and the printed document. Lists of strings are compared as sets.
pub fn differences<'v>(path: &str, found: &'v Value, printed: &'v Value) -> Vec<Difference<'v>> {
    match (found, printed) {
        (Value::Object(these), Value::Object(those)) => {
            let more = those.keys().filter(|name| !these.contains_key(*name));
            let mut names: Vec<&String> = these.keys().chain(more).collect();
            names.sort_unstable();
            let differ = names.into_iter().flat_map(|name| {
                let of = |holder: &'v serde_json::Map<String, Value>| {
                    holder.get(name).filter(|value| !is_nothing(name, value))
                };
                let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let path = if is_plain { format!("{path}.{name}") } else { format!("{path}[{name}]") };
                parts(path, of(these), of(those))
            });
            differ.collect()
        }
        (Value::Array(these), Value::Array(those)) if is_list_of_objects(those) && !these.is_empty() => {
            let all = 0..these.len().max(those.len());
            all.flat_map(|at| parts(format!("{path}[{at}]"), these.get(at), those.get(at))).collect()
        }
        (found, printed) if sorted(found) == sorted(printed) => Vec::new(),
        (found, printed) => vec![Difference { path: path.to_owned(), found: Some(found), printed: Some(printed) }],
    }
}

fn parts<'v>(path: String, found: Option<&'v Value>, printed: Option<&'v Value>) -> Vec<Difference<'v>> {
    match (found, printed) {
        (None, None) => Vec::new(),
        (Some(found), Some(printed)) => differences(&path, found, printed),
        (found, printed) => vec![Difference { path, found, printed }],
    }
}

fn is_list_of_objects(list: &[Value]) -> bool {
    list.iter().any(Value::is_object)
}

/// Sorts a list of strings. Other values stay unchanged.
fn sorted(value: &Value) -> Value {
    let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<&str>>>());
    texts.map_or_else(
        || value.clone(),
        |mut texts| {
            texts.sort_unstable();
            texts.dedup();
            texts.into()
        },
    )
}

/// Returns whether a member equals its absence (`k8s.io/kubernetes/pkg/apis/admissionregistration/v1/defaults.go`).
pub(in crate::registration) fn is_nothing(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.iter().all(|(name, value)| is_nothing(name, value)),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => {
            matches!(
                (name, text.as_str()),
                ("matchPolicy", "Equivalent")
                    | ("failurePolicy", "Fail")
                    | ("reinvocationPolicy", "Never")
                    | ("scope", "*")
            )
        }
        _ => false,
    }
}

impl Difference<'_> {
    /// Describes the actual and the expected value.
    pub fn problem(&self) -> String {
        let path = &self.path;
        match (self.found, self.printed) {
            (None, printed) => format!("{path} is missing, and {} is printed", short(text(printed), 0)),
            (found, None) => format!("{path} is {}, and is absent in the printed document", short(text(found), 0)),
            (found, printed) => {
                let (found, printed) = (text(found), text(printed));
                let same = found.chars().zip(printed.chars()).take_while(|(one, other)| one == other).count();
                format!("{path} is {}, and {} is printed", short(found, same), short(printed, same))
            }
        }
    }

    /// The line to change.
    pub(in crate::registration) fn change(&self) -> String {
        match self.printed {
            Some(printed) => format!("{}: {printed}", self.path),
            None => format!("{}: remove", self.path),
        }
    }
}

fn text(value: Option<&Value>) -> String {
    value.map(Value::to_string).unwrap_or_default()
}

/// A value for a sentence, shortened to start just before the first difference.
fn short(text: String, same: usize) -> String {
    let skipped = if text.chars().count() > SHORT { same.saturating_sub(BEFORE) } else { 0 };
    let rest: String = text.chars().skip(skipped).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let rest = excerpt(&rest);
    match rest.char_indices().nth(SHORT) {
        Some((at, _)) => format!("{before}{}…", rest.get(..at).unwrap_or_default()),
        None => format!("{before}{rest}"),
    }
}

/// The maximum number of characters. The line to change contains the whole value.
const SHORT: usize = 100;

/// The number of equal characters before a difference.
const BEFORE: usize = 20;
