//! The slots of a listener: one for each connection, so many and no more. When all are taken, a connection that can be
//! missed makes room for the next.
//!
//! A kube-apiserver sends a whole request within milliseconds of connecting, and keeps few connections that it does not
//! use. So these can be missed, in this order, and nobody else:
//!
//! 1. a connection that has not sent a whole request yet, or has been sending one for longer than [`PATIENCE`]: the
//!    oldest one of the address that has most of them;
//! 2. a connection without a request, where its address has more of them than [`ConnectionSlots::new`] says: the one
//!    that has been idle for longest.
//!
//! With 4 slots: two idle connections of `10.0.0.1`, which asked before, and two of `10.0.0.9`, which never did. The
//! next to come takes the slot of the older one of `10.0.0.9`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::accept::accept;
use super::requests::Requests;

/// The slots of one listener.
#[derive(Clone)]
pub struct ConnectionSlots(Arc<SharedSlots>);

struct SharedSlots {
    most: usize,
    idle_of_a_peer: usize,
    /// Called for each that had to go.
    evicted: Box<dyn Fn() + Send + Sync>,
    open: Mutex<OpenConnections>,
    /// Who was accepted and has no slot yet.
    lobby: Mutex<Option<(TcpStream, SocketAddr)>>,
    /// Someone left.
    freed: Notify,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    /// By age, the oldest first.
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    requests: Requests,
}

