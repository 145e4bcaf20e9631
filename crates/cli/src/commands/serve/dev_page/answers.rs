//! Responses for the dev page.

use std::fmt;
use std::sync::Arc;

use pointsman_core::definition::{Kind, embedded_text};
use pointsman_core::laws::schema_of;
use pointsman_core::webhook::Webhook;

use super::sample::sample;
use super::try_request::{TryRequest, tried};
use crate::commands::input::{InputObject, Source, documents};
use crate::commands::json_tree::JsonTree;
use crate::commands::yaml;
use crate::terminal::escaped;

/// Responds to a browser with the currently served definitions. Read-only.
#[derive(Clone)]
pub struct DevAnswers(Arc<dyn Fn() -> Arc<Webhook> + Send + Sync>);

impl DevAnswers {
    /// The page: self-contained HTML.
    pub const PAGE: &str = include_str!("page.html");

    /// Responds with the kinds of the current webhook.
    #[must_use]
    pub fn new(current: impl Fn() -> Arc<Webhook> + Send + Sync + 'static) -> Self {
        Self(Arc::new(current))
    }

    /// The kinds with their versions and a small sample each, as `[{kind, versions: [{name, sample}]}]`. Kinds of the
    /// user precede the built-in kinds.
    #[must_use]
    pub fn kinds(&self) -> String {
        let webhook = (self.0)();
        let mut kinds: Vec<&Kind> = webhook.kinds().iter().collect();
        kinds.sort_by_key(|kind| embedded_text(kind.name()).is_some());
        JsonTree::Array(kinds.into_iter().map(kind).collect()).to_string()
    }

    /// The results for the objects in `{"text": YAML or JSON, "to": VERSION}`, as `{objects: […], errors: […]}`. If a
    /// kind lacks the version, the next version is used.
    #[must_use]
    pub fn tried(&self, question: &[u8]) -> String {
        let (objects, errors) = match serde_json::from_slice(question) {
            Ok(question) => all_tried(&(self.0)(), &question),
            Err(error) => (Vec::new(), vec![format!("not a question: {error}")]),
        };
        let errors = errors.iter().map(|error| JsonTree::string(escaped(error)));
        let answer = [("objects", JsonTree::Array(objects)), ("errors", JsonTree::Array(errors.collect()))];
        JsonTree::object(answer).to_string()
    }
}

impl fmt::Debug for DevAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevAnswers").finish_non_exhaustive()
    }
}

fn kind(kind: &Kind) -> JsonTree {
    let versions = kind.versions().map(|version| {
        let sample = schema_of(kind, version).map(|schema| sample(kind, version, schema));
        let sample = sample.as_ref().map_or_else(String::new, yaml::write);
        JsonTree::object([("name", JsonTree::string(version)), ("sample", JsonTree::string(sample))])
    });
    JsonTree::object([
        ("kind", JsonTree::string(format!("{}.{}", kind.kind(), kind.group()))),
        ("versions", JsonTree::Array(versions.collect())),
    ])
}

fn all_tried(webhook: &Webhook, question: &TryRequest) -> (Vec<JsonTree>, Vec<String>) {
    let source = Source { name: "input".to_owned(), text: question.text.clone() };
    let read = match documents(&source) {
        Ok(read) => read,
        Err(errors) => return (Vec::new(), errors),
    };
    let objects: Vec<InputObject> = read.into_iter().flat_map(|document| document.into_objects()).collect();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for object in &objects {
        match tried(webhook, object, &question.to) {
            Ok(tried) => good.push(tried),
            Err(error) => bad.push(error),
        }
    }
    (good, bad)
}
