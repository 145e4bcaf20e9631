//! HTTP requests to servers other than the API server: one GET each, without redirects, proxies, credentials or
//! retries.

mod system_roots;
#[cfg(test)]
pub(crate) mod tests;
mod web_client;

pub(crate) use web_client::{BodyWanted, WebClient};
