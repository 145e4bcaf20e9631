//! From YAML to values.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_saphyr::{Options, Spanned};

use crate::commands::json::Json;

/// What is wrong with a document, and the line, from 1.
#[derive(Debug)]
pub(crate) struct BadYaml {
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
}

/// Reads one document. An empty one is null.
pub(crate) fn read(text: &str) -> Result<Json, BadYaml> {
    let scanned: Spanned<Scanned> =
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| BadYaml {
            line: error.location().map(|location| location.line()),
            message: plain(&error),
        })?;
    Ok(scanned.value.at(&scanned.defined).resolve(text))
}

/// What is wrong without where: lines count from where the document begins, and the caller says where that is.
fn plain(error: &serde_saphyr::Error) -> String {
    let message = error.without_snippet().to_string();
    match message.rsplit_once(" at line ") {
        Some((what, place)) if place.contains("column") => what.to_owned(),
        _ => message,
    }
}

fn options() -> Options {
    let mut budget = serde_saphyr::budget::Budget::default();
    // Files of the person who calls, not of a stranger: sizes are theirs to choose. Depth costs stack, aliases multiply.
    budget.max_events = usize::MAX;
    budget.max_nodes = usize::MAX;
    budget.max_total_scalar_bytes = usize::MAX;
    budget.max_depth = 128;
    serde_saphyr::options! {
        budget: Some(budget),
        // As kubectl reads it: `defaultMode: 0644` is 420.
        legacy_octal_numbers: true,
        with_snippet: false,
    }
}

/// A value as the library reads it, numbers with their place in the source.
enum Scanned {
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    Scalar(Json),
    Number { value: String, start: usize, len: usize },
}

impl Scanned {
    fn at(self, location: &serde_saphyr::Location) -> Self {
        let span = location.span();
        let place = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok());
        match (self, place(span.byte_offset()), place(span.byte_len())) {
            (Self::Number { value, .. }, Some(start), Some(len)) => {
                Self::Number { value, start, len }
            }
            (other, _, _) => other,
        }
    }

    fn resolve(self, source: &str) -> Json {
        match self {
            Self::Scalar(json) => json,
            Self::List(items) => {
                Json::Array(items.into_iter().map(|item| item.resolve(source)).collect())
            }
            Self::Map(members) => Json::Object(
                members.into_iter().map(|(name, value)| (name, value.resolve(source))).collect(),
            ),
            Self::Number { value, start, len } => {
                let written =
                    start.checked_add(len).and_then(|end| source.get(start..end)).map(str::trim);
                Json::Number(written.filter(|text| is_number(text)).map_or(value, str::to_owned))
            }
        }
    }
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
        f.write_str("a value that JSON can say")
    }

    fn visit_unit<E>(self) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(Json::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(Json::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scanned, E> {
        Ok(Scanned::Number { value: value.to_string(), start: 0, len: 0 })
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scanned, E> {
        Ok(Scanned::Number { value: value.to_string(), start: 0, len: 0 })
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scanned, E> {
        // `{}` writes whole numbers without a fraction, as kubectl does for `08`.
        let value = if value.abs() < 1e15 {
            value.to_string()
        } else {
            serde_json::Value::from(value).to_string()
        };
        Ok(Scanned::Number { value, start: 0, len: 0 })
    }

    fn visit_str<E>(self, value: &str) -> Result<Scanned, E> {
        Ok(Scanned::Scalar(Json::string(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scanned, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Scanned>>()? {
            items.push(item.value.at(&item.defined));
        }
        Ok(Scanned::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scanned, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Spanned<Scanned>>()? {
            members.push((name, value.value.at(&value.defined)));
        }
        Ok(Scanned::Map(members))
    }
}
