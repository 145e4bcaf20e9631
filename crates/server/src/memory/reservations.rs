//! Accounting of the memory budget: the memory of each request, and reclaims for others. Without I/O and clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use pointsman_transport::connections::Requests;

/// The pools of the budget, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Pools {
    /// For bodies that arrive on one connection, reserved per connection.
    pub(crate) own: u64,
    /// For decisions of small requests.
    pub(crate) small: u64,
    /// For all purposes.
    pub(crate) common: u64,
}

/// The stage of a request that holds memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stage {
    /// A body arrives. The client determines the duration.
    Arriving,
    /// A decision runs.
    Deciding,
    /// A response is written. The client determines the duration.
    Writing,
}

/// The memory of one request, or of all, by pool.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Bytes {
    own: u64,
    small: u64,
    common: u64,
}

/// The memory of one request.
#[derive(Debug)]
struct Holding {
    bytes: Bytes,
    stage: Stage,
    /// The start of the stage, plus later waiting time for memory.
    since: Instant,
    /// The waiting time for memory, in all stages.
    waited: Duration,
    /// True if the memory is being reclaimed.
    reclaiming: bool,
    give_up: Arc<Notify>,
    requests: Requests,
}

/// The memory of one connection's requests.
#[derive(Debug, Default)]
struct ConnectionHoldings {
    own: u64,
    /// Of the shared pools, for as long as the client wants.
    idle: u64,
    claims: BTreeSet<u64>,
}

/// All reservations of a budget.
#[derive(Debug)]
pub(crate) struct MemoryReservations {
    pools: Pools,
    /// The grace time of a slow client.
    grace: Duration,
    next: u64,
    held: BTreeMap<u64, Holding>,
    connections: HashMap<u64, ConnectionHoldings>,
    total: Bytes,
    /// Memory that is being reclaimed.
    leaving: u64,
    /// Decisions that wait for memory: meanwhile bodies take no memory from the common pool.
    waiting: usize,
}

impl MemoryReservations {
    pub(crate) fn new(pools: Pools, grace: Duration) -> Self {
        let (held, connections, total) = (BTreeMap::new(), HashMap::new(), Bytes::default());
        Self { pools, grace, next: 0, held, connections, total, leaving: 0, waiting: 0 }
    }

    pub(crate) fn pools(&self) -> Pools {
        self.pools
    }

    /// Adds an empty reservation. The second value signals a reclaim.
    pub(crate) fn add(&mut self, requests: &Requests, now: Instant) -> (u64, Arc<Notify>) {
        let (id, give_up) = (self.next, Arc::new(Notify::new()));
        self.next += 1;
        let (stage, requests) = (Stage::Arriving, requests.clone());
        self.connections.entry(requests.id()).or_default().claims.insert(id);
        let holding = Holding {
            bytes: Bytes::default(),
            stage,
            since: now,
            waited: Duration::ZERO,
            reclaiming: false,
            give_up: Arc::clone(&give_up),
            requests,
        };
        self.held.insert(id, holding);
        (id, give_up)
    }

    pub(crate) fn remove(&mut self, id: u64) {
        self.change(id, |holding| holding.bytes = Bytes::default());
        let Some(holding) = self.held.remove(&id) else { return };
        let connection = holding.requests.id();
        if let Some(of) = self.connections.get_mut(&connection) {
            of.claims.remove(&id);
            if of.claims.is_empty() {
                self.connections.remove(&connection);
            }
        }
    }

    /// The memory of all requests in bytes.
    pub(crate) fn total(&self) -> u64 {
        self.total.all()
    }

    /// Sets the memory of a body; returns false without a change if the pool is exhausted. Memory beyond the share of
    /// the connection is from the common pool.
    pub(crate) fn arrive(&mut self, id: u64, bytes: u64) -> bool {
        let Some(holding) = self.held.get(&id) else { return false };
        let of_connection = self.connections.get(&holding.requests.id()).map_or(0, |of| of.own);
        let free = self.pools.own.saturating_sub(of_connection - holding.bytes.own);
        let own = bytes.min(free);
        let common = bytes - own;
        let is_more = common > holding.bytes.common;
        if is_more && (self.waiting > 0 || common > self.free(holding).common) {
            return false;
        }
        self.change(id, |holding| holding.bytes = Bytes { own, small: 0, common });
        true
    }

