//! Connections: accepted, given a place, shaken hands with, spoken HTTP on, and let go.

mod accept;
mod connection;
mod handshake_failure;
mod lifecycle;
mod places;
mod requests;
mod stream;

pub use self::connection::{Answer, Answering, IdleTimeouts, serve};
pub use self::handshake_failure::HandshakeFailure;
pub use self::lifecycle::{Lifecycle, Phase};
pub use self::places::{Entered, Place, Places};
pub use self::requests::{Requests, UnderWay};
pub use self::stream::{Handshake, Protocol, Stream};
