//! What is wrong with a file that cannot be read as a definition, in the words of somebody who writes one.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::load::line;
use super::{API_VERSION, KIND};

/// The line, and what is wrong with it.
pub(super) fn told(text: &str, error: &serde_saphyr::Error) -> (u64, String) {
    // A file that is not ours says so in its head, which matters more than the first key that we do not know.
    let head = serde_saphyr::from_str::<Head>(text);
    let kind = head.ok().and_then(|head| head.kind);
    if let Some(kind) = kind.filter(|kind| kind.value != KIND) {
        let message = format!("kind is {:?}, this build reads {KIND:?}", kind.value);
        return (line(&kind), message);
    }
    if text.trim().is_empty() {
        let message = format!(
            "is empty: a definition begins with `apiVersion: {API_VERSION}` and `kind: {KIND}`"
        );
        return (0, message);
    }
    let (line, message) = plain(error);
    (line, nearest(&message).unwrap_or(message))
}

#[derive(Deserialize)]
struct Head {
    kind: Option<Spanned<String>>,
}

/// An error of the library: its line, and its message without it.
pub(super) fn plain(error: &serde_saphyr::Error) -> (u64, String) {
    let line = error.location().map_or(0, |location| location.line());
    let message = error.without_snippet().to_string();
    let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    (line, what.to_owned())
}

/// The message for a name that is not one of those that are known, with the one that was meant.
fn nearest(message: &str) -> Option<String> {
    if message == "expected end of mapping after enum variant value" {
        return Some("two operations in one entry: begin each with `- `".to_owned());
    }
    let (what, rest) = match message.strip_prefix("unknown variant `") {
        Some(rest) => ("operation", rest),
        None => ("key", message.strip_prefix("unknown field `")?),
    };
    let (name, known) = rest.split_once("`, expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    let names = known.split(", ").map(|name| name.trim_matches('`'));
    let distances = names.map(|known| (strsim::damerau_levenshtein(known, name), known));
    let near = distances.min().filter(|(distance, _)| *distance <= name.len().max(3) / 2);
    let hint = near.map_or_else(|| ".".to_owned(), |(_, near)| format!(", did you mean {near:?}?"));
    Some(format!("unknown {what} {name:?}{hint} Known here: {known}"))
}
