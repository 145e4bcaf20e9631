//! Parses YAML.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, Error, Localizer, Location, Options, Spanned};

use pointsman_core::definition::MOST_ALIASED;

use crate::commands::json_tree::JsonTree;

/// The error of a document, and its line from 1.
#[derive(Debug)]
pub(crate) struct BadYaml {
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
}

/// Parses one document. An empty document is null.
pub(crate) fn read(text: &str) -> Result<JsonTree, BadYaml> {
    let scanned = serde_saphyr::from_str_with_options(text, options());
    scanned.map(|scanned| resolve(scanned, text)).map_err(|error| BadYaml {
        line: error.location().map(|location| location.line()),
        message: message(error.without_snippet()),
    })
}

fn message(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key {key:?} occurs twice"),
        Error::AliasError { error, .. } => message(error.without_snippet()),
        Error::AliasReplayLimitExceeded { .. } => {
            format!("aliases expand to more than {MOST_ALIASED} values: write the values out")
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => {
            format!("more than {MOST_DEEP} nested lists and objects, the limit for an input file")
        }
        error => error.render_with_formatter(&DefaultMessageFormatter.with_localizer(&NoPlace)),
    }
}

/// The maximum depth of objects. The API server's own limit is 10,000 (`sigs.k8s.io/json`), which no schema reaches.
const MOST_DEEP: usize = 128;

/// Omits locations: lines are relative to the document, and the caller adds the location of the document.
struct NoPlace;

impl Localizer for NoPlace {
    fn attach_location<'b>(&self, base: Cow<'b, str>, _: Location) -> Cow<'b, str> {
        base
    }
}

fn options() -> Options {
    let mut budget = serde_saphyr::budget::Budget::default();
    // The files are trusted, so sizes are unlimited. Depth needs stack, and aliases multiply.
    budget.max_events = usize::MAX;
    budget.max_nodes = usize::MAX;
    budget.max_total_scalar_bytes = usize::MAX;
    budget.max_depth = MOST_DEEP;
    serde_saphyr::options! {
        budget: Some(budget),
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_ALIASED },
        // As in kubectl: `defaultMode: 0644` is 420.
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}

/// A value of the library, with its location in the source.
enum Scanned {
    Array(Vec<Spanned<Self>>),
    Object(Vec<(String, Spanned<Self>)>),
    Scalar(JsonTree),
}

/// Takes the text of numbers from the source, if it is valid JSON.
fn resolve(scanned: Spanned<Scanned>, source: &str) -> JsonTree {
    match scanned.value {
        Scanned::Array(items) => JsonTree::Array(items.into_iter().map(|item| resolve(item, source)).collect()),
        Scanned::Object(members) => {
            let resolved = |(name, value)| (name, resolve(value, source));
            JsonTree::Object(members.into_iter().map(resolved).collect())
        }
        Scanned::Scalar(JsonTree::Number(value)) => {
            let text = source_text(&scanned.defined, source).filter(|text| is_number(text));
            JsonTree::Number(text.map_or(value, str::to_owned))
        }
        Scanned::Scalar(json) => json,
    }
}

fn source_text<'t>(location: &Location, source: &'t str) -> Option<&'t str> {
    let start = usize::try_from(location.span().byte_offset()?).ok()?;
    let len = usize::try_from(location.span().byte_len()?).ok()?;
    source.get(start..start.checked_add(len)?).map(str::trim)
}

fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get() == text)
}

impl<'de> Deserialize<'de> for Scanned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScannedVisitor)
    }
}

struct ScannedVisitor;

impl<'de> Visitor<'de> for ScannedVisitor {
    type Value = Scanned;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON supports")
    }

    fn visit_unit<E>(self) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(JsonTree::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(JsonTree::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(JsonTree::Number(value.to_string())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(JsonTree::Number(value.to_string())))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scanned, E> {
        // `{}` writes whole numbers without a fraction, as kubectl does for `08`.
        let value = if value.abs() < 1e15 { value.to_string() } else { serde_json::Value::from(value).to_string() };
        Ok(Scanned::Scalar(JsonTree::Number(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(JsonTree::string(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Scanned, A::Error> {
        let items = Vec::deserialize(SeqAccessDeserializer::new(seq))?;
        Ok(Scanned::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scanned, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Scanned::Object(members))
    }
}