    /// Replaces the memory of a complete body by that of its decision; returns false without a change if the pool is
    /// exhausted.
    pub(crate) fn decide(&mut self, id: u64, bytes: u64, now: Instant) -> bool {
        let Some(holding) = self.held.get(&id) else { return false };
        let free = self.free(holding);
        let is_small = bytes <= SMALL.min(self.pools.small);
        let bytes = match is_small && bytes <= free.small {
            true => Bytes { small: bytes, ..Bytes::default() },
            false if bytes <= free.common => Bytes { common: bytes, ..Bytes::default() },
            false => return false,
        };
        self.change(id, |holding| {
            (holding.bytes, holding.stage, holding.since, holding.reclaiming) = (bytes, Stage::Deciding, now, false);
        });
        true
    }

    /// Replaces the memory of a decision by that of its response; returns false without a change if the pool is
    /// exhausted. Leaves the small pool if the common one has room.
    pub(crate) fn write(&mut self, id: u64, bytes: u64, now: Instant) -> bool {
        let Some(holding) = self.held.get(&id) else { return false };
        let free = self.free(holding);
        let bytes = match bytes <= free.common {
            true => Bytes { common: bytes, ..Bytes::default() },
            false if bytes <= free.small => Bytes { small: bytes, ..Bytes::default() },
            false => return false,
        };
        self.change(id, |holding| {
            (holding.bytes, holding.stage, holding.since, holding.reclaiming) = (bytes, Stage::Writing, now, false);
        });
        true
    }

    /// Counts a decision that begins or ends to wait for memory.
    pub(crate) fn wait(&mut self, waits: bool) {
        self.waiting = if waits { self.waiting + 1 } else { self.waiting.saturating_sub(1) };
    }

    /// Adds waiting time of a request, and returns the sum. The client gets that time for its body in addition, because
    /// the server did not read meanwhile.
    pub(crate) fn wait_of(&mut self, id: u64, more: Duration) -> Duration {
        self.held.get_mut(&id).map_or(Duration::MAX, |holding| {
            holding.waited += more;
            holding.since += more;
            holding.waited
        })
    }

    /// Reclaims `bytes` from waiting requests for another one. The memory is free once their tasks have ended, which is
    /// soon. Returns the number of reclaimed requests.
    ///
    /// Connections with most memory are first. A client loses its memory when its time is over. It loses a body at once
    /// if its connection holds twice that of the needy one: the response requests a retry. An interrupted response
    /// would be a failed call.
    pub(crate) fn reclaim(&mut self, id: u64, bytes: u64, now: Instant) -> u64 {
        let Some(needy) = self.held.get(&id).map(|holding| holding.requests.id()) else { return 0 };
        let mut missing = bytes.saturating_sub(self.leaving);
        if missing == 0 {
            return 0;
        }
        let fair = self.connections.get(&needy).map_or(0, |of| of.idle).saturating_add(bytes).saturating_mul(2);
        let mut holders: Vec<(u64, u64)> =
            self.connections.iter().filter(|(_, of)| of.idle > 0).map(|(id, of)| (of.idle, *id)).collect();
        holders.sort_unstable_by(|one, other| other.cmp(one));
        let mut count = 0;
        for (idle, connection) in holders {
            let Some(of) = self.connections.get(&connection) else { continue };
            let claims = of.claims.clone();
            for claim in claims.into_iter().filter(|claim| *claim != id) {
                let Some(holding) = self.held.get(&claim).filter(|holding| holding.idle() > 0) else { continue };
                let is_greedy = idle >= fair && holding.stage == Stage::Arriving;
                if !is_greedy && now < holding.due(self.grace) {
                    continue;
                }
                missing = missing.saturating_sub(holding.idle());
                count += 1;
                self.begin_reclaim(claim);
                if missing == 0 {
                    return count;
                }
            }
        }
        count
    }

    fn begin_reclaim(&mut self, id: u64) {
        self.change(id, |holding| {
            holding.reclaiming = true;
            match holding.stage {
                Stage::Arriving => holding.give_up.notify_one(),
                Stage::Deciding | Stage::Writing => holding.requests.evict(),
            }
        });
    }

    /// The connections whose responses have been written for longer than this.
    pub(crate) fn late(&self, now: Instant, deadline: Duration) -> impl Iterator<Item = &Requests> {
        let is_late = move |holding: &&Holding| holding.stage == Stage::Writing && now - holding.since > deadline;
        self.held.values().filter(is_late).map(|holding| &holding.requests)
    }

