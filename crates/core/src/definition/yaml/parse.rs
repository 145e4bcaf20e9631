//! Text to nodes, by serde-saphyr.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::localizer::Localizer;
use serde_saphyr::{DefaultMessageFormatter, Error, Location, Options, Spanned as Located};

use super::error::YamlError;
use super::node::{Content, Node, Number};
use super::span::Spanned;

/// The maximum number of scalars, lists and objects that YAML aliases expand to in one file: 26 MB during parsing,
/// besides their texts. 600 bytes of text can expand to a million.
const MOST_ALIASED: usize = 100_000;

/// A value with its key takes at most 256 bytes, once as the library reads it and once as a node.
const _: () = assert!(size_of::<(Located<String>, Located<Parsed>)>() + size_of::<(Spanned<String>, Node)>() <= 256);

/// The maximum depth of objects. The API server's own limit is 10,000 (`sigs.k8s.io/json`), which no schema reaches.
const MOST_DEEP: usize = 128;

/// Parses the one document of a text. An empty document is null.
///
/// # Errors
/// The text is no YAML, has several documents, or exceeds a limit.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    serde_saphyr::from_str_with_options(text, options())
        .map(|parsed| node(parsed, text))
        .map_err(|error| explained(&error))
}

/// Parses all documents of a text, without empty ones.
///
/// # Errors
/// The text is no YAML or exceeds a limit.
pub fn parse_all(text: &str) -> Result<Vec<Node>, YamlError> {
    serde_saphyr::from_multiple_with_options(text, options())
        .map(|all| all.into_iter().map(|parsed| node(parsed, text)).collect())
        .map_err(|error| explained(&error))
}

/// Parses the only document of a file, besides empty ones. `kind` is the kind of the file in the message. `None` if all
/// documents are empty.
///
/// # Errors
/// As [`parse_all`], and at a second document.
pub fn parse_only(text: &str, kind: &str) -> Result<Option<Node>, YamlError> {
    let mut documents = parse_all(text)?;
    match documents.pop() {
        Some(second) if !documents.is_empty() => {
            let message = format!("the file has another document here, but may hold only one {kind}");
            Err(YamlError { line: second.line, message })
        }
        only => Ok(only),
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
enum Parsed {
    List(Vec<Located<Self>>),
    Map(Vec<(Located<String>, Located<Self>)>),
    /// A value without the text of its source.
    Scalar(Content),
}

/// The node of a value, with the text of booleans and numbers from the source.
fn node(parsed: Located<Parsed>, source: &str) -> Node {
    // A value without a place in the source is spelled as it was understood.
    let text = |value: &dyn fmt::Display| {
        source_text(&parsed.defined, source)
            .filter(|text| !text.is_empty())
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let content = match parsed.value {
        Parsed::List(items) => Content::List(items.into_iter().map(|item| node(item, source)).collect()),
        Parsed::Map(members) => {
            let key = |key: Located<String>| Spanned { line: key.referenced.line(), value: key.value };
            Content::Map(members.into_iter().map(|(name, value)| (key(name), node(value, source))).collect())
        }
        Parsed::Scalar(Content::Bool(value, _)) => Content::Bool(value, text(&value)),
        Parsed::Scalar(Content::Number(value, _)) => Content::Number(value, text(&value)),
        Parsed::Scalar(content) => content,
    };
    Node { line: parsed.referenced.line(), content }
}

fn source_text<'t>(location: &Location, source: &'t str) -> Option<&'t str> {
    let start = usize::try_from(location.span().byte_offset()?).ok()?;
    let len = usize::try_from(location.span().byte_len()?).ok()?;
    source.get(start..start.checked_add(len)?).map(str::trim)
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON supports")
    }

    fn visit_unit<E>(self) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Content::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Content::Bool(value, String::new())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Content::Number(Number::Signed(value), String::new())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Content::Number(Number::Unsigned(value), String::new())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Content::Number(Number::Float(value), String::new())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Parsed, E> {
        Ok(Parsed::Scalar(Content::Text(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parsed, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Parsed::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Parsed::Map(members))
    }
}

/// An error of the library, in the words of the author of a file.
fn explained(error: &Error) -> YamlError {
    YamlError {
        line: error.location().map_or(0, |location| location.line()),
        message: message(error.without_snippet()),
    }
}

fn message(error: &Error) -> String {
    match error {
        Error::AliasError { error, .. } => message(error.without_snippet()),
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_ref().map_or_else(String::new, |key| format!(" {key:?}"));
            format!("the key{key} occurs twice")
        }
        Error::Eof { .. } => "ends too early".to_owned(),
        Error::AliasReplayLimitExceeded { .. } => {
            format!("aliases expand to more than {MOST_ALIASED} values: write the values out")
        }
        Error::Budget { breach, .. } => too_much(breach),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias contains itself".to_owned(),
        error => error.render_with_formatter(&DefaultMessageFormatter.with_localizer(&WithoutPlace)),
    }
}

/// The message for a text that exceeds the limits of the library.
fn too_much(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Depth { .. } => {
            format!("more than {MOST_DEEP} nested lists and objects, the limit for an input file")
        }
        BudgetBreach::Anchors { .. } | BudgetBreach::Aliases { .. } | BudgetBreach::MergeKeys { .. } => {
            "too many anchors and aliases: write the values out".to_owned()
        }
        other => format!("a limit of the YAML reader is exceeded: {other:?}"),
    }
}

/// Omits locations, which the error contains. Rendering also escapes control characters.
struct WithoutPlace;

impl Localizer for WithoutPlace {
    fn attach_location<'a>(&self, base: Cow<'a, str>, _: Location) -> Cow<'a, str> {
        base
    }
}
