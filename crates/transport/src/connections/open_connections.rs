//! The open connections of a listener, and the eviction of connections when all slots are in use.
//!
//! A kube-apiserver sends a complete request within milliseconds of connecting, and keeps few idle connections. So only
//! these are evicted, in this order:
//!
//! 1. a connection without complete request for [`NEWCOMER`] (or [`HASTE`], if such connections use half of the slots),
//!    or with an incomplete request for longer than [`PATIENCE`]: the oldest one of the address that has most of them.
//!    An address with more than [`NEWCOMERS`] at a time loses them without delay, a sixteenth of these at a time;
//! 2. a connection of the address that has most, if it exceeds its share or has more idle connections than any API
//!    server: the one idle for longest. The share is all slots divided by the number of addresses with a complete
//!    request, including the requesting address. If all are in use, the excess connections end with their next
//!    response, which clients tolerate.
//!
//! If each address has its share, the connection idle for longest is evicted, after [`LONG_IDLE`]. A connection that
//! should end and has not within [`EvictionRules::leaving`] belongs to the first group.
//!
//! Example with 4 slots: two idle connections of `10.0.0.1`, which sent requests, and two of `10.0.0.9`, which never
//! did. The next connection takes the slot of the older one of `10.0.0.9`. If these had sent requests, and the next
//! connection were from a third address, it would take that of the connection idle for longest, as each address had
//! more than a third of four.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

use super::requests::Requests;

/// The open connections of one listener.
#[derive(Debug, Default)]
pub(super) struct OpenConnections {
    next: u64,
    /// By age, oldest first.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    since: Instant,
    requests: Requests,
}

/// Rules for evictions of a listener.
#[derive(Clone, Copy, Debug)]
pub struct EvictionRules {
    /// The number of idle connections that an address may keep.
    pub idle_of_a_peer: usize,
    /// Idle time after which a client will not use the connection immediately.
    pub settled: Duration,
    /// Time limit for a connection that must end after its responses.
    pub leaving: Duration,
}

/// The connections to evict.
#[derive(Clone, Debug)]
pub(super) enum EvictionClass {
    /// Idle: evicted at once.
    Now(Vec<Requests>),
    /// In use: end after their next response.
    AfterAnswers(Vec<Requests>),
}

impl EvictionClass {
    /// Ends them, and returns their number.
    pub(super) fn evict(self) -> usize {
        match self {
            Self::Now(all) => {
                all.iter().for_each(Requests::evict);
                all.len()
            }
            Self::AfterAnswers(all) => {
                all.iter().for_each(Requests::leave);
                all.len()
            }
        }
    }
}

/// The connections of one address.
#[derive(Debug, Default)]
struct PeerConnections<'a> {
    all: usize,
    /// Without complete request, oldest first.
    unproven: Vec<&'a Connection>,
    /// The number of idle connections, and the one idle for longest.
    idle: usize,
    longest_idle: Option<(Instant, &'a Connection)>,
    /// Already ending.
    leaving: usize,
    in_use: Vec<&'a Connection>,
}

impl OpenConnections {
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Adds a connection.
    pub(super) fn add(&mut self, peer: IpAddr, requests: Requests) -> u64 {
        let id = self.next;
        self.next += 1;
        self.connections.insert(id, Connection { peer: network(peer), since: Instant::now(), requests });
        id
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.connections.remove(&id);
    }

    /// True if a slot is freed as soon as a task has ended.
    pub(super) fn is_slot_pending(&self) -> bool {
        self.connections.values().any(|connection| connection.requests.is_evicted())
    }

