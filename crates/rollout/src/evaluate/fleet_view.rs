//! A fleet with the state of each object.

use super::object_state::ObjectState;
use crate::observe::fleet_object::FleetObject;
use crate::observe::status::{BlockedObject, ROLLED_BACK, RolloutCounts, RolloutPhase, RolloutStatus, WaveCounts};
use crate::spec::rollout::{Direction, Rollout};

/// A fleet with evaluated states.
pub(crate) struct FleetView<'f, 'a> {
    pub(crate) rollout: &'a Rollout,
    pub(crate) status: &'a RolloutStatus,
    pub(crate) fleet: &'f [FleetObject],
    /// In fleet order.
    pub(crate) object_states: &'a [ObjectState],
}

impl<'f, 'a> FleetView<'f, 'a> {
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'f FleetObject, &'a ObjectState)> {
        self.fleet.iter().zip(self.object_states)
    }

    /// The current wave of the rollout.
    pub(crate) fn wave_at(&self) -> usize {
        self.status.wave_of(self.rollout)
    }

    /// The objects of a wave while the rollout is at `at`. Objects that appear after their own wave belong to the last
    /// one.
    pub(crate) fn in_wave(&self, wave: usize, at: usize) -> impl Iterator<Item = (&'f FleetObject, &'a ObjectState)> {
        let last = self.rollout.waves.len().saturating_sub(1);
        self.all().filter(move |(object, object_state)| {
            let is_open = matches!(object_state, ObjectState::Old | ObjectState::Waiting(_) | ObjectState::Refused(_));
            let own = self.wave_of(object);
            let of = if is_open && own < at { last } else { own };
            of == wave && !matches!(object_state, ObjectState::Deleted | ObjectState::Outside)
        })
    }

    /// The current wave of an object.
    pub(crate) fn wave_of(&self, object: &FleetObject) -> usize {
        if object.object_progress.is_none() {
            return object.wave;
        }
        let reserved = self.status.in_flight_object(&object.uid);
        let named = reserved.and_then(|one| self.rollout.waves.iter().position(|wave| wave.name == one.wave));
        named.unwrap_or_else(|| object.wave(self.status.direction == Direction::Undo))
    }

    /// Unhealthy objects that are not in flight, with reasons.
    pub(crate) fn unhealthy(&self) -> Vec<String> {
        let back = self.status.direction == Direction::Undo;
        let of = |(object, object_state): (&FleetObject, &ObjectState)| {
            let counts = match object_state {
                // During an undo, moved objects are its cause.
                ObjectState::New => !back,
                // The final message lists it; the undo skips it and does not wait for it.
                ObjectState::Old | ObjectState::Failed(_) if back && self.status.is_left(&object.uid) => false,
                // It may have been moved.
                ObjectState::Refused(_) | ObjectState::Waiting(_) if back && self.is_new(object) => false,
                ObjectState::Old | ObjectState::Held(_) | ObjectState::Waiting(_) | ObjectState::Refused(_) => true,
                // It was rolled back.
                ObjectState::Failed(why) if self.status.in_flight_object(&object.uid).is_none() => {
                    return Some(format!("{} ({why})", object.title()));
                }
                _ => false,
            };
            let why = object.unhealthy.as_ref().filter(|_| counts)?;
            Some(format!("{} ({why})", object.title()))
        };
        self.all().filter_map(of).collect()
    }

    /// True if its label has the target version.
    fn is_new(&self, object: &FleetObject) -> bool {
        object.object_progress.is_none() && object.is_at(&self.rollout.to)
    }

    pub(crate) fn counts(&self) -> RolloutCounts {
        let mut counts = RolloutCounts {
            unhealthy: self.unhealthy().len(),
            updated: self.status.converted_counts.values().sum(),
            ..RolloutCounts::default()
        };
        for (object, object_state) in self.all().filter(|(object, _)| !object.is_run()) {
            if self.is_converted(object) {
                // Counts as converted, unless it cannot be recreated.
                let stays = matches!(object_state, ObjectState::Waiting(_) | ObjectState::Refused(_));
                counts.updated = counts.updated.saturating_sub(usize::from(stays));
                counts.refused += usize::from(stays);
                continue;
            }
            match object_state {
                ObjectState::Old => counts.pending += 1,
                ObjectState::Reserved | ObjectState::Moving(_) | ObjectState::Settling => counts.in_flight += 1,
                ObjectState::New => counts.updated += 1,
                ObjectState::Failed(_) => counts.failed += 1,
                ObjectState::Held(_) => counts.held += 1,
                ObjectState::Waiting(_) | ObjectState::Refused(_) => counts.refused += 1,
                ObjectState::Outside => counts.outside += 1,
                ObjectState::Deleted => {}
            }
        }
        counts
    }

    /// True if an object is deleted and is not being recreated.
    fn is_converted(&self, object: &FleetObject) -> bool {
        object.replacement_uid.is_some() && self.status.in_flight_object(&object.uid).is_none()
    }

    /// The first objects that cannot be moved: a status must stay small.
    pub(crate) fn blocked(&self) -> Vec<BlockedObject> {
        let is_one = |object_state: &ObjectState| {
            matches!(object_state, ObjectState::Held(_) | ObjectState::Waiting(_) | ObjectState::Refused(_))
        };
        let unmoved =
            self.all().filter(|(_, object_state)| is_one(object_state)).map(|(object, object_state)| BlockedObject {
                object: object.title(),
                state: object_state.word().to_owned(),
                message: object_state.why().to_owned(),
            });
        unmoved.take(UNMOVED).collect()
    }

    pub(crate) fn waves(&self) -> Vec<WaveCounts> {
        let at = self.wave_at();
        let counts = |(index, wave): (usize, &crate::spec::waves::Wave)| {
            if wave.workflow.is_some() {
                let object_progress = self.all().filter(|(_, object_state)| **object_state != ObjectState::Deleted);
                let object_progress = object_progress.filter(|(object, _)| !self.is_converted(object));
                let object_progress =
                    object_progress.filter_map(|(object, _)| object.object_progress.as_ref()?.of_wave(index));
                let (done, rest): (Vec<_>, Vec<_>) = object_progress
                    .filter(|wave_progress| wave_progress.counts())
                    .partition(|wave_progress| wave_progress.is_done());
                let done = done.len() + self.status.conversion_of(&wave.name);
                return WaveCounts { name: wave.name.clone(), done, total: done + rest.len() };
            }
            let count = |(done, total), (_, object_state): (_, &ObjectState)| {
                (done + usize::from(*object_state == ObjectState::New), total + 1)
            };
            let (done, total) = self.in_wave(index, at).fold((0, 0), count);
            WaveCounts { name: wave.name.clone(), done, total }
        };
        self.rollout.waves.iter().enumerate().map(counts).collect()
    }
}