    /// The free memory without one reservation.
    fn free(&self, but: &Holding) -> Bytes {
        let Pools { own, small, common } = self.pools;
        Bytes {
            own,
            small: small.saturating_sub(self.total.small - but.bytes.small),
            common: common.saturating_sub(self.total.common - but.bytes.common),
        }
    }

    /// Changes a reservation and the sums.
    fn change(&mut self, id: u64, change: impl FnOnce(&mut Holding)) {
        let Some(holding) = self.held.get_mut(&id) else { return };
        let of = self.connections.entry(holding.requests.id()).or_default();
        let before = (holding.bytes, holding.idle(), holding.leaving());
        change(holding);
        let after = (holding.bytes, holding.idle(), holding.leaving());
        self.total = self.total.minus(before.0).plus(after.0);
        self.leaving = self.leaving - before.2 + after.2;
        of.own = of.own - before.0.own + after.0.own;
        of.idle = of.idle - before.1 + after.1;
    }
}

impl Bytes {
    fn all(self) -> u64 {
        self.own + self.small + self.common
    }

    fn plus(self, other: Self) -> Self {
        Self { own: self.own + other.own, small: self.small + other.small, common: self.common + other.common }
    }

    fn minus(self, other: Self) -> Self {
        Self { own: self.own - other.own, small: self.small - other.small, common: self.common - other.common }
    }
}

impl Holding {
    /// Its shared memory that depends on the client.
    fn idle(&self) -> u64 {
        if self.stage == Stage::Deciding || self.reclaiming { 0 } else { self.bytes.small + self.bytes.common }
    }

    fn leaving(&self) -> u64 {
        if self.reclaiming { self.bytes.small + self.bytes.common } else { 0 }
    }

    /// The end of the client's time, given the minimum rate of transfer. A reading client gets twice the grace.
    fn due(&self, grace: Duration) -> Instant {
        let grace = if self.stage == Stage::Writing { grace * 2 } else { grace };
        self.since + grace + Duration::from_secs(1).mul_f64(self.bytes.all() as f64 / RATE)
    }
}

/// Maximum memory of a small request: the decision about a body of 256 KiB with the usual density of values.
/// kube-apiservers convert and admit single objects, of 10 to 100 KiB.
const SMALL: u64 = 3 << 20;