    /// The connections to evict for a connection of `newcomer`, given the number of slots and the number of idle
    /// connections allowed per address.
    pub(super) fn evictable(&self, newcomer: IpAddr, slots: usize, rules: EvictionRules) -> Option<EvictionClass> {
        let now = Instant::now();
        let mut peers: HashMap<IpAddr, PeerConnections<'_>> = HashMap::new();
        peers.entry(network(newcomer)).or_default();
        for connection in self.connections.values() {
            peers.entry(connection.peer).or_default().count(connection, rules, now);
        }
        let asking = network(newcomer);
        let sharing = peers.iter().filter(|(address, peer)| **address == asking || peer.is_proven()).count();
        let share = (slots / sharing.max(1)).max(FEW.min(slots / 32)).max(1);
        let crowd: usize = peers.values().map(|peer| peer.unproven.len()).sum();
        let patience = if crowd > slots / 2 { HASTE } else { NEWCOMER };
        let unproven = peers
            .values()
            .map(|peer| &peer.unproven)
            .filter(|all| all.len() > NEWCOMERS || is_overdue(all, now, patience));
        // Of two addresses with equal numbers, the one with the older connection.
        if let Some(all) = unproven.max_by_key(|all| (all.len(), all.first().map(|oldest| now - oldest.since))) {
            let count = all.len().saturating_sub(NEWCOMERS).div_ceil(AT_A_TIME);
            // Many addresses with few connections each make room in the same steps.
            let of_many = if count == 0 { overdue(peers.values(), now, patience) } else { Vec::new() };
            let (all, count) = match of_many.len() / AT_A_TIME {
                0 => (all, count.max(1)),
                count => (&of_many, count),
            };
            return Some(EvictionClass::Now(
                all.iter().take(count).map(|connection| connection.requests.clone()).collect(),
            ));
        }
        let greedy = peers.values().filter_map(|peer| Some((peer, peer.surplus(share, rules.idle_of_a_peer)?)));
        match greedy.max_by_key(|(peer, _)| peer.all) {
            Some((peer, surplus)) => peer.parting(surplus, rules, now),
            // Connections without a request get their time first.
            None if crowd == 0 => longest_idle(peers.values(), now),
            None => None,
        }
    }
}

impl<'a> PeerConnections<'a> {
    fn count(&mut self, connection: &'a Connection, rules: EvictionRules, now: Instant) {
        let state = connection.requests.state();
        if state.evicted {
            return;
        }
        self.all += 1;
        if state.can_be_missed(now, PATIENCE, rules.leaving) {
            self.unproven.push(connection);
            return;
        }
        if let Some(since) = state.idle_since() {
            self.idle += 1;
            if self.longest_idle.is_none_or(|(longest, _)| since < longest) {
                self.longest_idle = Some((since, connection));
            }
        }
        if state.leave {
            self.leaving += 1;
        } else {
            self.in_use.push(connection);
        }
    }

    /// True if one of its connections has sent a complete request.
    fn is_proven(&self) -> bool {
        self.all > self.unproven.len()
    }

    /// The number of connections beyond its share.
    fn surplus(&self, share: usize, idle_of_a_peer: usize) -> Option<usize> {
        let surplus = self.all.saturating_sub(share).max(self.idle.saturating_sub(idle_of_a_peer));
        (surplus > 0).then_some(surplus)
    }

    /// Its connections to evict. A client that reuses connections takes the youngest, right after the last response.
    fn parting(&self, surplus: usize, rules: EvictionRules, now: Instant) -> Option<EvictionClass> {
        if let Some((_, idle)) = self.longest_idle.filter(|(since, _)| now - *since > rules.settled) {
            return Some(EvictionClass::Now(vec![idle.requests.clone()]));
        }
        let more = self.in_use.iter().take(surplus.saturating_sub(self.leaving));
        let more: Vec<_> = more.map(|connection| connection.requests.clone()).collect();
        (!more.is_empty()).then_some(EvictionClass::AfterAnswers(more))
    }
}

/// The connections of all addresses without a complete request within `patience`, oldest first.
fn overdue<'a>(
    peers: impl Iterator<Item = &'a PeerConnections<'a>>,
    now: Instant,
    patience: Duration,
) -> Vec<&'a Connection> {
    let all = peers.flat_map(|peer| &peer.unproven).copied();
    let mut overdue: Vec<_> = all.filter(|connection| now - connection.since > patience).collect();
    overdue.sort_unstable_by_key(|connection| connection.since);
    overdue
}

/// The connection idle for longest, if every address has its share: there are as many addresses as slots.
fn longest_idle<'a>(peers: impl Iterator<Item = &'a PeerConnections<'a>>, now: Instant) -> Option<EvictionClass> {
    let (since, connection) = peers.filter_map(|peer| peer.longest_idle).min_by_key(|(since, _)| *since)?;
    (now - since > LONG_IDLE).then(|| EvictionClass::Now(vec![connection.requests.clone()]))
}

