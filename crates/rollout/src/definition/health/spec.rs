//! The health block of a definition, as written and as compiled.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::health_gates::Health;
use pointsman_core::apimachinery::parse_duration;
use pointsman_core::definition::yaml::Spanned;
use pointsman_core::definition::{Gate, GateCompiler, GateSpec, Problems, ROLLOUT_MANAGER, Schema};

/// The conditions of a healthy object. After a move, they must hold before the next object moves. Required: `all`,
/// `any` or `none`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Health")]
pub(crate) struct HealthSpec {
    /// All of these hold.
    #[serde(default)]
    all: Vec<GateSpec>,
    /// At least one of these holds.
    #[serde(default)]
    any: Vec<GateSpec>,
    /// None of these holds.
    #[serde(default)]
    none: Vec<GateSpec>,
    /// How long the conditions must hold without interruption, such as `60s`, the default. Shorter times require
    /// `seen`.
    settle: Option<String>,
    /// How to detect that the new controller has observed an object after the move.
    seen: Option<SeenSpec>,
}

/// How to detect that a controller has observed an object.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Seen")]
pub(super) struct SeenSpec {
    /// The field manager of the controller in `metadata.managedFields`, which must write to the object after the move.
    /// `admission.managers` has precedence.
    manager: String,
}

impl HealthSpec {
    pub(in crate::definition) fn compile(
        spec: &Spanned<Self>,
        schema: &Schema,
        problems: &mut Problems,
    ) -> Option<Health> {
        let (at_line, spec) = (spec.line, &spec.value);
        let mut compiler = GateCompiler::new(schema);
        let gate = spec.gate(&mut compiler);
        let mut bad = compiler.into_bad();
        if spec.all.is_empty() && spec.any.is_empty() && spec.none.is_empty() {
            bad.push("is empty: add gates under `all`, `any` or `none`".to_owned());
        }
        let settle = spec.settle().unwrap_or_else(|why| {
            bad.push(why);
            SETTLE
        });
        if spec.seen.as_ref().is_some_and(|seen| seen.manager.is_empty()) {
            bad.push("seen.manager: the name is empty".to_owned());
        }
        if spec.seen.as_ref().is_some_and(|seen| seen.manager == ROLLOUT_MANAGER) {
            bad.push(format!("seen.manager: {ROLLOUT_MANAGER} writes the move itself: name the controller"));
        }
        let is_good = bad.is_empty();
        for message in bad {
            problems.add(at_line, format!("health: {message}"));
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
                "settle: {text} is too short to distinguish the status of the old and the new controller: use \
                     at least {}s, or identify the new controller with `seen`",
                SETTLE.as_secs()
            ));
        }
        Ok(settle)
    }
}

/// After the move, the old status of an object may still be present. Most controllers update it within a minute.
const SETTLE: Duration = Duration::from_secs(60);
