//! Errors of flags that clap cannot detect.

/// Invalid flags, with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
