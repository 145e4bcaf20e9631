//! The open connections of a listener, and which of them makes room where all slots are taken.
//!
//! A kube-apiserver sends a whole request within milliseconds of connecting, and keeps few connections that it does not
//! use. So these can be missed, in this order, and nobody else:
//!
//! 1. a connection that has not sent a whole request within [`NEWCOMER`], or within [`HASTE`] where half of the slots
//!    are taken by such, or has been sending one for longer than [`PATIENCE`]: the oldest one of the address that has
//!    most of them. Where an address has more than [`NEWCOMERS`] at a time, they are not waited for, and a sixteenth of
//!    these goes at a time;
//! 2. a connection of the address that has most, where that is more than its share, or where so many of them are idle
//!    as no API server keeps: the one that has been idle for longest. The share is all slots divided by the addresses
//!    that have sent a whole request, and the address that asks for a slot. Where all of them are in use, as many as
//!    are beyond the share are told to end with their next answer, which no client minds.
//!
//! Where each address has its share, the connection that has been idle for longest goes, after [`LONG_IDLE`]. A
//! connection that was told to end and has not ended within [`EvictionRules::leaving`] belongs to the first group.
//!
//! With 4 slots: two idle connections of `10.0.0.1`, which asked before, and two of `10.0.0.9`, which never did. The
//! next to come takes the slot of the older one of `10.0.0.9`. Had these asked, it would be that of the longest idle
//! one of either, if it came from a third address, as each had more than a third of four.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

use super::requests::Requests;

/// The open connections of one listener.
#[derive(Debug, Default)]
pub(super) struct OpenConnections {
    next: u64,
    /// By age, the oldest first.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    since: Instant,
    requests: Requests,
}

/// When connections of a listener make room.
#[derive(Clone, Copy, Debug)]
pub struct EvictionRules {
    /// How many connections an address may keep idle.
    pub idle_of_a_peer: usize,
    /// How long a connection is idle before no client is about to use it.
    pub settled: Duration,
    /// How long a connection that is told to end after its answers may take.
    pub leaving: Duration,
}

/// Who can be missed.
#[derive(Clone, Debug)]
pub(super) enum EvictionClass {
    /// They do nothing that anybody waits for.
    Now(Vec<Requests>),
    /// They are in use, each until its next answer.
    AfterAnswers(Vec<Requests>),
}

