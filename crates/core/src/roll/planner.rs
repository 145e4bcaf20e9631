//! Works out a plan, step by step.

use super::facts::RollFacts;
use super::fleet_object::FleetObject;
use super::fleet_roll::{Direction, FleetRoll, NO_WAY_BACK, OnFailure};
use super::fleet_view::FleetView;
use super::moment::{Moment, rfc3339, wall};
use super::patch::FleetMove;
use super::standing::{Judge, Standing};
use super::status::{HELD, Halt, Reservation, RollEnd, RollFailure, RollPhase, RollStatus};
use super::telling::{InTheWay, some};
use super::wave::Wave;

/// A plan that is being made.
pub(super) struct Planner<'a> {
    roll: &'a FleetRoll,
    fleet: &'a [FleetObject],
    now: Moment,
    pub(super) status: RollStatus,
    pub(super) facts: RollFacts,
    pub(super) wants_list: bool,
    pub(super) in_the_way: InTheWay,
    /// Nothing is decided: it was over before, or too little is seen.
    pub(super) rests: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        roll: &'a FleetRoll,
        status: RollStatus,
        fleet: &'a [FleetObject],
        facts: RollFacts,
        now: Moment,
    ) -> Self {
        let in_the_way = InTheWay { trouble: facts.trouble.clone(), waits: None };
        Self { roll, fleet, now, status, facts, wants_list: false, in_the_way, rests: false }
    }

    /// Everything but words and counts.
    pub(super) fn decide(&mut self) {
        if !self.begins() {
            return;
        }
        if self.turns() && !self.facts.consistent {
            // What a cache does not know yet would be taken for what was never moved.
            (self.rests, self.wants_list) = (true, true);
            return;
        }
        self.turn();
        if self.status.is_over() {
            self.rests = true;
            return;
        }
        self.remember();
        self.release();
        self.note_turned_back();
        self.note_failures();
        if self.turns() && !self.facts.consistent {
            (self.rests, self.wants_list) = (true, true);
            return;
        }
        self.turn();
        self.look_for_unhealthy();
        if self.is_stopped() {
            return;
        }
        match self.status.direction {
            Direction::Forward => self.advance(),
            Direction::Back => self.go_back(),
            Direction::Stop => self.stop(),
        }
    }

    fn judge(&self) -> Judge<'_> {
        let back = self.status.direction == Direction::Back;
        Judge { roll: self.roll, status: &self.status, facts: &self.facts, now: self.now, back }
    }

    /// How the fleet stands.
    pub(super) fn view(&self) -> FleetView<'a, '_> {
        let judge = self.judge();
        let standings = self.fleet.iter().map(|object| judge.standing(object)).collect();
        FleetView { roll: self.roll, status: &self.status, fleet: self.fleet, standings }
    }

    fn object(&self, uid: &str) -> Option<&'a FleetObject> {
        self.fleet.iter().find(|object| object.uid == uid)
    }

    fn now(&self) -> String {
        rfc3339(self.now.wall)
    }

    /// Whether nothing is moved now, whatever there is to do.
    fn is_stopped(&self) -> bool {
        self.roll.paused || self.status.halted.is_some()
    }

    /// Whether the roll has begun, or does now.
    fn begins(&mut self) -> bool {
        if self.status.started.is_some() {
            return true;
        }
        let refused = self.roll.way_back().err().or_else(|| {
            let (name, objects) = self.facts.others.first()?;
            Some(format!("roll {name} is under way over {} of the same objects: {}", objects.len(), some(objects)))
        });
        let (phase, message) = match (refused, self.roll.run, self.roll.direction) {
            (Some(why), _, _) => (RollPhase::Refused, why),
            (None, _, Direction::Stop | Direction::Back) => (RollPhase::Aborted, "nothing was moved".to_owned()),
            (None, false, _) => (RollPhase::Pending, "planned only: it begins with run: true".to_owned()),
            (None, true, Direction::Forward) => {
                self.status.started = Some(self.now());
                self.status.phase = RollPhase::Rolling;
                return true;
            }
        };
        (self.status.phase, self.status.message, self.status.reason) = (phase, message, None);
        false
    }

    /// Where the fleet is to go.
    fn wanted(&self) -> Direction {
        match self.roll.direction {
            Direction::Forward if self.status.back_all => Direction::Back,
            direction => direction,
        }
    }

    fn turns(&self) -> bool {
        self.wanted() != self.status.direction
    }

    /// Goes where the Roll says, from now on.
    fn turn(&mut self) {
        let wanted = self.wanted();
        if !self.turns() {
            return;
        }
        let judge = self.judge();
        let landed: Vec<bool> = self
            .status
            .reserved
            .iter()
            .map(|reservation| {
                self.object(&reservation.uid).is_some_and(|object| judge.has_landed(object, reservation))
            })
            .collect();
        let mut reserved = Vec::new();
        for (mut reservation, landed) in std::mem::take(&mut self.status.reserved).into_iter().zip(landed) {
            let turns = match wanted {
                Direction::Back => !reservation.back && landed,
                Direction::Forward | Direction::Stop => reservation.back && !landed,
            };
            if turns {
                reservation.back = !reservation.back;
                reservation.since = self.now();
                self.facts.remembered.healthy.remove(&reservation.uid);
            }
            // What was never written needs nobody to wait for it.
            if turns || landed || (reservation.back && wanted == Direction::Back) {
                reserved.push(reservation);
            }
        }
        self.status.reserved = reserved;
        self.status.direction = wanted;
        self.status.halted = None;
        self.status.failures.iter_mut().for_each(|failure| failure.cleared = true);
        (self.status.wave, self.status.wave_done) = (None, None);
        if self.status.is_over() {
            self.status.started = Some(self.now());
        }
        self.status.phase = RollPhase::Rolling;
    }

    /// Since when objects that are under way have been healthy. What was healthy before its move begins anew.
    fn remember(&mut self) {
        let judge = self.judge();
        let healthy = |reservation: &&Reservation| {
            let object = self.object(&reservation.uid);
            object.is_some_and(|object| judge.has_landed(object, reservation) && judge.shut(object).is_none())
        };
        let healthy: Vec<String> =
            self.status.reserved.iter().filter(healthy).map(|reservation| reservation.uid.clone()).collect();
        let remembered = &mut self.facts.remembered.healthy;
        remembered.retain(|uid, _| healthy.contains(uid));
        for uid in healthy {
            remembered.entry(uid).or_insert(self.now.steady);
        }
    }

    /// Lets go of objects that are through, by what is seen of them.
    fn release(&mut self) {
        let mut refused_back = None;
        let mut reserved = Vec::new();
        for mut reservation in std::mem::take(&mut self.status.reserved) {
            let Some(object) = self.object(&reservation.uid) else {
                // One that a cache does not know yet may be there all the same.
                if !self.facts.consistent {
                    reserved.push(reservation);
                }
                continue;
            };
            let judge = self.judge();
            let is_gone = object.is_going || judge.was_turned_back(object, &reservation);
            if !judge.has_landed(object, &reservation) {
                let refused = self.facts.remembered.answer(&object.uid).map(|answer| answer.message.clone());
                let fails = reservation.back && self.status.failure(&object.uid).is_some();
                if let Some(why) = refused.as_ref().filter(|_| fails) {
                    refused_back = Some(format!("{} failed and cannot be taken back: {why}", object.title()));
                    reservation.back = false;
                }
                if !is_gone && (fails || refused.is_none()) {
                    reserved.push(reservation);
                }
                continue;
            }
            let through = matches!(judge.under_way(object, &reservation), Standing::New | Standing::Old);
            if !is_gone && !through {
                reserved.push(reservation);
            }
        }
        self.status.reserved = reserved;
        if let Some(why) = refused_back {
            self.halt("NotTakenBack", why);
        }
    }

    fn halt(&mut self, reason: &str, message: String) {
        if self.status.halted.is_none() {
            self.status.halted = Some(Halt { reason: reason.to_owned(), message });
        }
    }

    fn failure(&self, object: &FleetObject, reason: &str, message: String) -> RollFailure {
        RollFailure {
            object: object.title(),
            uid: object.uid.clone(),
            reason: reason.to_owned(),
            message,
            at: self.now(),
            back: false,
            cleared: false,
        }
    }

    /// Somebody else turned a label back that was moved: nobody knows what they want, so that nothing more is moved.
    fn note_turned_back(&mut self) {
        if self.status.direction != Direction::Forward {
            return;
        }
        let known =
            |object: &FleetObject| self.status.failures.iter().any(|one| one.uid == object.uid && one.reason == HELD);
        let turned: Vec<&FleetObject> = self
            .fleet
            .iter()
            .filter(|object| {
                let is_ours = object.mark_of(self.roll).is_some() && !object.is_going;
                is_ours
                    && !object.is_at(&self.roll.to)
                    && self.status.reservation(&object.uid).is_none_or(|one| !one.back)
                    && !known(object)
            })
            .collect();
        for object in turned {
            let by = object.owner.as_deref().unwrap_or("somebody");
            let now = object.version.as_deref().unwrap_or("no version");
            let message =
                format!("{}: {by} turned it back to {now} after it was moved to {}", object.title(), self.roll.to);
            self.status.failures.push(self.failure(object, HELD, message.clone()));
            self.halt(HELD, message);
        }
    }

    /// Objects that are not healthy in time, and what the Roll says of that.
    fn note_failures(&mut self) {
        let judge = self.judge();
        let mut failed = Vec::new();
        for reservation in &self.status.reserved {
            let Some(object) = self.object(&reservation.uid) else { continue };
            if let Standing::Failed(why) = judge.standing(object)
                && self
                    .status
                    .failure(&object.uid)
                    .is_none_or(|known| known.back && judge.has_landed(object, reservation))
            {
                failed.push((object, reservation.back, why));
            }
        }
        let Some((first, _, why)) = failed.first() else { return };
        let to = |back: bool| if back { "taken back" } else { self.roll.to.as_str() };
        let more = failed.len() - 1;
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let message = format!("{}: label {} to {}: {why}{more}", first.title(), self.roll.label, to(false));
        let back = self.status.direction == Direction::Back || failed.iter().any(|(_, back, _)| *back);
        for (object, _, why) in &failed {
            let why = format!("label {} to {}: {why}", self.roll.label, self.roll.to);
            let failure = self.failure(object, "TimedOut", why);
            self.status.failures.retain(|known| known.uid != object.uid);
            self.status.failures.push(failure);
        }
        let can_go_back = failed.iter().all(|(object, _, _)| object.mark_of(self.roll).is_some());
        let many = self.status.failures.len() >= FAILURES;
        match self.roll.on_failure {
            _ if back || many || self.status.direction == Direction::Stop || !can_go_back => {
                self.halt("TimedOut", message);
            }
            OnFailure::Pause => self.halt("TimedOut", message),
            OnFailure::BackAll => self.status.back_all = true,
            OnFailure::Back => {
                let uids: Vec<String> = failed.iter().map(|(object, _, _)| object.uid.clone()).collect();
                let now = self.now();
                for failure in self.status.failures.iter_mut().filter(|failure| uids.contains(&failure.uid)) {
                    failure.back = true;
                }
                for reservation in self.status.reserved.iter_mut().filter(|one| uids.contains(&one.uid)) {
                    (reservation.back, reservation.since) = (true, now.clone());
                }
            }
        }
    }

    /// Objects that are not healthy and not under way: moved or not, something else is wrong with the fleet. While it
    /// goes back, those that were moved are why.
    fn look_for_unhealthy(&mut self) {
        if self.status.direction == Direction::Stop || self.status.halted.is_some() {
            return;
        }
        let unhealthy = self.view().unhealthy();
        let most = self.roll.unhealthy_max;
        if unhealthy.len() > most {
            let message = format!(
                "{} objects are not healthy, and more than {most} must not be: {}",
                unhealthy.len(),
                some(&unhealthy)
            );
            self.halt("Unhealthy", message);
        }
    }

    /// From wave to wave, as far as they are through; then the next objects of the wave.
    fn advance(&mut self) {
        let mut at = self.view().wave_at();
        while let Some(wave) = self.roll.waves.get(at) {
            self.status.wave = Some(wave.name.clone());
            if !self.is_through(at) {
                self.status.wave_done = None;
                self.reserve_forward(wave, at);
                return;
            }
            // A cache may not know yet of an object that is to be moved.
            if self.facts.consistent {
                self.status.wave_done.get_or_insert_with(|| rfc3339(self.now.wall));
            }
            self.in_the_way.waits = self.waits_for(wave);
            if self.in_the_way.waits.is_some() {
                return;
            }
            if !self.facts.consistent {
                (self.rests, self.wants_list) = (true, true);
                return;
            }
            self.status.wave_done = None;
            at += 1;
        }
        let has_failed = self.view().standings.iter().any(|standing| matches!(standing, Standing::Failed(_)));
        self.end(if has_failed { RollPhase::Failed } else { RollPhase::Complete }, None);
    }

    /// What a wave waits for that was through when the whole fleet was listed.
    fn waits_for(&self, wave: &Wave) -> Option<String> {
        let done = wall(self.status.wave_done.as_ref()?).unwrap_or(self.now.wall);
        let until = wave.soak.map(|soak| done + soak.as_secs()).filter(|until| self.now.wall < *until);
        if let Some(until) = until {
            return Some(format!("soaking until {}", rfc3339(until)));
        }
        let is_approved = !wave.approval || self.status.approved.contains(&wave.name);
        (!is_approved).then(|| "waiting for approval".to_owned())
    }

    fn is_through(&self, wave: usize) -> bool {
        let is_through = |standing: &Standing| {
            matches!(standing, Standing::New | Standing::Held(_) | Standing::Failed(_) | Standing::Gone)
        };
        self.status.reserved.is_empty() && self.view().in_wave(wave, wave).all(|(_, standing)| is_through(standing))
    }

    /// Reserves as many objects of a wave as may be under way.
    fn reserve_forward(&mut self, wave: &Wave, at: usize) {
        let view = self.view();
        let objects = view.in_wave(at, at).count();
        let old = view.in_wave(at, at).filter(|(_, standing)| **standing == Standing::Old);
        let mut next: Vec<&FleetObject> = old.map(|(object, _)| object).collect();
        next.sort_by(|one, two| one.place().cmp(&two.place()));
        self.reserve(&next, wave.at_once.of(objects), false);
    }

    fn reserve(&mut self, next: &[&FleetObject], at_once: usize, back: bool) {
        if self.facts.trouble.is_some() {
            return;
        }
        let budget = at_once.saturating_sub(self.status.reserved.len());
        for object in next.iter().take(budget) {
            let (object, uid, since) = (object.title(), object.uid.clone(), self.now());
            self.status.reserved.push(Reservation { object, uid, since, back });
        }
    }

    /// In reverse, without waiting for approvals and soaks: whoever goes back has a reason.
    fn go_back(&mut self) {
        let view = self.view();
        let moved = view.all().filter(|(object, _)| object.mark_of(self.roll).is_some() && object.is_at(&self.roll.to));
        let (to_go, stuck): (Vec<_>, Vec<_>) = moved.partition(|(_, standing)| **standing == Standing::New);
        let is_stuck = stuck.iter().any(|(_, standing)| **standing != Standing::Gone);
        let mut next: Vec<&FleetObject> = to_go.into_iter().map(|(object, _)| object).collect();
        next.sort_by(|one, two| (two.wave, two.place()).cmp(&(one.wave, one.place())));
        let Some(first) = next.first() else {
            if !is_stuck && self.status.reserved.is_empty() && self.facts.consistent {
                self.end(RollPhase::Aborted, Some("TakenBack"));
            } else if !is_stuck && self.status.reserved.is_empty() {
                (self.rests, self.wants_list) = (true, true);
            }
            return;
        };
        let at = first.wave;
        let Some(wave) = self.roll.waves.get(at) else { return };
        let objects = self.fleet.iter().filter(|object| object.wave == at).count();
        next.retain(|object| object.wave == at);
        self.reserve(&next, wave.at_once.of(objects), true);
    }

    fn stop(&mut self) {
        if self.status.reserved.is_empty() {
            self.end(RollPhase::Aborted, Some("Stopped"));
        }
    }

    fn end(&mut self, phase: RollPhase, reason: Option<&str>) {
        self.status.phase = phase;
        self.status.reason = reason.map(str::to_owned);
        self.status.wave_done = None;
        let state = if phase == RollPhase::Complete { "Complete" } else { "Partial" };
        let risk = self.roll.accepts_no_way_back && self.roll.no_way_back().is_some();
        self.status.history.push(RollEnd {
            state: state.to_owned(),
            direction: self.status.direction,
            started: self.status.started.clone(),
            ended: self.now(),
            accepted: risk.then(|| NO_WAY_BACK.to_owned()).into_iter().collect(),
        });
        let more = self.status.history.len().saturating_sub(HISTORY);
        self.status.history.drain(..more);
    }

    /// The writes of objects that are reserved, and not to be seen on them yet.
    pub(super) fn moves(&self) -> Vec<FleetMove> {
        if self.rests || self.is_stopped() || self.status.started.is_none() || self.status.direction == Direction::Stop
        {
            return Vec::new();
        }
        let judge = self.judge();
        let write = |reservation: &Reservation| {
            let object = self.object(&reservation.uid)?;
            if judge.has_landed(object, reservation) {
                return None;
            }
            match reservation.back {
                true => FleetMove::back(self.roll, object),
                false => Some(FleetMove::forward(self.roll, object, self.now)),
            }
        };
        self.status.reserved.iter().filter_map(write).collect()
    }

    /// Dry runs of the moves of objects that were refused some time ago.
    pub(super) fn tries(&self) -> Vec<FleetMove> {
        if self.rests || self.is_stopped() || self.status.started.is_none() || self.facts.trouble.is_some() {
            return Vec::new();
        }
        let back = self.status.direction == Direction::Back;
        let asks = |(object, standing): &(&FleetObject, &Standing)| {
            let was_refused = matches!(standing, Standing::Waiting(_) | Standing::Refused(_));
            was_refused && self.facts.remembered.is_due(&object.uid, self.now)
        };
        let write = |(object, _): (&FleetObject, &Standing)| match back {
            true => FleetMove::back(self.roll, object),
            false => Some(FleetMove::forward(self.roll, object, self.now)),
        };
        self.view().all().filter(asks).filter_map(write).collect()
    }
}

/// Failures in a status, which must not become large.
const FAILURES: usize = 50;
/// Ends that are remembered.
const HISTORY: usize = 10;
