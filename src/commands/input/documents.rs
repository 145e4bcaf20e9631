//! From a text to its documents, and from a document to its objects.

use serde_json::value::RawValue;

use super::Source;
use crate::commands::node::Node;
use crate::commands::yaml;

/// An object as it came: JSON text, so that what nobody looks at stays as it is.
pub(crate) struct Object {
    /// Where it stands: file, document, item.
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

/// A document: one object, or a list of them.
pub(crate) enum Document {
    List { list: Node, items: Vec<Object> },
    One(Object),
}

impl Document {
    pub(crate) fn objects(&self) -> &[Object] {
        match self {
            Self::List { items, .. } => items,
            Self::One(object) => std::slice::from_ref(object),
        }
    }

    pub(crate) fn into_objects(self) -> Vec<Object> {
        match self {
            Self::List { items, .. } => items,
            Self::One(object) => vec![object],
        }
    }
}

impl Object {
    /// `namespace/name`, as far as there is one.
    pub(crate) fn name(&self) -> String {
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
            (None, Some(name)) => name.clone(),
            (_, None) => "(no name)".to_owned(),
        }
    }

    /// Where it stands and what it is, for messages.
    pub(crate) fn label(&self) -> String {
        format!("{}: {} {}", self.place, self.kind, self.name())
    }

    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Takes the head of an object out of its text.
    fn read(place: String, text: String, node: &Node) -> Result<Self, String> {
        let Node::Map(_) = node else {
            return Err(format!(
                "{place}: not an object: a Kubernetes object is a map with apiVersion and kind"
            ));
        };
        let string =
            |name: &str| node.get(name).and_then(Node::as_str).filter(|text| !text.is_empty());
        let in_metadata =
            |name: &str| node.get("metadata")?.get(name)?.as_str().filter(|text| !text.is_empty());
        let name = in_metadata("name").map(str::to_owned);
        let name = name.or_else(|| in_metadata("generateName").map(|prefix| format!("{prefix}*")));
        let missing: Vec<&str> =
            ["apiVersion", "kind"].into_iter().filter(|name| string(name).is_none()).collect();
        let (Some(api_version), Some(kind)) = (string("apiVersion"), string("kind")) else {
            let named = name.map(|name| format!(" (metadata.name: {name})")).unwrap_or_default();
            return Err(format!(
                "{place}: no {}{named}: every object needs both apiVersion and kind",
                missing.join(" and no ")
            ));
        };
        Ok(Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: in_metadata("namespace").map(str::to_owned),
            name,
            place,
            text,
        })
    }
}

/// The documents of a source, or what is wrong with some.
pub(crate) fn documents(source: &Source) -> Result<Vec<Document>, Vec<String>> {
    let texts = split(source).map_err(|message| vec![message])?;
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (place, text, node) in texts {
        match document(place, text, node) {
            Ok(document) => good.push(document),
            Err(messages) => bad.extend(messages),
        }
    }
    if bad.is_empty() && good.is_empty() {
        bad.push(format!("{}: no object in it", source.name));
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

fn document(place: String, text: String, node: Node) -> Result<Document, Vec<String>> {
    let is_list =
        node.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"));
    match node.get("items") {
        Some(Node::List(items)) if is_list => {
            let items = items.iter().enumerate().map(|(index, item)| {
                Object::read(format!("{place}, item {}", index + 1), item.to_json(), item)
            });
            let (good, bad): (Vec<_>, Vec<_>) = items.partition(Result::is_ok);
            if bad.is_empty() {
                Ok(Document::List { items: good.into_iter().flatten().collect(), list: node })
            } else {
                Err(bad.into_iter().filter_map(Result::err).collect())
            }
        }
        _ => Object::read(place, text, &node).map(Document::One).map_err(|message| vec![message]),
    }
}

/// The values of a source's documents, whatever they are.
pub(crate) fn values(source: &Source) -> Result<Vec<Node>, String> {
    Ok(split(source)?.into_iter().map(|(_, _, node)| node).collect())
}

/// Place, JSON text and value of each document that is not empty.
fn split(source: &Source) -> Result<Vec<(String, String, Node)>, String> {
    let text = source.text.as_str();
    let json = text.trim_start().starts_with(['{', '[']).then(|| json(source)).transpose();
    let read = match json {
        Ok(Some(read)) => read,
        // It may be YAML in braces. If it is not either, JSON is what was meant.
        Err(message) => yaml(source).map_err(|_| message)?,
        Ok(None) => yaml(source)?,
    };
    let several = read.len() > 1;
    let place = |index: usize| match several {
        true => format!("{}: document {index}", source.name),
        false => source.name.clone(),
    };
    let present = read.into_iter().filter(|(_, _, node)| *node != Node::Null);
    Ok(present.map(|(index, text, node)| (place(index), text, node)).collect())
}

fn json(source: &Source) -> Result<Vec<(usize, String, Node)>, String> {
    let mut read = Vec::new();
    for (index, raw) in
        serde_json::Deserializer::from_str(&source.text).into_iter::<&RawValue>().enumerate()
    {
        let bad = |error: &dyn std::fmt::Display| {
            format!("{}: document {}: not JSON: {error}", source.name, index + 1)
        };
        let raw = raw.map_err(|error| bad(&error))?;
        let node = Node::from_json(raw.get()).map_err(|error| bad(&error))?;
        read.push((index + 1, raw.get().to_owned(), node));
    }
    Ok(read)
}

fn yaml(source: &Source) -> Result<Vec<(usize, String, Node)>, String> {
    let mut read = Vec::new();
    for (index, (first, text)) in pieces(&source.text).into_iter().enumerate() {
        let node = yaml::read(text).map_err(|error| {
            let line = error.line.map_or_else(String::new, |line| format!(":{}", line + first - 1));
            format!("{}{line}: document {}: {}", source.name, index + 1, error.message)
        })?;
        read.push((index + 1, node.to_json(), node));
    }
    Ok(read)
}

/// The documents of a YAML text that say something, each with the number of its first line. A line that begins with
/// `---` begins a document wherever it stands (YAML 1.2 §9.2).
fn pieces(text: &str) -> Vec<(u64, &str)> {
    let mut starts = vec![(1, 0)];
    let mut at = 0;
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let marker = content
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marker && at > 0 {
            starts.push((line, at));
        }
        at += content.len();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([text.len()]);
    let pieces = starts
        .iter()
        .zip(ends)
        .filter_map(|((line, start), end)| Some((*line, text.get(*start..end)?)));
    let says_something = |text: &str| {
        let mut lines = text.lines().map(|line| line.strip_prefix("---").unwrap_or(line).trim());
        lines.any(|line| !(line.is_empty() || line.starts_with('#') || line == "..."))
    };
    pieces.filter(|(_, text)| says_something(text)).collect()
}