/// True if the time of the oldest unproven connection is over. A stalled request counts as over.
fn is_overdue(unproven: &[&Connection], now: Instant, patience: Duration) -> bool {
    unproven.first().is_some_and(|oldest| now - oldest.since > patience)
}

/// The identity of a peer: an IPv4 address, or an IPv6 network (the owner of one address of a /64 has all of them).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// Time for a request to arrive before its connection can be evicted. A body of 64 MiB takes half a second at 1 Gbit/s.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time for a handshake and a request before a connection can be evicted. API servers take milliseconds, and do not
/// repeat a call after a failed handshake.
const NEWCOMER: Duration = Duration::from_millis(500);

/// The same with many waiting connections: thousands of addresses with one silent connection each would fill the
/// kernel's queue, and delay a call by seconds. A handshake and a request take a few milliseconds.
const HASTE: Duration = Duration::from_millis(100);

/// The number of connections that an address may open at a time. An API server opens one for each call without a free
/// connection.
const NEWCOMERS: usize = 8;

/// The fraction evicted at a time, of the connections that an address opens beyond [`NEWCOMERS`]. On a busy processor
/// each step takes tens of milliseconds. So a call behind dozens of others gets a slot within a quarter of a second,
/// and another quarter to arrive before its own eviction.
const AT_A_TIME: usize = 16;

/// The minimum share of an address: this number of connections, or a 32nd of the slots. Callers have some at a time,
/// which hundreds of other addresses must not evict.
const FEW: usize = 8;

