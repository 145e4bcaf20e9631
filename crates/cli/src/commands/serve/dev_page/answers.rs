//! Responses for the dev page.

use std::fmt;
use std::sync::Arc;

use pointsman_core::definition::{Kind, embedded_text};
use pointsman_core::laws::schema_of;
use pointsman_core::webhook::Webhook;

use super::definition_edit::{DefinitionEdit, DefinitionProblem, drafted, title};
use super::sample::sample;
use super::try_request::{TryRequest, tried};
use crate::commands::input::{InputObject, Source, documents};
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds::recorded_objects;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::yaml;
use crate::terminal::escaped;

/// Responds to a browser with the currently served definitions, or with an edited one. Read-only.
#[derive(Clone)]
pub struct DevAnswers {
    current: Arc<dyn Fn() -> Arc<Webhook> + Send + Sync>,
    /// The files of the served definitions, whose texts the page shows.
    kinds: KindsArgs,
}

impl DevAnswers {
    /// The page: HTML, which loads the script.
    pub const PAGE: &str = include_str!("page.html");

    /// The editor of the page, compressed with gzip (`editor/build.sh`).
    pub const SCRIPT: &[u8] = include_bytes!("editor/editor.js.gz");

    /// Responds with the kinds of the current webhook. `kinds` names their files.
    pub(in crate::commands::serve) fn new(
        kinds: KindsArgs,
        current: impl Fn() -> Arc<Webhook> + Send + Sync + 'static,
    ) -> Self {
        Self { current: Arc::new(current), kinds }
    }

    /// The kinds with the texts of their definitions, and their versions with a small sample each, as `{version, kinds:
    /// [{kind, definition, versions: [{name, sample}]}]}`. Kinds of the user precede the built-in kinds.
    #[must_use]
    pub fn kinds(&self) -> String {
        let webhook = (self.current)();
        let mut kinds: Vec<&Kind> = webhook.kinds().iter().collect();
        kinds.sort_by_key(|kind| embedded_text(kind.name()).is_some());
        // An unreadable file is reported when it is edited.
        let known = self.kinds.load().unwrap_or_default();
        let kinds = kinds.into_iter().map(|kind| {
            let known = known.iter().find(|known| title(&known.kind) == title(kind));
            let directory = known.and_then(|known| known.files.first()?.parent());
            let mut recorded = directory.map(recorded_objects).unwrap_or_default();
            if let Some(first) = recorded.first() {
                let others = kind.versions().filter_map(|version| webhook.convert(&first.to_string(), version).ok());
                let others = others.filter_map(|object| JsonTree::from_json(&object.text).ok()).collect::<Vec<_>>();
                recorded.extend(others);
            }
            described(kind, known.map_or("", |known| &known.text), &recorded)
        });
        let kinds = JsonTree::Array(kinds.collect());
        JsonTree::object([("version", JsonTree::string(env!("CARGO_PKG_VERSION"))), ("kinds", kinds)]).to_string()
    }

    /// The results for the objects in `{"text": YAML or JSON, "to": VERSION}`, as `{objects, errors}`. If a kind lacks
    /// the version, the next version is used.
    ///
    /// With `{"definition": YAML, "kind": "KIND.GROUP"}`, this definition replaces the served one, and its `problems`
    /// are `[{line, severity, message}]`. With `crd`, it is the definition of that CRD, and the answer has the `kind`
    /// as in [`Self::kinds`]. With `crd` alone, the answer has a draft of a definition.
    #[must_use]
    pub fn tried(&self, question: &[u8]) -> String {
        let mut answer = Answer::default();
        match serde_json::from_slice(question) {
            Ok(question) => self.respond(&question, &mut answer),
            Err(error) => answer.errors.push(format!("not a question: {error}")),
        }
        let errors = answer.errors.iter().map(|error| JsonTree::string(escaped(error)));
        let problems = answer.problems.iter().map(DefinitionProblem::json);
        let errors = JsonTree::Array(errors.collect());
        let mut tree = JsonTree::object([("objects", JsonTree::Array(answer.objects)), ("errors", errors)]);
        if !answer.problems.is_empty() {
            tree.set("problems", JsonTree::Array(problems.collect()));
        }
        if let Some(kind) = answer.kind {
            tree.set("kind", kind);
        }
        tree.to_string()
    }

    fn respond(&self, question: &TryRequest, answer: &mut Answer) {
        let text = match (&question.definition, &question.crd) {
            (None, None) => return answer.try_objects(&(self.current)(), question),
            (Some(text), _) => Ok(text.clone()),
            (None, Some(crd)) => drafted(crd),
        };
        let webhook = text.and_then(|text| {
            let edited = DefinitionEdit { text: &text, kind: &question.kind, crd: question.crd.as_deref() };
            Ok((edited.webhook(&self.kinds)?, text))
        });
        match webhook {
            Ok(((webhook, warnings), text)) => {
                answer.problems = warnings;
                if question.crd.is_some() {
                    answer.kind = webhook.kinds().first().map(|kind| described(kind, &text, &[]));
                }
                answer.try_objects(&webhook, question);
            }
            Err(problems) => answer.problems = problems,
        }
    }
}

/// The parts of an answer.
#[derive(Default)]
struct Answer {
    objects: Vec<JsonTree>,
    errors: Vec<String>,
    problems: Vec<DefinitionProblem>,
    kind: Option<JsonTree>,
}

impl Answer {
    fn try_objects(&mut self, webhook: &Webhook, question: &TryRequest) {
        (self.objects, self.errors) = all_tried(webhook, question);
    }
}

impl fmt::Debug for DevAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevAnswers").finish_non_exhaustive()
    }
}

/// A kind with the text of its definition. Recorded objects are better samples than made ones.
fn described(kind: &Kind, definition: &str, recorded: &[JsonTree]) -> JsonTree {
    let versions = kind.versions().map(|version| {
        let api_version = format!("{}/{version}", kind.group());
        let is_of_version =
            |object: &&JsonTree| object.get("apiVersion").and_then(JsonTree::as_str) == Some(&api_version);
        let recorded = recorded.iter().find(is_of_version).cloned();
        let sample = recorded.or_else(|| Some(sample(kind, version, schema_of(kind, version)?)));
        let sample = sample.as_ref().map_or_else(String::new, yaml::write);
        JsonTree::object([("name", JsonTree::string(version)), ("sample", JsonTree::string(sample))])
    });
    JsonTree::object([
        ("kind", JsonTree::string(title(kind))),
        ("definition", JsonTree::string(definition)),
        ("versions", JsonTree::Array(versions.collect())),
    ])
}

fn all_tried(webhook: &Webhook, question: &TryRequest) -> (Vec<JsonTree>, Vec<String>) {
    if question.text.len() > LARGEST {
        return (Vec::new(), vec![format!("input: at most {} KiB of objects", LARGEST >> 10)]);
    }
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

/// The maximum size of all objects in bytes. A small text may take a thousand times its own memory.
const LARGEST: usize = 256 << 10;
