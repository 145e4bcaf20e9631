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
//! as soon as somebody else needs it; and in an eighth of that time, who has sent a head and no byte of its body.
//!
//! A connection begins 250 streams of HTTP/2 with one packet, so that there may be a hundred thousand of these. Those
//! that are not the first few of their connection have a quarter for all, and who loses is found without a look at the
//! others.

use std::collections::{BTreeMap, BTreeSet};
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
    total: Bytes,
    /// From when on each of those that are not decided may be told to give up what it holds.
    due: BTreeSet<(Instant, u64)>,
}

/// What one request holds, or all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Bytes {
    common: u64,
    small: u64,
    /// What of that those hold who were told to give it up.
    leaving: u64,
    /// What heads hold that are not among the first [`FEW`] of their connection, and that nothing has followed.
    crowd: u64,
}

/// What one request holds.
#[derive(Debug)]
struct Holding {
    common: u64,
    small: u64,
    /// It will not be small, however little of it has arrived.
    large: bool,
    /// More than [`FEW`] of its connection had begun to arrive when it did.
    crowd: bool,
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
        let (give_up, crowd) = (Arc::new(Notify::new()), requests.arriving() > FEW);
        let holding = Holding {
            common: 0,
            small: 0,
            large: false,
            crowd,
            stage: Stage::Arriving,
            since: Instant::now(),
            told: false,
            give_up: Arc::clone(&give_up),
            requests: requests.clone(),
        };
        claims.due.extend(holding.due(id, self.0.patience));
        claims.held.insert(id, holding);
        Claim { id, crowd, shared: Arc::clone(&self.0), give_up }
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
    crowd: bool,
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
        self.shared.metrics.memory.held(claims.total.held());
        fits
    }

    /// Whether it is not among the first few of its connection.
    pub(super) fn is_of_crowd(&self) -> bool {
        self.crowd
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
        self.change(|holding| holding.common += bytes.saturating_sub(holding.bytes()));
    }

    /// What it is held for from now on.
    pub(super) fn enter(&self, stage: Stage) {
        self.change(|holding| (holding.stage, holding.since, holding.told) = (stage, Instant::now(), false));
    }

    fn change(&self, change: impl FnOnce(&mut Holding)) {
        self.shared.claims().change(self.id, self.shared.patience, change);
    }

    /// Waits until the memory of a body that does not arrive is needed for others.
    pub(super) async fn needed_elsewhere(&self) {
        self.give_up.notified().await;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = self.shared.claims();
        if let Some(holding) = claims.held.remove(&self.id) {
            claims.total = claims.total.with(Bytes::default(), holding.all());
            if let Some(due) = holding.due(self.id, self.shared.patience) {
                claims.due.remove(&due);
            }
        }
        self.shared.metrics.memory.held(claims.total.held());
    }
}

impl SharedBudget {
    /// Nothing in here panics half-way.
    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bytes {
    fn held(self) -> u64 {
        self.common + self.small
    }

    /// The same, where one holds `now` what it held `before`.
    fn with(self, now: Self, before: Self) -> Self {
        Self {
            common: self.common - before.common + now.common,
            small: self.small - before.small + now.small,
            leaving: self.leaving - before.leaving + now.leaving,
            crowd: self.crowd - before.crowd + now.crowd,
        }
    }
}

impl Holding {
    fn bytes(&self) -> u64 {
        self.common + self.small
    }

    /// What it adds to what all of them hold.
    fn all(&self) -> Bytes {
        let leaving = if self.told { self.bytes() } else { 0 };
        let crowd = if self.crowd && self.is_bare() { self.bytes() } else { 0 };
        Bytes { common: self.common, small: self.small, leaving, crowd }
    }

    /// Nothing of its body is there.
    fn is_bare(&self) -> bool {
        self.stage == Stage::Arriving && self.bytes() <= REQUEST
    }

    /// From when on it may be told, if it may.
    fn due(&self, id: u64, patience: Duration) -> Option<(Instant, u64)> {
        let patience = if self.is_bare() { patience / BARE } else { patience };
        (self.stage != Stage::Deciding && !self.told).then(|| (self.since + patience, id))
    }
}

impl Claims {
    /// Changes one, and what is known of all of them.
    fn change(&mut self, id: u64, patience: Duration, change: impl FnOnce(&mut Holding)) {
        let Some(holding) = self.held.get_mut(&id) else { return };
        let (before, was_due) = (holding.all(), holding.due(id, patience));
        change(holding);
        self.total = self.total.with(holding.all(), before);
        let due = holding.due(id, patience);
        if due != was_due {
            was_due.map(|due| self.due.remove(&due));
            self.due.extend(due);
        }
    }

