//! The connection slots of a listener, limited in number. If all are in use, a connection is evicted for the next one,
//! chosen by `open_connections`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::accept::accept;
use super::open_connections::{EvictionRules, OpenConnections};
use super::requests::Requests;

/// The slots of one listener.
#[derive(Clone)]
pub struct ConnectionSlots(Arc<SharedSlots>);

struct SharedSlots {
    most: usize,
    rules: EvictionRules,
    /// Called for each eviction.
    evicted: Box<dyn Fn() + Send + Sync>,
    open: Mutex<OpenConnections>,
    /// An accepted connection without slot.
    lobby: Mutex<Option<(TcpStream, SocketAddr)>>,
    /// A slot was freed.
    freed: Notify,
}

impl ConnectionSlots {
    /// `most` slots, and rules for evictions. `evicted` is called for each eviction.
    #[must_use]
    pub fn new(most: usize, rules: EvictionRules, evicted: Box<dyn Fn() + Send + Sync>) -> Self {
        Self(Arc::new(SharedSlots {
            most: most.max(1),
            rules,
            evicted,
            open: Mutex::default(),
            lobby: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Accepts a connection and gives it a slot, once one is free or evicted.
    ///
    /// Cancel-safe: an accepted connection waits for the next call.
    pub async fn accept(&self, socket: &TcpListener) -> AcceptedConnection {
        loop {
            if self.0.lobby().is_none() {
                let accepted = accept(socket).await;
                *self.0.lobby() = Some(accepted);
            }
            if let Some(entered) = self.enter() {
                return entered;
            }
            // A connection may become evictable by time alone.
            let _ = timeout(RECHECK, self.0.freed.notified()).await;
        }
    }

    fn enter(&self) -> Option<AcceptedConnection> {
        let mut lobby = self.0.lobby();
        let peer = lobby.as_ref()?.1.ip();
        let slot = self.take(peer)?;
        let (stream, addr) = lobby.take()?;
        Some(AcceptedConnection { stream, addr, slot })
    }

    /// A slot for a connection of `peer`. If all are in use, evicts connections in steps; the slot is available when
    /// they have ended.
    fn take(&self, peer: IpAddr) -> Option<ConnectionSlot> {
        let mut open = self.0.open();
        let SharedSlots { most, rules, .. } = *self.0;
        if open.len() < most {
            let requests = Requests::default();
            let id = open.add(peer, requests.clone());
            return Some(ConnectionSlot { id, shared: Arc::clone(&self.0), requests });
        }
        if !open.is_slot_pending()
            && let Some(parting) = open.evictable(peer, most, rules)
        {
            let evicted = parting.evict();
            (0..evicted).for_each(|_| (self.0.evicted)());
            tracing::debug!(evicted, "connections closed to make room");
        }
        None
    }
}

/// A connection with its slot.
#[derive(Debug)]
pub struct AcceptedConnection {
    /// The unread socket.
    pub stream: TcpStream,
    /// The peer address.
    pub addr: SocketAddr,
    /// Its slot.
    pub slot: ConnectionSlot,
}

impl fmt::Debug for ConnectionSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedSlots { most, rules, open, .. } = &*self.0;
        f.debug_struct("ConnectionSlots")
            .field("most", most)
            .field("rules", rules)
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
    /// No code panics while holding this lock.
    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lobby(&self) -> MutexGuard<'_, Option<(TcpStream, SocketAddr)>> {
        self.lobby.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot in use, until dropped.
pub struct ConnectionSlot {
    id: u64,
    shared: Arc<SharedSlots>,
    /// The requests in flight on the connection.
    pub(super) requests: Requests,
}

impl ConnectionSlot {
    /// The requests of its connection.
    #[must_use]
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Waits until the connection is evicted.
    pub async fn evicted(&self) {
        // The sender is part of `self`, so this cannot fail.
        let _ = self.requests.subscribe().wait_for(|state| state.evicted).await;
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.shared.open().remove(self.id);
        self.shared.freed.notify_one();
    }
}

const RECHECK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const GOOD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const BAD: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 9));

    fn complete_request(slot: &ConnectionSlot) {
        let mut request = slot.requests.begin();
        request.arrived();
    }

    fn is_evicted(slot: &ConnectionSlot) -> bool {
        slot.requests.is_evicted()
    }

    fn rules(idle_of_a_peer: usize) -> EvictionRules {
        EvictionRules { idle_of_a_peer, settled: Duration::from_millis(100), leaving: Duration::from_secs(1) }
    }

    fn slots(most: usize, idle_of_a_peer: usize) -> ConnectionSlots {
        ConnectionSlots::new(most, rules(idle_of_a_peer), Box::new(|| {}))
    }

    async fn pass(milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_silent_connection_is_evicted() {
        let evicted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&evicted);
        let slots = ConnectionSlots::new(4, rules(10), Box::new(move || _ = counter.fetch_add(1, Ordering::Relaxed)));
        let [kept, first, second, fresh] = [GOOD, BAD, BAD, GOOD].map(|peer| slots.take(peer).unwrap());
        complete_request(&kept);
        pass(501).await;
        assert!(slots.take(GOOD).is_none() && slots.take(GOOD).is_none(), "one at a time");
        assert_eq!([&kept, &first, &second, &fresh].map(is_evicted), [false, true, false, false]);
        drop(first);
        assert!(slots.take(GOOD).is_some());
        assert_eq!(evicted.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connections_stay_next_waits() {
        let slots = slots(2, 10);
        let [one, other] = [GOOD, GOOD].map(|peer| slots.take(peer).unwrap());
        complete_request(&one);
        complete_request(&other);
        pass(900).await;
        assert!(slots.take(GOOD).is_none());
        assert_eq!([&one, &other].map(is_evicted), [false, false]);
        pass(200).await;
        assert!(slots.take(GOOD).is_none());
        assert_eq!([&one, &other].map(is_evicted), [true, false], "the longest idle one");
        drop(one);
        assert!(slots.take(GOOD).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn largest_peer_loses_longest_idle() {
        let slots = slots(3, 1);
        let [busy, one, other] = [BAD; 3].map(|peer| slots.take(peer).unwrap());
        complete_request(&other);
        pass(5).await;
        complete_request(&one);
        complete_request(&busy);
        let mut deciding = busy.requests.begin();
        deciding.arrived();
        pass(200).await;
        assert!(slots.take(GOOD).is_none());
        assert_eq!([&busy, &one, &other].map(is_evicted), [false, false, true]);
    }
}
