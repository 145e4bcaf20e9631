//! The path of a request, from its head to the response.

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod request_handler;
pub(crate) mod request_head;
pub(crate) mod routes;
