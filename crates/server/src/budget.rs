//! The memory that requests may hold at one time, over all connections: one budget of bytes, and it is a bound.
//!
//! A request is paid for from its head to the last byte of its answer: [`REQUEST`] for being there, its body as it
//! *arrives* (an announcement costs nothing), its body and its [`weight`] while it is decided, its answer by its own
//! length until that is written.
//!
//! A quarter is for small requests only, which a kube-apiserver's are: large ones, however many, leave them their
//! share. With a budget of 48 MiB, 36 MiB are for everybody: one conversion of 3 MiB, the largest object there is,
//! while it is decided, or fifty of 60 KiB; beside either, sixteen of 60 KiB find room in the quarter. Whoever
//! announces a body that will be large has nothing of it while the first bytes arrive either.
//!
//! Nobody waits for bytes: a caller that is refused comes back after a second (`Retry-After`), so the queue stands in
//! the API servers, where it costs us nothing, and no two requests can wait for each other. But whoever holds memory
//! for longer than [`Budget::new`] says, with a body that does not arrive or an answer that it does not read, loses it
//! as soon as somebody else needs it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::metrics::Metrics;
use pointsman_core::webhook::{Endpoint, weight};
use pointsman_transport::connections::Requests;

/// The budget of a server.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<SharedBudget>);

#[derive(Debug)]
struct SharedBudget {
    /// Bytes for everybody.
    common: u64,
    /// Bytes for small requests only.
    small: u64,
    patience: Duration,
    metrics: Arc<Metrics>,
    claims: Mutex<Claims>,
}

#[derive(Debug, Default)]
struct Claims {
    next: u64,
    held: BTreeMap<u64, Holding>,
    common: u64,
    small: u64,
}

/// What one request holds.
#[derive(Debug)]
struct Holding {
    common: u64,
    small: u64,
    /// It will not be small, however little of it has arrived.
    large: bool,
    stage: Stage,
    since: Instant,
    /// It was told to give that up.
    told: bool,
    give_up: Arc<Notify>,
    requests: Requests,
}

/// What memory is held for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stage {
    /// A body that arrives. The client decides how long that takes.
    Arriving,
    /// A decision.
    Deciding,
    /// An answer that is written. The client decides how long that takes.
    Writing,
}

impl Budget {
    /// `bytes` in all. Who keeps others waiting may do so for as long as `patience` where memory is short.
    pub(super) fn new(bytes: u64, patience: Duration, metrics: Arc<Metrics>) -> Self {
        let small = bytes / 4;
        metrics.memory.budget(bytes);
        let common = bytes - small;
        Self(Arc::new(SharedBudget { common, small, patience, metrics, claims: Mutex::default() }))
    }

    /// The largest body that can be decided, if it is one long string.
    pub(super) fn largest_body(bytes: u64) -> u64 {
        let least = weight(Endpoint::Convert, b"");
        (bytes - bytes / 4).saturating_sub(REQUEST + least) / (Self::each_byte() + 1)
    }

    /// What a byte weighs, if it is part of one long string.
    fn each_byte() -> u64 {
        let [least, one] = [&b""[..], b" "].map(|body| weight(Endpoint::Convert, body));
        one - least
    }

    /// The claim of a request that has begun: nothing yet.
    pub(super) fn claim(&self, requests: &Requests) -> Claim {
        let mut claims = self.0.claims();
        let id = claims.next;
        claims.next += 1;
        let give_up = Arc::new(Notify::new());
        let holding = Holding {
            common: 0,
            small: 0,
            large: false,
            stage: Stage::Arriving,
            since: Instant::now(),
            told: false,
            give_up: Arc::clone(&give_up),
            requests: requests.clone(),
        };
        claims.held.insert(id, holding);
        Claim { id, shared: Arc::clone(&self.0), give_up }
    }