/// Idle time before a connection makes room for an address without one: longer than the pauses of a busy caller. A
/// kube-apiserver opens another connection when it finds one closed.
const LONG_IDLE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::super::requests::InFlightGuard;
    use super::*;

    const GOOD: &str = "10.0.0.1";
    const BAD: &str = "10.0.0.9";
    const WORSE: &str = "10.0.0.8";

    const RULES: EvictionRules =
        EvictionRules { idle_of_a_peer: 200, settled: Duration::from_millis(100), leaving: Duration::from_secs(1) };

    fn add(open: &mut OpenConnections, peer: &str) -> Requests {
        let requests = Requests::default();
        open.add(peer.parse().unwrap(), requests.clone());
        requests
    }

    fn begin_request(requests: &Requests) -> InFlightGuard {
        let mut request = requests.begin();
        request.arrived();
        request
    }

    /// The evictions for `peer` among these: at once, or after a response.
    fn evict_for(open: &OpenConnections, all: &[Requests], peer: &str) -> (Vec<usize>, Vec<usize>) {
        if let Some(parting) = open.evictable(peer.parse().unwrap(), open.len(), RULES) {
            parting.evict();
        }
        let those = |is: fn(&Requests) -> bool| (0..all.len()).filter(|at| is(&all[*at])).collect();
        (those(Requests::is_evicted), those(|requests| requests.state().leave))
    }

    fn pass(milliseconds: u64) -> impl Future<Output = ()> {
        tokio::time::advance(Duration::from_millis(milliseconds))
    }

    #[tokio::test(start_paused = true)]
    async fn full_addresses_make_room() {
        let mut open = OpenConnections::default();
        let all = [GOOD, BAD, WORSE, BAD, WORSE, WORSE].map(|peer| add(&mut open, peer));
        for requests in &all {
            drop(begin_request(requests));
            pass(1).await;
        }
        pass(101).await;
        assert_eq!(evict_for(&open, &all, GOOD), (vec![2], vec![]), "the longest idle of who has most");
        assert_eq!(evict_for(&open, &all, GOOD), (vec![2], vec![]), "each has no more than two of six");
        let (evicted, _) = evict_for(&open, &all, "10.0.0.7");
        assert_eq!(evicted.len(), 2, "a fourth may have one: {evicted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connection_ends_after_response() {
        let mut open = OpenConnections::default();
        let all = [BAD, BAD, BAD, BAD].map(|peer| add(&mut open, peer));
        let _busy = begin_request(&all[0]);
        for requests in &all[1..] {
            drop(begin_request(requests));
        }
        assert_eq!(evict_for(&open, &all, BAD), (vec![], vec![]), "these are its own");
        assert_eq!(evict_for(&open, &all, GOOD), (vec![], vec![0, 1]), "it may have two of four");
        assert_eq!(evict_for(&open, &all, GOOD), (vec![], vec![0, 1]), "they will");
        pass(101).await;
        assert_eq!(evict_for(&open, &all, GOOD), (vec![1], vec![0, 1]), "or need not");
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_gets_request_time() {
        let mut open = OpenConnections::default();
        let good = [add(&mut open, GOOD)];
        assert_eq!(evict_for(&open, &good, GOOD).0, Vec::<usize>::new());
        pass(501).await;
        assert_eq!(evict_for(&open, &good, GOOD).0, vec![0]);

        let mut open = OpenConnections::default();
        let flood: Vec<_> = (0..=NEWCOMERS).map(|_| add(&mut open, BAD)).collect();
        assert_eq!(evict_for(&open, &flood, GOOD).0, vec![0], "too many of them at a time");

        let mut open = OpenConnections::default();
        let flood: Vec<_> = (0..NEWCOMERS + 40).map(|_| add(&mut open, BAD)).collect();
        assert_eq!(evict_for(&open, &flood, GOOD).0, vec![0, 1, 2], "a sixteenth of them");
    }

    #[tokio::test(start_paused = true)]
    async fn many_silent_addresses_are_evicted() {
        let addresses = ["10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.1.4", "10.0.1.5"];
        let mut open = OpenConnections::default();
        let all: Vec<_> = addresses.iter().map(|address| add(&mut open, address)).collect();
        let _busy: Vec<_> = all[..3].iter().map(begin_request).collect();
        pass(101).await;
        assert_eq!(evict_for(&open, &all, GOOD).0, Vec::<usize>::new(), "two of five are given their time");
        let more = [add(&mut open, "10.0.1.6"), add(&mut open, "10.0.1.7")];
        let (evicted, _) = evict_for(&open, &all, GOOD);
        assert!(evicted == [3] || evicted == [4], "four of seven wait: {evicted:?}");
        drop(more);
    }

    #[tokio::test(start_paused = true)]
    async fn silent_addresses_reduce_no_share() {
        let mut open = OpenConnections::default();
        let all = [GOOD, GOOD].map(|peer| add(&mut open, peer));
        all.iter().for_each(|requests| drop(begin_request(requests)));
        pass(5000).await;
        let silent: Vec<_> = (1..=4).map(|last| add(&mut open, &format!("10.0.1.{last}"))).collect();
        assert_eq!(evict_for(&open, &all, "10.0.1.5").0, Vec::<usize>::new(), "two of six slots, for two addresses");
        pass(101).await;
        assert_eq!(evict_for(&open, &silent, "10.0.1.5").0.len(), 1, "a silent one has had its time");
        assert!(all.iter().all(|requests| !requests.is_evicted()));
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connection_ends_after_its_time() {
        let mut open = OpenConnections::default();
        let all = [BAD, BAD, BAD, BAD].map(|peer| add(&mut open, peer));
        let mut bodies: Vec<_> = all.iter().map(begin_request).collect();
        assert_eq!(evict_for(&open, &all, GOOD), (vec![], vec![0, 1]), "it may have two of four");
        for _ in 0..4 {
            pass(300).await;
            bodies = all.iter().map(Requests::begin).collect();
        }
        assert_eq!(evict_for(&open, &all, GOOD).0, vec![0], "it takes requests all the time, and does not end");
        drop(bodies);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_addresses_make_room_for_another() {
        let mut open = OpenConnections::default();
        let all = ["10.0.1.1", "10.0.1.2", "10.0.1.3"].map(|peer| add(&mut open, peer));
        for requests in &all {
            drop(begin_request(requests));
            pass(10).await;
        }
        assert_eq!(
            evict_for(&open, &all, GOOD).0,
            Vec::<usize>::new(),
            "each has its share of one, and may call again"
        );
        pass(1001).await;
        assert_eq!(evict_for(&open, &all, GOOD).0, vec![0]);
    }

    #[test]
    fn ipv6_network_is_one_peer() {
        let [one, same, other, four, mapped] =
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "10.0.0.1", "::ffff:10.0.0.1"]
                .map(|text| network(text.parse().unwrap()));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(four, mapped);
    }
}
