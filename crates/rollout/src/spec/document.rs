//! The document of a StagedRollout. The CRD documents the meaning of each member for users.

use crate::definition::workflows::WorkflowJobSpec;
use pointsman_core::definition::Problem;
use pointsman_core::definition::yaml::{Node, Spanned, parse_only};
use pointsman_core::{definition, did_you_mean};
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The `kind` of a StagedRollout.
pub const ROLLOUT: &str = "StagedRollout";

/// The CRD of StagedRollouts, and the policy that protects active ones, as YAML.
pub const ROLLOUT_CRD: &str = include_str!("staged_rollouts.crd.yaml");

/// A StagedRollout, from a file or the API server.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RolloutDocument {
    #[expect(dead_code, reason = "read as the identity")]
    api_version: IgnoredAny,
    #[expect(dead_code, reason = "read as the identity")]
    kind: IgnoredAny,
    pub(crate) metadata: RolloutMetadata,
    pub(crate) spec: Spanned<RolloutSpec>,
    /// Parsed elsewhere: see [`crate::RolloutStatus`].
    #[serde(default)]
    #[expect(dead_code, reason = "it may be there, and is read elsewhere")]
    status: Value,
}

/// The used metadata members.
#[derive(Debug, Deserialize)]
pub(crate) struct RolloutMetadata {
    pub(crate) name: Spanned<String>,
    pub(crate) uid: Option<String>,
    pub(crate) generation: Option<i64>,
}

/// The objects to move, the versions, and the pace.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RolloutSpec {
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) workflow: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) to: String,
    #[serde(default)]
    pub(crate) selector: SelectorSpec,
    pub(crate) order: Option<OrderSpec>,
    pub(crate) waves: Vec<Spanned<WaveSpec>>,
    #[serde(default)]
    pub(crate) windows: Vec<Spanned<WindowSpec>>,
    #[serde(default)]
    pub(crate) freeze: Vec<Spanned<FreezeSpec>>,
    #[serde(default)]
    pub(crate) prioritized_objects: Vec<String>,
    pub(crate) max_unhealthy: Option<u64>,
    pub(crate) timeout: Option<String>,
    pub(crate) on_failure: Option<String>,
    #[serde(default)]
    pub(crate) accepted_risks: Vec<String>,
    #[serde(default, deserialize_with = "switch")]
    pub(crate) take_over: Option<bool>,
    #[serde(default, deserialize_with = "switch")]
    pub(crate) hold: Option<bool>,
    #[serde(default)]
    pub(crate) states: StatesSpec,
    #[serde(default, deserialize_with = "switch")]
    pub(crate) paused: Option<bool>,
    pub(crate) direction: Option<String>,
}

/// The selected objects of the kind.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SelectorSpec {
    #[serde(default)]
    pub(crate) namespaces: Vec<String>,
    pub(crate) labels: Option<String>,
}

/// The order of objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OrderSpec {
    pub(crate) by: String,
    #[serde(default)]
    pub(crate) values: Vec<String>,
}

/// A part of the fleet that is moved before later waves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WaveSpec {
    pub(crate) name: String,
    pub(crate) selector: Option<SelectorSpec>,
    pub(crate) max_in_flight: Option<Value>,
    pub(crate) soak: Option<String>,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
    pub(crate) workflow: Option<String>,
    pub(crate) run: Option<RunSpec>,
    #[serde(default)]
    pub(crate) states: StatesSpec,
}

/// The run of a wave without objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunSpec {
    pub(crate) job: Option<WorkflowJobSpec>,
    pub(crate) irreversible: Option<String>,
    /// The run as written, for comparison.
    #[serde(skip)]
    pub(crate) words: Value,
}

/// State words of the user.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StatesSpec {
    pub(crate) started: Option<String>,
    pub(crate) running: Option<String>,
    pub(crate) done: Option<String>,
    pub(crate) failed: Option<String>,
}

/// A time window for moves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WindowSpec {
    #[serde(default)]
    pub(crate) days: Vec<String>,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) zone: Option<String>,
}

/// Resources that other clients cannot write during the rollout.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FreezeSpec {
    pub(crate) resources: Vec<String>,
    pub(crate) operations: Option<Vec<String>>,
    pub(crate) namespaces: Option<Vec<String>>,
    pub(crate) labels: Option<String>,
    pub(crate) part: Option<String>,
    pub(crate) at_least: Option<String>,
    pub(crate) at_most: Option<String>,
}

impl StatesSpec {
    /// True if any word is defined.
    pub(crate) fn is_defined(&self) -> bool {
        [&self.started, &self.running, &self.done, &self.failed].into_iter().any(Option::is_some)
    }
}

impl RolloutDocument {
    /// Parses a StagedRollout. `file` is the name for messages.
    pub(crate) fn read(file: &str, text: &str) -> Result<Self, BadRollout> {
        let bad = |line: u64, message: String| BadRollout { problems: vec![Problem::new(file, line, message)] };
        let parsed = parse_only(text, ROLLOUT).map_err(|error| bad(error.line, error.message))?;
        let node = parsed.ok_or_else(|| bad(0, EMPTY.to_owned()))?;
        let another = node.read::<Identity>().ok().and_then(|identity| identity.is_another());
        if let Some((line, why)) = another {
            return Err(bad(line, why));
        }
        let mut document: Self = node.read().map_err(|error| bad(error.line, error.message))?;
        document.keep_words_of_runs(&node);
        Ok(document)
    }

    /// Keeps the text of runs as well.
    fn keep_words_of_runs(&mut self, node: &Node) {
        let waves = &mut self.spec.value.waves;
        if waves.iter().all(|wave| wave.value.run.is_none()) {
            return;
        }
        let words: Value = node.read().unwrap_or_default();
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
    /// The line and message of a wrong identity.
    fn is_another(&self) -> Option<(u64, String)> {
        let wanted = [("kind", &self.kind, ROLLOUT), ("apiVersion", &self.api_version, definition::API_VERSION)];
        let another = wanted.into_iter().find(|(_, found, wanted)| found.value != *wanted);
        another
            .map(|(what, found, wanted)| (found.line, format!("{what} is {:?}, and must be {wanted:?}", found.value)))
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

/// A StagedRollout that is invalid.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
#[non_exhaustive]
pub struct BadRollout {
    /// All problems, in line order.
    pub problems: Vec<Problem>,
}

/// The end of a sentence: `, did you mean "x"?` if a known word is similar, otherwise a full stop.
pub(crate) fn near(word: &str, known: &[&str]) -> String {
    let meant = did_you_mean(word, known.iter().copied());
    if meant.is_empty() { ".".to_owned() } else { meant }
}