    fn resize(&mut self, id: u64, bytes: u64, of: &SharedBudget) -> bool {
        let Some(holding) = self.held.get(&id) else {
            return false;
        };
        let others = self.total.with(Bytes::default(), holding.all());
        let is_head = holding.stage == Stage::Arriving && holding.bytes() < bytes && bytes <= REQUEST;
        if holding.crowd && is_head && others.crowd + bytes > (of.common + of.small) / 4 {
            return false;
        }
        let free = (of.common.saturating_sub(others.common), of.small.saturating_sub(others.small));
        // Its own quarter first: what is left of the rest is what large ones have.
        let small = if bytes <= SMALL && !holding.large { bytes.min(free.1) } else { 0 };
        let common = bytes - small;
        // Less than before always fits, also where more is held than there is.
        if common > free.0 && common > holding.common {
            return false;
        }
        self.change(id, of.patience, |holding| (holding.common, holding.small) = (common, small));
        true
    }

    /// Takes from those who have kept it for too long, the oldest first, what would be enough for `bytes`. It is free
    /// when their tasks have ended, which is soon, and before the one who asked comes back. Returns from how many.
    fn reclaim(&mut self, id: u64, bytes: u64, of: &SharedBudget) -> u64 {
        let mut missing = bytes.max((of.common + of.small) / 8).saturating_sub(self.total.leaving);
        let (now, mut count) = (Instant::now(), 0);
        while missing > 0
            && let Some(other) = self.overdue(now, id)
        {
            self.change(other, of.patience, |holding| {
                holding.told = true;
                match holding.stage {
                    Stage::Arriving => holding.give_up.notify_one(),
                    Stage::Deciding | Stage::Writing => holding.requests.evict(),
                }
                missing = missing.saturating_sub(holding.bytes());
            });
            count += 1;
        }
        count
    }

    /// Who has kept what it holds for the longest time that is too long, this one aside.
    fn overdue(&self, now: Instant, id: u64) -> Option<u64> {
        self.due.range(..=(now, u64::MAX)).map(|(_, other)| *other).find(|other| *other != id)
    }
}

/// So many requests of a connection may begin to arrive at a time before they count as many. An API server that calls
/// over one connection sends a body with its head, so that few of its calls are ever seen without; and eight of each of
/// the 2,048 connections that there may be by default hold a quarter of the budget that is there by default.
const FEW: usize = 8;

/// A body begins with its head, in the same packet mostly; API servers have it whole before they call. An eighth of two
/// seconds is more than a round trip anywhere.
const BARE: u32 = 8;

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
    async fn who_was_told_is_not_told_again_and_nobody_else_is_for_the_same_bytes() {
        let (budget, requests) = budget(Duration::ZERO);
        let mut claims: Vec<_> = (0..8).map(|_| budget.claim(&requests)).collect();
        assert!(claims.iter().all(|claim| claim.resize(UNIT)));
        let other = budget.claim(&requests);
        let told = || budget.0.claims().reclaim(other.id, UNIT, &budget.0);
        assert_eq!((told(), told(), told()), (1, 0, 0));
        claims.remove(0);
        assert_eq!((told(), told()), (1, 0), "the oldest has gone, and somebody else takes what is free");
    }

    #[tokio::test]
    async fn a_head_without_a_body_is_waited_for_an_eighth_of_the_time() {
        tokio::time::pause();
        let (budget, requests) = budget(Duration::from_secs(8));
        let (bare, begun, other) = (budget.claim(&requests), budget.claim(&requests), budget.claim(&requests));
        assert!(bare.resize(REQUEST) && begun.resize(UNIT));
        let told = |bytes| budget.0.claims().reclaim(other.id, bytes, &budget.0);
        tokio::time::advance(Duration::from_millis(900)).await;
        assert_eq!(told(2 * UNIT), 0);
        tokio::time::advance(Duration::from_millis(200)).await;
        assert_eq!(told(2 * UNIT), 1);
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(told(2 * UNIT), 1);
    }

    #[tokio::test]
    async fn heads_of_one_connection_leave_others_three_quarters() {
        let (budget, many) = budget(Duration::from_secs(3600));
        let (others, room) = (Requests::default(), 8 * UNIT / 4 / REQUEST);
        let begin = |of: &Requests| (of.begin(), budget.claim(of));
        let mut heads: Vec<_> = (0..FEW as u64 + room).map(|_| begin(&many)).collect();
        assert!(heads.iter().all(|(_, claim)| claim.resize(REQUEST)));
        let next = begin(&many);
        assert!(!next.1.resize(REQUEST));
        assert!(begin(&others).1.resize(UNIT), "a call of somebody else");
        let (_, body) = heads.last().unwrap();
        assert!(body.resize(2 * REQUEST) && next.1.resize(REQUEST), "one whose body arrives is no head any more");
        heads.truncate(FEW + 1);
        let again: Vec<_> = (0..room - 2).map(|_| begin(&many)).collect();
        assert!(again.iter().all(|(_, claim)| claim.resize(REQUEST)), "all of it is back");
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