impl ConnectionSlots {
    /// `most` connections, of which any address may keep `idle_of_a_peer` that it does not use. `evicted` is
    /// called for each that has to go.
    #[must_use]
    pub fn new(most: usize, idle_of_a_peer: usize, evicted: Box<dyn Fn() + Send + Sync>) -> Self {
        Self(Arc::new(SharedSlots {
            most: most.max(1),
            idle_of_a_peer,
            evicted,
            open: Mutex::default(),
            lobby: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Accepts a connection and gives it a slot, once there is one or somebody can be missed.
    ///
    /// Nothing is lost where the future is dropped: who was accepted already waits for the next call.
    pub async fn accept(&self, socket: &TcpListener) -> Entered {
        loop {
            if self.has_room() {
                if self.0.lobby().is_none() {
                    let accepted = accept(socket).await;
                    *self.0.lobby() = Some(accepted);
                }
                // Time has passed: whoever could be missed may have become busy.
                if let Some(entered) = self.enter() {
                    return entered;
                }
            }
            // Time alone may turn a connection into one that can be missed.
            let _ = timeout(LOOK_AGAIN, self.0.freed.notified()).await;
        }
    }

    fn has_room(&self) -> bool {
        let open = self.0.open();
        open.connections.len() < self.0.most
            || open.somebody_is_leaving()
            || open.victim(self.0.idle_of_a_peer, Instant::now()).is_some()
    }

    fn enter(&self) -> Option<Entered> {
        let mut lobby = self.0.lobby();
        let peer = lobby.as_ref()?.1.ip();
        let slot = self.take(peer)?;
        let (stream, addr) = lobby.take()?;
        Some(Entered { stream, addr, slot })
    }

    /// A slot for a connection of `peer`. Where all are taken, whoever can be missed is told to go, one at a time, and
    /// the slot is there when it has gone.
    fn take(&self, peer: IpAddr) -> Option<ConnectionSlot> {
        let mut open = self.0.open();
        if open.connections.len() >= self.0.most {
            if !open.somebody_is_leaving()
                && let Some(victim) = open.victim(self.0.idle_of_a_peer, Instant::now())
                && let Some(connection) = open.connections.get(&victim)
            {
                connection.requests.evict();
                (self.0.evicted)();
                tracing::debug!(peer = %connection.peer, "connection closed to make room");
            }
            return None;
        }
        let requests = Requests::default();
        let id = open.next;
        open.next += 1;
        let connection = Connection { peer: network(peer), requests: requests.clone() };
        open.connections.insert(id, connection);
        drop(open);
        Some(ConnectionSlot { id, shared: Arc::clone(&self.0), requests })
    }
}

/// A connection that has its slot.
#[derive(Debug)]
pub struct Entered {
    /// The socket. Nothing was read from it.
    pub stream: TcpStream,
    /// Who is at the other end.
    pub addr: SocketAddr,
    /// Its slot.
    pub slot: ConnectionSlot,
}

impl fmt::Debug for ConnectionSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedSlots { most, idle_of_a_peer, open, .. } = &*self.0;
        f.debug_struct("ConnectionSlots")
            .field("most", most)
            .field("idle_of_a_peer", idle_of_a_peer)
            .field("open", open)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectionSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionSlot").field("id", &self.id).field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl SharedSlots {
    /// Nothing in here panics half-way.
    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lobby(&self) -> MutexGuard<'_, Option<(TcpStream, SocketAddr)>> {
        self.lobby.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    fn somebody_is_leaving(&self) -> bool {
        self.connections.values().any(|connection| connection.requests.is_evicted())
    }

    fn victim(&self, idle_of_a_peer: usize, now: Instant) -> Option<u64> {
        let mut unproven: HashMap<IpAddr, (usize, u64)> = HashMap::new();
        let mut idle: HashMap<IpAddr, (usize, Instant, u64)> = HashMap::new();
        for (id, Connection { peer, requests }) in &self.connections {
            let state = requests.state();
            if state.evicted {
                continue;
            }
            if state.can_be_missed(now, PATIENCE) {
                unproven.entry(*peer).or_insert((0, *id)).0 += 1;
            } else if let Some(since) = state.idle_since() {
                let (count, longest, oldest) = idle.entry(*peer).or_insert((0, since, *id));
                *count += 1;
                if since < *longest {
                    (*longest, *oldest) = (since, *id);
                }
            }
        }
        // Of two addresses with as many, the one whose connection is older.
        let most = |(count, id): &(usize, u64)| (*count, u64::MAX - id);
        if let Some((_, id)) = unproven.into_values().max_by_key(most) {
            return Some(id);
        }
        let (count, _, id) = idle.into_values().max_by_key(|(count, _, _)| *count)?;
        (count > idle_of_a_peer).then_some(id)
    }
}

/// A slot that is taken, until it is dropped.
pub struct ConnectionSlot {
    id: u64,
    shared: Arc<SharedSlots>,
    /// What is under way on the connection.
    pub(super) requests: Requests,
}

impl ConnectionSlot {
    /// Waits until the slot is needed for somebody else.
    pub async fn evicted(&self) {
        // The sender is part of `self`: this cannot fail.
        let _ = self.requests.subscribe().wait_for(|state| state.evicted).await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.shared.open().connections.remove(&self.id);
        self.shared.freed.notify_one();
    }
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

const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const GOOD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const BAD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));

    fn ask(slot: &ConnectionSlot) {
        let mut request = slot.requests.begin();
        request.arrived();
    }

    fn is_evicted(slot: &ConnectionSlot) -> bool {
        slot.requests.is_evicted()
    }

    fn slots(most: usize, idle_of_a_peer: usize) -> ConnectionSlots {
        ConnectionSlots::new(most, idle_of_a_peer, Box::new(|| {}))
    }

    #[test]
    fn the_oldest_that_never_asked_makes_room() {
        let evicted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&evicted);
        let slots = ConnectionSlots::new(4, 10, Box::new(move || _ = counter.fetch_add(1, Ordering::Relaxed)));
        let [kept, first, second, fresh] = [GOOD, BAD, BAD, GOOD].map(|peer| slots.take(peer).unwrap());
        ask(&kept);
        assert!(slots.take(GOOD).is_none() && slots.take(GOOD).is_none(), "one at a time");
        assert_eq!([&kept, &first, &second, &fresh].map(is_evicted), [false, true, false, false]);
        assert!(slots.has_room());
        drop(first);
        assert!(slots.take(GOOD).is_some());
        assert_eq!(evicted.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn those_who_asked_stay_and_the_next_one_waits() {
        let slots = slots(2, 10);
        let [one, other] = [GOOD, GOOD].map(|peer| slots.take(peer).unwrap());
        ask(&one);
        ask(&other);
        assert!(!slots.has_room() && slots.take(GOOD).is_none());
        assert_eq!([&one, &other].map(is_evicted), [false, false]);
        drop(one);
        assert!(slots.take(GOOD).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_keeps_more_than_its_share_loses_the_longest_idle() {
        let slots = slots(3, 1);
        let [busy, one, other] = [BAD; 3].map(|peer| slots.take(peer).unwrap());
        ask(&other);
        tokio::time::sleep(Duration::from_millis(5)).await;
        ask(&one);
        ask(&busy);
        let mut deciding = busy.requests.begin();
        deciding.arrived();
        assert!(slots.take(GOOD).is_none());
        assert_eq!([&busy, &one, &other].map(is_evicted), [false, false, true]);
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let [one, same, other, four, mapped] =
            ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "10.0.0.1", "::ffff:10.0.0.1"]
                .map(|text| network(text.parse().unwrap()));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(four, mapped);
    }
}