    /// Closes connections that do not read their answers within `deadline`, until dropped.
    pub(super) async fn write_deadline(self, deadline: Duration) {
        let often = (deadline / 4).clamp(Duration::from_millis(10), Duration::from_secs(1));
        loop {
            sleep(often).await;
            let claims = self.0.claims();
            let writing = claims.held.values().filter(|held| held.stage == Stage::Writing);
            for late in writing.filter(|held| held.since.elapsed() > deadline) {
                late.requests.evict();
            }
        }
    }
}

/// What one request may hold, until it is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    id: u64,
    shared: Arc<SharedBudget>,
    give_up: Arc<Notify>,
}

impl Claim {
    /// Holds `bytes` from now on; false, and nothing changed, where there are not so many.
    pub(super) fn resize(&self, bytes: u64) -> bool {
        let mut claims = self.shared.claims();
        let fits = claims.resize(self.id, bytes, &self.shared);
        if !fits {
            self.shared.metrics.memory.reclaimed(claims.reclaim(self.id, bytes, &self.shared));
        }
        self.shared.metrics.memory.held(claims.common + claims.small);
        fits
    }

    /// A body of so many bytes will arrive: where it cannot be decided as a small request, it takes nothing of what is
    /// for those on the way there either.
    pub(super) fn announce(&self, body: u64) {
        let least = REQUEST.saturating_add(body).saturating_add(Budget::each_byte().saturating_mul(body));
        if let Some(holding) = self.shared.claims().held.get_mut(&self.id) {
            holding.large = least > SMALL;
        }
    }

    /// Whether there could ever be so many bytes.
    pub(super) fn could_hold(&self, bytes: u64) -> bool {
        bytes <= self.shared.common
    }

    /// Holds `bytes` from now on, whether or not there are so many: they are there already.
    pub(super) fn record(&self, bytes: u64) {
        if self.resize(bytes) {
            return;
        }
        let mut claims = self.shared.claims();
        let Claims { held, common, .. } = &mut *claims;
        if let Some(holding) = held.get_mut(&self.id) {
            let missing = bytes.saturating_sub(holding.common + holding.small);
            holding.common += missing;
            *common += missing;
        }
    }

    /// What it is held for from now on.
    pub(super) fn enter(&self, stage: Stage) {
        if let Some(holding) = self.shared.claims().held.get_mut(&self.id) {
            holding.stage = stage;
            holding.since = Instant::now();
            holding.told = false;
        }
    }

    /// Waits until the memory of a body that does not arrive is needed for others.
    pub(super) async fn needed_elsewhere(&self) {
        self.give_up.notified().await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = self.shared.claims();
        if let Some(Holding { common, small, .. }) = claims.held.remove(&self.id) {
            claims.common -= common;
            claims.small -= small;
        }
        self.shared.metrics.memory.held(claims.common + claims.small);
    }
}

impl SharedBudget {
    /// Nothing in here panics half-way.
    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claims {
    fn resize(&mut self, id: u64, bytes: u64, of: &SharedBudget) -> bool {
        let Some(holding) = self.held.get_mut(&id) else {
            return false;
        };
        let others = (self.common - holding.common, self.small - holding.small);
        let free = (of.common.saturating_sub(others.0), of.small.saturating_sub(others.1));
        // Its own quarter first: what is left of the rest is what large ones have.
        let small = if bytes <= SMALL && !holding.large { bytes.min(free.1) } else { 0 };
        let common = bytes - small;
        // Less than before always fits, also where more is held than there is.
        if common > free.0 && common > holding.common {
            return false;
        }
        (holding.common, holding.small) = (common, small);
        (self.common, self.small) = (others.0 + common, others.1 + small);
        true
    }

    /// Takes from those who have kept it for too long, the oldest first, what would be enough for `bytes`. It is free
    /// when their tasks have ended, which is soon, and before the one who asked comes back.
    fn reclaim(&mut self, id: u64, bytes: u64, of: &SharedBudget) -> u64 {
        let mut enough = bytes.max((of.common + of.small) / 8);
        let mut stalled: Vec<_> = self
            .held
            .iter_mut()
            .filter(|(other, held)| {
                **other != id && held.stage != Stage::Deciding && held.since.elapsed() > of.patience
            })
            .map(|(_, held)| held)
            .collect();
        stalled.sort_by_key(|held| held.since);
        let mut count = 0;
        for holding in stalled {
            if !std::mem::replace(&mut holding.told, true) {
                match holding.stage {
                    Stage::Arriving => holding.give_up.notify_one(),
                    Stage::Deciding | Stage::Writing => {
                        holding.requests.evict();
                    }
                }
                count += 1;
            }
            enough = enough.saturating_sub(holding.common + holding.small);
            if enough == 0 {
                break;
            }
        }
        count
    }
}

/// What a request costs beside its body: its head, its task, its place in HTTP/2's tables.
pub(super) const REQUEST: u64 = 8 << 10;

/// What a small request holds at most: a body of 256 KiB with as many values in it as Kubernetes' objects have, while
/// it is decided. kube-apiservers convert and admit single objects, of 10 to 100 KiB.
const SMALL: u64 = 3 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice of it is more than a small request holds.
    const UNIT: u64 = 2 << 20;