/// Minimum bytes per second of a client, if others need the memory: a third of a network of 100 Mbit/s.
const RATE: f64 = 4.0 * 1024.0 * 1024.0;

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const POOLS: Pools = Pools { own: 16 * KIB, small: 64 * KIB, common: 256 * KIB };
    const GRACE: Duration = Duration::from_millis(250);

    struct Book {
        claims: MemoryReservations,
        now: Instant,
    }

    impl Book {
        fn new() -> Self {
            Self { claims: MemoryReservations::new(POOLS, GRACE), now: Instant::now() }
        }

        /// A request of a connection with a body of `kib` KiB.
        fn body(&mut self, requests: &Requests, kib: u64) -> u64 {
            let (id, _) = self.claims.add(requests, self.now);
            assert!(self.claims.arrive(id, kib * KIB), "{kib} KiB");
            id
        }

        fn reclaim(&mut self, id: u64, kib: u64) -> u64 {
            self.claims.reclaim(id, kib * KIB, self.now)
        }

        /// The sums match the reservations.
        fn check(&self) {
            let MemoryReservations { held, connections, total, leaving, .. } = &self.claims;
            let sum = held.values().fold(Bytes::default(), |sum, holding| sum.plus(holding.bytes));
            assert_eq!((sum, held.values().map(Holding::leaving).sum::<u64>()), (*total, *leaving));
            assert!(total.small <= POOLS.small && total.common <= POOLS.common, "{total:?}");
            for of in connections.values() {
                let of_claims = || of.claims.iter().map(|id| &held[id]);
                let own: u64 = of_claims().map(|holding| holding.bytes.own).sum();
                assert_eq!((own, of_claims().map(Holding::idle).sum::<u64>()), (of.own, of.idle));
                assert!(own <= POOLS.own);
            }
        }
    }

    #[test]
    fn share_of_connection_is_its_own() {
        let (mut book, many) = (Book::new(), Requests::default());
        let first = book.body(&many, 16);
        (0..8).for_each(|_| _ = book.body(&many, 32));
        let (id, _) = book.claims.add(&many, book.now);
        assert!(!book.claims.arrive(id, 1), "all of the common pool is taken");
        book.body(&Requests::default(), 16);
        book.check();
        book.claims.remove(first);
        assert!(book.claims.arrive(id, 16 * KIB), "the share is free again");
        book.check();
    }

    #[test]
    fn small_decision_fits_with_bodies() {
        let (mut book, many) = (Book::new(), Requests::default());
        (0..8).for_each(|_| _ = book.body(&many, 34));
        let id = book.body(&Requests::default(), 16);
        assert!(book.claims.decide(id, 60 * KIB, book.now));
        let next = book.body(&Requests::default(), 16);
        assert!(!book.claims.decide(next, 60 * KIB, book.now));
        assert!(book.claims.write(id, 4, book.now) && book.claims.decide(next, 60 * KIB, book.now));
        book.check();
    }

    #[test]
    fn largest_connection_loses_memory_first() {
        let (mut book, many, few) = (Book::new(), Requests::default(), Requests::default());
        let greedy: Vec<u64> = (0..4).map(|_| book.body(&many, 48)).collect();
        book.body(&few, 80);
        let needy = book.body(&Requests::default(), 16);
        assert_eq!(book.reclaim(needy, 20), 1, "one of the greedy connection");
        assert_eq!(book.reclaim(needy, 20), 0, "it is on its way");
        book.claims.remove(greedy[0]);
        assert_eq!(book.reclaim(needy, 80), 0, "nobody holds twice as much");
        book.check();
    }

    #[test]
    fn late_client_loses_memory() {
        let (mut book, one) = (Book::new(), Requests::default());
        let id = book.body(&one, 80);
        let needy = book.body(&Requests::default(), 16);
        book.now += GRACE;
        assert_eq!(book.reclaim(needy, 200), 0, "80 KiB take another 20 ms");
        book.now += Duration::from_millis(20);
        assert_eq!(book.reclaim(needy, 200), 1);
        book.claims.remove(id);
        let answer = book.body(&one, 80);
        assert!(book.claims.decide(answer, 90 * KIB, book.now));
        book.now += 10 * GRACE;
        assert_eq!(book.reclaim(needy, 200), 0, "a decision ends by itself");
        assert!(book.claims.write(answer, 80 * KIB, book.now));
        book.now += GRACE + Duration::from_millis(100);
        assert_eq!(book.reclaim(needy, 4), 0, "whoever reads has twice the time");
        book.now += GRACE;
        assert_eq!(book.reclaim(needy, 200), 1);
        assert!(one.is_evicted());
        book.check();
    }

    #[test]
    fn evicted_body_returns_no_memory() {
        let (mut book, greedy) = (Book::new(), Requests::default());
        let id = book.body(&greedy, 80);
        let needy = book.body(&Requests::default(), 16);
        assert_eq!(book.reclaim(needy, 20), 1);
        // Its last byte had arrived by then.
        assert!(book.claims.decide(id, 90 * KIB, book.now));
        let other = book.body(&greedy, 100);
        assert_eq!(book.reclaim(needy, 20), 1, "the decision keeps its memory, so another body goes");
        book.claims.remove(other);
        book.check();
    }

    #[test]
    fn waiting_body_gets_more_time() {
        let mut book = Book::new();
        let waiting = book.body(&Requests::default(), 100);
        book.body(&Requests::default(), 100);
        let needy = book.body(&Requests::default(), 90);
        book.now += GRACE * 2;
        assert_eq!(book.claims.wait_of(waiting, GRACE * 2), GRACE * 2);
        assert_eq!(book.reclaim(needy, 150), 1, "only the body whose client had all that time");
        assert_eq!(book.claims.wait_of(waiting, GRACE), GRACE * 3);
        book.check();
    }

    #[test]
    fn bodies_wait_for_decisions() {
        let mut book = Book::new();
        let id = book.body(&Requests::default(), 16);
        book.claims.wait(true);
        assert!(!book.claims.arrive(id, 17 * KIB) && book.claims.arrive(id, 12 * KIB));
        book.claims.wait(false);
        assert!(book.claims.arrive(id, 17 * KIB));
        book.check();
    }
}
