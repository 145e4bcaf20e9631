//! Asks servers that are no API server, by one GET each. No redirect is followed, no proxy is used, nothing is sent
//! that says who asks, and nothing is asked twice.

mod system_roots;
#[cfg(test)]
pub(crate) mod tests;
mod web_client;

pub(crate) use web_client::{BodyWanted, WebClient};
