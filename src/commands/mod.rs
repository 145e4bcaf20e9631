//! One file per subcommand: flags in, calls out.

pub(crate) mod serve;

/// Flags that make no sense together: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);
