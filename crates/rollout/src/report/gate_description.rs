//! Descriptions of wave gates, for the printed plan.

use std::time::Duration;

use crate::evaluate::object_state::shown;
use crate::spec::rollout::Rollout;
use crate::spec::wave_gate::{WaveGate, WaveSide};

/// A gate of a wave.
#[derive(Clone, Copy, Debug)]
pub struct GateDescription<'r> {
    /// The name of the wave.
    pub wave: &'r str,
    /// The side of the wave.
    pub side: WaveSide,
    /// True if an operator must approve.
    pub approval: bool,
    /// True if the start checks must pass again.
    pub checks: bool,
    /// The waiting time.
    pub wait: Option<Duration>,
}

impl GateDescription<'_> {
    /// Place and conditions as text, which begins with `after canary: `.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}: {}", self.side.of(self.wave), self.waits())
    }

    /// The conditions as text.
    #[must_use]
    pub fn waits(&self) -> String {
        let wait = self.wait.map(|wait| format!("{} go by", shown(wait)));
        let checks = self.checks.then(|| "the start checks pass again".to_owned());
        let approval = self.approval.then(|| "an approval".to_owned());
        [wait, checks, approval].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The waiting time, in the form of a StagedRollout: `30m`.
    #[must_use]
    pub fn time(&self) -> Option<String> {
        self.wait.map(shown)
    }
}

/// The gates of a rollout, in chronological order.
#[must_use]
pub fn gate_descriptions(rollout: &Rollout) -> Vec<GateDescription<'_>> {
    let sides = rollout.waves.iter().flat_map(|wave| WaveSide::BOTH.map(|side| (wave, side, wave.gate(side))));
    let waited = sides.filter(|(.., gate)| !gate.is_open());
    let gates = waited.map(|(wave, side, gate)| {
        let WaveGate { approval, checks, wait } = *gate;
        GateDescription { wave: &wave.name, side, approval, checks, wait }
    });
    gates.collect()
}
