//! Flags that are wrong in a way that clap cannot see.

/// Flags that make no sense together: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
