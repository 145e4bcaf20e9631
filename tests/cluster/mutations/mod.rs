//! Mutations of other kinds on a real API server.

pub(crate) mod facts;
pub(crate) mod nasty;
pub(crate) mod policies;
pub(crate) mod policies_by_hand;
