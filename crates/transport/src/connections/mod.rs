//! Connections: accept, slots, TLS handshake, HTTP, and end.

mod accept;
mod connection;
mod connection_slots;
mod fair_share;
mod handshake_failure;
mod lifecycle;
mod open_connections;
mod requests;
mod service;
mod stream;

pub use self::connection::{IdleTimeouts, serve};
pub use self::connection_slots::{AcceptedConnection, ConnectionSlot, ConnectionSlots};
pub use self::handshake_failure::HandshakeFailure;
pub use self::lifecycle::{Lifecycle, Phase};
pub use self::open_connections::EvictionRules;
pub use self::requests::{InFlightGuard, Requests};
pub use self::service::{AnswerFuture, Handler};
pub use self::stream::{Protocol, Stream};
