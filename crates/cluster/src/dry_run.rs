//! Doing nothing.

/// How nothing is changed, as kubectl calls it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DryRun {
    /// Nothing is sent.
    Client,
    /// What can be judged by the API server as things stand is sent to it, and not stored.
    Server,
}

impl DryRun {
    /// As kubectl spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}
