//! What a rollout waits for between its waves, in words, for whoever reads its plan.

use std::time::Duration;

use super::fleet_rollout::Rollout;
use super::object_state::shown;
use super::wave_gate::{WaveGate, WaveSide};

/// What a rollout waits for beside a wave, as it is told before it begins.
#[derive(Clone, Copy, Debug)]
pub struct GateDescription<'r> {
    /// The name of the wave.
    pub wave: &'r str,
    /// On which side of it.
    pub side: WaveSide,
    /// Whether somebody has to approve.
    pub approval: bool,
    /// Whether the checks of the beginning have to hold again.
    pub checks: bool,
    /// How much time goes by.
    pub wait: Option<Duration>,
}

impl GateDescription<'_> {
    /// Where, and what is waited for, in words: `after canary: 30m go by, somebody approves`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}: {}", self.side.of(self.wave), self.waits())
    }

    /// What is waited for, in words.
    #[must_use]
    pub fn waits(&self) -> String {
        let wait = self.wait.map(|wait| format!("{} go by", shown(wait)));
        let checks = self.checks.then(|| "its start checks hold again".to_owned());
        let approval = self.approval.then(|| "somebody approves".to_owned());
        [wait, checks, approval].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// How much time goes by, as a StagedRollout has it: `30m`.
    #[must_use]
    pub fn time(&self) -> Option<String> {
        self.wait.map(shown)
    }
}

/// What a rollout waits for beside its waves, in the order in which it comes to that.
#[must_use]
pub fn told_gates(rollout: &Rollout) -> Vec<GateDescription<'_>> {
    let sides = rollout.waves.iter().flat_map(|wave| WaveSide::BOTH.map(|side| (wave, side, wave.gate(side))));
    let waited = sides.filter(|(.., gate)| !gate.is_open());
    let told = waited.map(|(wave, side, gate)| {
        let WaveGate { approval, checks, wait } = *gate;
        GateDescription { wave: &wave.name, side, approval, checks, wait }
    });
    told.collect()
}