impl EvictionClass {
    /// Tells them to go, and returns how many that were.
    pub(super) fn tell(self) -> usize {
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

/// What one address has.
#[derive(Debug, Default)]
struct PeerConnections<'a> {
    all: usize,
    /// Those that have nothing whole to show, the oldest first.
    unproven: Vec<&'a Connection>,
    /// How many have no request, and the one that has had none for longest.
    idle: usize,
    longest_idle: Option<(Instant, &'a Connection)>,
    /// Those that were told to leave already.
    leaving: usize,
    in_use: Vec<&'a Connection>,
}

impl OpenConnections {
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Another one, as whoever it is from then on.
    pub(super) fn add(&mut self, peer: IpAddr, requests: Requests) -> u64 {
        let id = self.next;
        self.next += 1;
        self.connections.insert(id, Connection { peer: network(peer), since: Instant::now(), requests });
        id
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.connections.remove(&id);
    }

    /// Whether a slot will be free as soon as a task has ended.
    pub(super) fn somebody_is_leaving(&self) -> bool {
        self.connections.values().any(|connection| connection.requests.is_evicted())
    }

    /// Who makes room for a connection of `newcomer`, where there are `slots`, and any address may keep
    /// `idle_of_a_peer` that it does not use.
    pub(super) fn who_can_be_missed(
        &self,
        newcomer: IpAddr,
        slots: usize,
        rules: EvictionRules,
    ) -> Option<EvictionClass> {
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
        // Of two addresses with as many, the one whose connection is older.
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
            // Connections without a request yet have their time first.
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

    /// Whether one of its connections has sent a whole request.
    fn is_proven(&self) -> bool {
        self.all > self.unproven.len()
    }

    /// How many it has beyond what it may.
    fn surplus(&self, share: usize, idle_of_a_peer: usize) -> Option<usize> {
        let surplus = self.all.saturating_sub(share).max(self.idle.saturating_sub(idle_of_a_peer));
        (surplus > 0).then_some(surplus)
    }

    /// What it can do without. Whoever reuses its connections takes the youngest, and a moment after the last answer.
    fn parting(&self, surplus: usize, rules: EvictionRules, now: Instant) -> Option<EvictionClass> {
        if let Some((_, idle)) = self.longest_idle.filter(|(since, _)| now - *since > rules.settled) {
            return Some(EvictionClass::Now(vec![idle.requests.clone()]));
        }
        let more = self.in_use.iter().take(surplus.saturating_sub(self.leaving));
        let more: Vec<_> = more.map(|connection| connection.requests.clone()).collect();
        (!more.is_empty()).then_some(EvictionClass::AfterAnswers(more))
    }
}

/// The connections of all addresses without a complete request within `patience`, the oldest first.
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

/// The connection that has been idle for longest, where every address has its share: there are as many addresses as
/// slots.
fn longest_idle<'a>(peers: impl Iterator<Item = &'a PeerConnections<'a>>, now: Instant) -> Option<EvictionClass> {
    let (since, connection) = peers.filter_map(|peer| peer.longest_idle).min_by_key(|(since, _)| *since)?;
    (now - since > LONG_IDLE).then(|| EvictionClass::Now(vec![connection.requests.clone()]))
}

/// Whether the oldest that has nothing to show had its time. Whoever stopped in the middle of a request had.
fn is_overdue(unproven: &[&Connection], now: Instant, patience: Duration) -> bool {
    unproven.first().is_some_and(|oldest| now - oldest.since > patience)
}

/// What one peer is: an IPv4 address, or a network of IPv6 (whoever has one address of a /64 has all of them).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// How long a request may take to arrive before its connection can be missed. A body of 64 MiB takes half a second at
/// 1 Gbit/s.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a connection may take for a handshake and a request before it can be missed. API servers take milliseconds,
/// and do not repeat a call whose handshake fails.
const NEWCOMER: Duration = Duration::from_millis(500);

/// The same where many wait: thousands of addresses with one silent connection each would fill the kernel's queue, and
/// a call would wait behind them for seconds. A handshake and a request take a few milliseconds.
const HASTE: Duration = Duration::from_millis(100);

/// How many connections an address may be opening at a time. An API server opens one for each call that finds none.
const NEWCOMERS: usize = 8;

/// One of so many goes at a time, of the connections that an address is opening beyond [`NEWCOMERS`]. On a busy
/// processor each time takes tens of milliseconds: so a call behind dozens of others has a slot within a quarter of a
/// second, and another quarter to arrive before its own turn to go would come.
const AT_A_TIME: usize = 16;

/// The share of an address is at least so many connections, or a 32nd of the slots: callers have some at a time, and
/// hundreds of other addresses must not close these.
const FEW: usize = 8;

/// How long a connection is idle before it makes room for an address without one: longer than the pauses of a busy
/// caller. A kube-apiserver opens another connection when it finds one closed.
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

    fn ask(requests: &Requests) -> InFlightGuard {
        let mut request = requests.begin();
        request.arrived();
        request
    }

    /// Who makes room for `peer`, of these: at once, or after an answer.
    fn who(open: &OpenConnections, all: &[Requests], peer: &str) -> (Vec<usize>, Vec<usize>) {
        if let Some(parting) = open.who_can_be_missed(peer.parse().unwrap(), open.len(), RULES) {
            parting.tell();
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
            drop(ask(requests));
            pass(1).await;
        }
        pass(101).await;
        assert_eq!(who(&open, &all, GOOD), (vec![2], vec![]), "the longest idle of who has most");
        assert_eq!(who(&open, &all, GOOD), (vec![2], vec![]), "each has no more than two of six");
        let (evicted, _) = who(&open, &all, "10.0.0.7");
        assert_eq!(evicted.len(), 2, "a fourth may have one: {evicted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connection_ends_after_response() {
        let mut open = OpenConnections::default();
        let all = [BAD, BAD, BAD, BAD].map(|peer| add(&mut open, peer));
        let _busy = ask(&all[0]);
        for requests in &all[1..] {
            drop(ask(requests));
        }
        assert_eq!(who(&open, &all, BAD), (vec![], vec![]), "these are its own");
        assert_eq!(who(&open, &all, GOOD), (vec![], vec![0, 1]), "it may have two of four");
        assert_eq!(who(&open, &all, GOOD), (vec![], vec![0, 1]), "they will");
        pass(101).await;
        assert_eq!(who(&open, &all, GOOD), (vec![1], vec![0, 1]), "or need not");
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_gets_request_time() {
        let mut open = OpenConnections::default();
        let good = [add(&mut open, GOOD)];
        assert_eq!(who(&open, &good, GOOD).0, Vec::<usize>::new());
        pass(501).await;
        assert_eq!(who(&open, &good, GOOD).0, vec![0]);

        let mut open = OpenConnections::default();
        let flood: Vec<_> = (0..=NEWCOMERS).map(|_| add(&mut open, BAD)).collect();
        assert_eq!(who(&open, &flood, GOOD).0, vec![0], "too many of them at a time");

        let mut open = OpenConnections::default();
        let flood: Vec<_> = (0..NEWCOMERS + 40).map(|_| add(&mut open, BAD)).collect();
        assert_eq!(who(&open, &flood, GOOD).0, vec![0, 1, 2], "a sixteenth of them");
    }

    #[tokio::test(start_paused = true)]
    async fn many_silent_addresses_are_evicted() {
        let addresses = ["10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.1.4", "10.0.1.5"];
        let mut open = OpenConnections::default();
        let all: Vec<_> = addresses.iter().map(|address| add(&mut open, address)).collect();
        let _busy: Vec<_> = all[..3].iter().map(ask).collect();
        pass(101).await;
        assert_eq!(who(&open, &all, GOOD).0, Vec::<usize>::new(), "two of five are given their time");
        let more = [add(&mut open, "10.0.1.6"), add(&mut open, "10.0.1.7")];
        let (gone, _) = who(&open, &all, GOOD);
        assert!(gone == [3] || gone == [4], "four of seven wait: {gone:?}");
        drop(more);
    }

    #[tokio::test(start_paused = true)]
    async fn silent_addresses_reduce_no_share() {
        let mut open = OpenConnections::default();
        let all = [GOOD, GOOD].map(|peer| add(&mut open, peer));
        all.iter().for_each(|requests| drop(ask(requests)));
        pass(5000).await;
        let silent: Vec<_> = (1..=4).map(|last| add(&mut open, &format!("10.0.1.{last}"))).collect();
        assert_eq!(who(&open, &all, "10.0.1.5").0, Vec::<usize>::new(), "two of six slots, for two addresses");
        pass(101).await;
        assert_eq!(who(&open, &silent, "10.0.1.5").0.len(), 1, "a silent one has had its time");
        assert!(all.iter().all(|requests| !requests.is_evicted()));
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connection_ends_after_its_time() {
        let mut open = OpenConnections::default();
        let all = [BAD, BAD, BAD, BAD].map(|peer| add(&mut open, peer));
        let mut bodies: Vec<_> = all.iter().map(ask).collect();
        assert_eq!(who(&open, &all, GOOD), (vec![], vec![0, 1]), "it may have two of four");
        for _ in 0..4 {
            pass(300).await;
            bodies = all.iter().map(Requests::begin).collect();
        }
        assert_eq!(who(&open, &all, GOOD).0, vec![0], "it takes requests all the time, and does not end");
        drop(bodies);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_addresses_make_room_for_another() {
        let mut open = OpenConnections::default();
        let all = ["10.0.1.1", "10.0.1.2", "10.0.1.3"].map(|peer| add(&mut open, peer));
        for requests in &all {
            drop(ask(requests));
            pass(10).await;
        }
        assert_eq!(who(&open, &all, GOOD).0, Vec::<usize>::new(), "each has its share of one, and may call again");
        pass(1001).await;
        assert_eq!(who(&open, &all, GOOD).0, vec![0]);
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