const UNMOVED: usize = 50;

/// The state word of a rollout that has begun and is at a wave. The second word, if given, must be written before the
/// rollout continues.
pub(crate) fn state(
    rollout: &Rollout,
    status: &RolloutStatus,
    at: usize,
    pending_state: Option<&str>,
) -> Option<String> {
    if let Some(pending_state) = pending_state {
        return Some(pending_state.to_owned());
    }
    let wave = rollout.waves.get(at)?;
    let word = match (status.phase, status.direction) {
        (RolloutPhase::Complete, _) => &rollout.waves.last()?.states.done,
        (RolloutPhase::Aborted, _) if status.reason.as_deref() == Some(ROLLED_BACK) => {
            return Some("undone".to_owned());
        }
        (RolloutPhase::Aborted, _) => return Some("aborted".to_owned()),
        (RolloutPhase::Failed, _) => &wave.states.failed,
        _ if status.halted.is_some() => &wave.states.failed,
        (_, Direction::Undo) => return Some("undoing".to_owned()),
        (_, Direction::Abort) => return Some("stopping".to_owned()),
        _ if status.wave.is_none() => return Some(rollout.started.clone()),
        _ if status.before => match at.checked_sub(1).and_then(|before| rollout.waves.get(before)) {
            Some(before) => &before.states.done,
            None => return Some(rollout.started.clone()),
        },
        _ if status.wave_done.is_some() => &wave.states.done,
        _ => &wave.states.running,
    };
    Some(word.clone())
}
