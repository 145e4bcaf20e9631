//! Dry runs.

/// The mode of a dry run, as in kubectl.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DryRun {
    /// Sends no requests.
    Client,
    /// Sends requests that the API server can evaluate in the current state, without storing them.
    Server,
}

impl DryRun {
    /// As spelled in kubectl.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}
