//! The `healthy` block of a definition, as it is written and as it is checked.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::health::Health;
use crate::apimachinery::parse_duration;
use crate::definition::gates::{Gate, GateCompiler, GateSpec};
use crate::definition::move_effects::ROLLOUT_MANAGER;
use crate::definition::problems::{Problems, line};
use crate::definition::schema::Schema;

/// What a healthy object looks like: what has to hold after a rollout has moved it before the next one goes. At least
/// one of `all`, `any` and `none`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Healthy")]
pub(crate) struct HealthySpec {
    /// Every one of these holds.
    #[serde(default)]
    all: Vec<GateSpec>,
    /// At least one of these holds.
    #[serde(default)]
    any: Vec<GateSpec>,
    /// None of these holds.
    #[serde(default)]
    none: Vec<GateSpec>,
    /// How long it has to hold without a break, such as `60s`, which is the default. Below that only where `seen` tells
    /// that the new controller has looked.
    settle: Option<String>,
    /// By what it is seen that the new controller has looked at an object after it was moved.
    seen: Option<SeenSpec>,
}

/// By what it is seen that a controller has looked at an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Seen")]
pub(super) struct SeenSpec {
    /// The field manager of the controller, as `metadata.managedFields` names it: it has to write to the object after
    /// the move. Of a version that `admission.managers` names it is that one.
    manager: String,
}

impl HealthySpec {
    pub(in crate::definition) fn compile(
        spec: &Spanned<Self>,
        schema: &Schema,
        problems: &mut Problems,
    ) -> Option<Health> {
        let (at_line, spec) = (line(spec), &spec.value);
        let mut compiler = GateCompiler::new(schema);
        let gate = spec.gate(&mut compiler);
        let mut bad = compiler.into_bad();
        if spec.all.is_empty() && spec.any.is_empty() && spec.none.is_empty() {
            bad.push("says nothing: give it gates under `all`, `any` or `none`".to_owned());
        }
        let settle = spec.settle().unwrap_or_else(|why| {
            bad.push(why);
            SETTLE
        });
        if spec.seen.as_ref().is_some_and(|seen| seen.manager.is_empty()) {
            bad.push("seen.manager: a field manager has a name".to_owned());
        }
        if spec.seen.as_ref().is_some_and(|seen| seen.manager == ROLLOUT_MANAGER) {
            bad.push(format!("seen.manager: {ROLLOUT_MANAGER} writes the move itself: name the controller"));
        }
        let is_good = bad.is_empty();
        for message in bad {
            problems.add(at_line, format!("healthy: {message}"));
        }
        let seen = spec.seen.as_ref().map(|seen| seen.manager.clone());
        is_good.then_some(Health { gate, settle, seen })
    }

    fn gate(&self, compiler: &mut GateCompiler<'_>) -> Gate {
        let mut gates = compiler.gates(&self.all);
        if !self.any.is_empty() {
            gates.push(Gate::Any(compiler.gates(&self.any)));
        }
        if !self.none.is_empty() {
            gates.push(Gate::None(compiler.gates(&self.none)));
        }
        Gate::All(gates)
    }

    fn settle(&self) -> Result<Duration, String> {
        let Some(text) = &self.settle else { return Ok(SETTLE) };
        let settle = parse_duration(text)
            .map_err(|_| format!("settle: {text:?} is not a duration: use forms such as 60s, 5m"))?;
        if settle < SETTLE && self.seen.is_none() {
            return Err(format!(
                "settle: {text} is too short to tell the health of the old controller from that of the new one: give it at \
                 least {}s, or say under `seen` by what the new controller is known",
                SETTLE.as_secs()
            ));
        }
        Ok(settle)
    }
}

/// A controller that has just lost an object still says how it was; most say something new within a minute.
const SETTLE: Duration = Duration::from_secs(60);
