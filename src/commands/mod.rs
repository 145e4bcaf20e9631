//! One file per subcommand: flags in, calls out.

pub(crate) mod completion;
pub(crate) mod convert;
pub(crate) mod crd;
pub(crate) mod hash;
mod input;
pub(crate) mod kinds;
mod kinds_dir;
pub(crate) mod mutate;
mod node;
mod output;
pub(crate) mod serve;
pub(crate) mod validate;
pub(crate) mod webhooks;
mod written;
mod yaml;

/// Flags that make no sense together: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);
