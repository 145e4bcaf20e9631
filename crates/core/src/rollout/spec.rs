//! The document of a StagedRollout. The CRD documents the meaning of each member for users.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::bad_rollout::BadRollout;
use crate::definition::{self, Problem, WorkflowJobSpec, explain, line};

/// The `kind` of a StagedRollout.
pub const ROLLOUT: &str = "StagedRollout";

/// The CRD of StagedRollouts, and the policy that protects active ones, as YAML.
pub const ROLLOUT_CRD: &str = include_str!("staged_rollouts.crd.yaml");

/// A StagedRollout, from a file or the API server.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RolloutDocument {
    pub(super) api_version: Spanned<String>,
    pub(super) kind: Spanned<String>,
    pub(super) metadata: RolloutMetadata,
    pub(super) spec: Spanned<RolloutSpec>,
    /// Parsed elsewhere: see [`super::RolloutStatus`].
    #[serde(default)]
    #[expect(dead_code, reason = "it may be there, and is read elsewhere")]
    status: Value,
}

/// The used metadata members.
#[derive(Debug, Deserialize)]
pub(super) struct RolloutMetadata {
    pub(super) name: Spanned<String>,
    pub(super) uid: Option<String>,
    pub(super) generation: Option<i64>,
}

/// The objects to move, the versions, and the pace.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RolloutSpec {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) workflow: Option<String>,
    pub(super) from: Option<String>,
    pub(super) to: String,
    #[serde(default)]
    pub(super) selector: SelectorSpec,
    pub(super) order: Option<OrderSpec>,
    pub(super) waves: Vec<Spanned<WaveSpec>>,
    #[serde(default)]
    pub(super) windows: Vec<Spanned<WindowSpec>>,
    #[serde(default)]
    pub(super) freeze: Vec<Spanned<FreezeSpec>>,
    #[serde(default)]
    pub(super) prioritized_objects: Vec<String>,
    pub(super) max_unhealthy: Option<u64>,
    pub(super) timeout: Option<String>,
    pub(super) on_failure: Option<String>,
    #[serde(default)]
    pub(super) accepted_risks: Vec<String>,
    #[serde(default, deserialize_with = "switch")]
    pub(super) take_over: Option<bool>,
    #[serde(default, deserialize_with = "switch")]
    pub(super) hold: Option<bool>,
    #[serde(default)]
    pub(super) states: StatesSpec,
    #[serde(default, deserialize_with = "switch")]
    pub(super) paused: Option<bool>,
    pub(super) direction: Option<String>,
}

/// The selected objects of the kind.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SelectorSpec {
    #[serde(default)]
    pub(super) namespaces: Vec<String>,
    pub(super) labels: Option<String>,
}

/// The order of objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OrderSpec {
    pub(super) by: String,
    #[serde(default)]
    pub(super) values: Vec<String>,
}

/// A part of the fleet that is moved before later waves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WaveSpec {
    pub(super) name: String,
    pub(super) selector: Option<SelectorSpec>,
    pub(super) max_in_flight: Option<Value>,
    pub(super) soak: Option<String>,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
    pub(super) workflow: Option<String>,
    pub(super) run: Option<RunSpec>,
    #[serde(default)]
    pub(super) states: StatesSpec,
}

/// The run of a wave without objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RunSpec {
    pub(super) job: Option<WorkflowJobSpec>,
    pub(super) irreversible: Option<String>,
    /// The run as written, for comparison.
    #[serde(skip)]
    pub(super) words: Value,
}

/// State words of the user.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StatesSpec {
    pub(super) started: Option<String>,
    pub(super) running: Option<String>,
    pub(super) done: Option<String>,
    pub(super) failed: Option<String>,
}

/// A time window for moves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WindowSpec {
    #[serde(default)]
    pub(super) days: Vec<String>,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) zone: Option<String>,
}

/// Resources that other clients cannot write during the rollout.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FreezeSpec {
    pub(super) resources: Vec<String>,
    pub(super) operations: Option<Vec<String>>,
    pub(super) namespaces: Option<Vec<String>>,
    pub(super) labels: Option<String>,
    pub(super) part: Option<String>,
    pub(super) at_least: Option<String>,
    pub(super) at_most: Option<String>,
}

impl StatesSpec {
    /// True if any word is defined.
    pub(super) fn is_defined(&self) -> bool {
        [&self.started, &self.running, &self.done, &self.failed].into_iter().any(Option::is_some)
    }
}

impl RolloutDocument {
    /// Parses a StagedRollout. `file` is the name for messages.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, BadRollout> {
        let bad = |line: u64, message: String| BadRollout {
            problems: vec![Problem { file: file.to_owned(), line, message, remedy: None }],
        };
        let mut document: Self = match serde_saphyr::from_multiple::<Self>(text).map(|mut all| (all.pop(), all.len())) {
            Ok((Some(document), 0)) => document,
            Ok((Some(second), _)) => {
                let at_line = line(&second.api_version);
                return Err(bad(
                    at_line,
                    "the file has another document here, but may hold only one StagedRollout".to_owned(),
                ));
            }
            Ok((None, _)) => return Err(bad(0, EMPTY.to_owned())),
            Err(error) => {
                if let Some((line, why)) = Identity::read(text).and_then(|identity| identity.is_another()) {
                    return Err(bad(line, why));
                }
                let (line, message) = explain(&error);
                return Err(bad(line, if text.trim().is_empty() { EMPTY.to_owned() } else { message }));
            }
        };
        document.keep_words_of_runs(text);
        let Self { api_version, kind, .. } = &document;
        match (Identity { api_version: api_version.clone(), kind: kind.clone() }).is_another() {
            Some((line, why)) => Err(bad(line, why)),
            None => Ok(document),
        }
    }

    /// Keeps the text of runs as well.
    fn keep_words_of_runs(&mut self, text: &str) {
        let waves = &mut self.spec.value.waves;
        if waves.iter().all(|wave| wave.value.run.is_none()) {
            return;
        }
        let words = serde_saphyr::from_str::<Value>(text).unwrap_or_default();
        for (at, wave) in waves.iter_mut().enumerate() {
            if let Some(run) = &mut wave.value.run {
                run.words = words.pointer(&format!("/spec/waves/{at}/run")).cloned().unwrap_or_default();
            }
        }
    }
}

/// The identity of a document. Other problems are reported for StagedRollouts only.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    api_version: Spanned<String>,
    kind: Spanned<String>,
}

impl Identity {
    fn read(text: &str) -> Option<Self> {
        serde_saphyr::from_multiple::<Self>(text).ok()?.into_iter().next()
    }

    /// The line and message of a wrong identity.
    fn is_another(&self) -> Option<(u64, String)> {
        let wanted = [("kind", &self.kind, ROLLOUT), ("apiVersion", &self.api_version, definition::API_VERSION)];
        let another = wanted.into_iter().find(|(_, found, wanted)| found.value != *wanted);
        another
            .map(|(what, found, wanted)| (line(found), format!("{what} is {:?}, and must be {wanted:?}", found.value)))
    }
}

/// `true` or `false`, but no string: an API server rejects strings here.
fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Bool(on) => Ok(Some(on)),
        Value::Null => Ok(None),
        _ => Err(D::Error::custom("expected true or false")),
    }
}

const EMPTY: &str = "is empty: begin with `apiVersion: pointsman.dev/v1` and `kind: StagedRollout`";
