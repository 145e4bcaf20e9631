//! The decisions of a server: the webhook with its definitions and facts, which are replaced while it serves.

pub(crate) mod current_tls;
pub(crate) mod decide;
pub(crate) mod definitions;
pub(crate) mod live_webhook;