    fn budget(patience: Duration) -> (Budget, Requests) {
        let metrics = Arc::new(Metrics::new(None, None).unwrap());
        (Budget::new(8 * UNIT, patience, metrics), Requests::default())
    }

    #[tokio::test]
    async fn large_ones_leave_small_ones_a_quarter() {
        let (budget, requests) = budget(Duration::from_secs(3600));
        let claims: Vec<_> = (0..4).map(|_| budget.claim(&requests)).collect();
        assert!(claims[0].resize(6 * UNIT));
        assert!(!claims[1].resize(2 * UNIT));
        assert!(claims[1].resize(UNIT) && claims[2].resize(UNIT));
        assert!(!claims[3].resize(1));
        drop(claims);
        assert!(budget.claim(&requests).resize(6 * UNIT), "all of it is back");
    }

    #[tokio::test]
    async fn what_grows_beyond_small_leaves_the_quarter() {
        let (budget, requests) = budget(Duration::from_secs(3600));
        let (one, other) = (budget.claim(&requests), budget.claim(&requests));
        assert!(one.resize(UNIT) && one.resize(6 * UNIT));
        assert!(other.resize(UNIT), "the quarter is free again");
        assert!(!other.resize(3 * UNIT) && one.resize(UNIT) && other.resize(3 * UNIT));
    }

    #[tokio::test]
    async fn what_will_be_large_takes_nothing_of_the_quarter_on_its_way() {
        let (budget, requests) = budget(Duration::from_secs(3600));
        let (one, large, small) = (budget.claim(&requests), budget.claim(&requests), budget.claim(&requests));
        assert!(one.resize(6 * UNIT));
        large.announce(UNIT);
        assert!(!large.resize(REQUEST), "not even that");
        small.announce(100 << 10);
        assert!(small.resize(UNIT));
    }

    #[tokio::test]
    async fn an_answer_counts_even_where_there_is_no_room_for_it() {
        let (budget, requests) = budget(Duration::from_secs(3600));
        let (one, other) = (budget.claim(&requests), budget.claim(&requests));
        one.record(20 * UNIT);
        assert!(!other.resize(2 * UNIT));
        assert!(one.resize(7 * UNIT), "less always fits");
        drop(one);
        assert!(other.resize(2 * UNIT));
    }

    #[tokio::test]
    async fn who_keeps_memory_without_need_loses_it_to_those_who_need_it() {
        let (budget, requests) = budget(Duration::ZERO);
        let (deciding, arriving, other) = (budget.claim(&requests), budget.claim(&requests), budget.claim(&requests));
        deciding.enter(Stage::Deciding);
        assert!(deciding.resize(3 * UNIT) && arriving.resize(3 * UNIT));
        assert!(!other.resize(2 * UNIT));
        tokio::time::timeout(Duration::from_secs(5), arriving.needed_elsewhere()).await.unwrap();
        assert!(!requests.is_evicted());

        arriving.enter(Stage::Writing);
        assert!(!other.resize(2 * UNIT));
        assert!(requests.is_evicted());
    }
}
