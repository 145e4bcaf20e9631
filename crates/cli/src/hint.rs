//! The hint of an error: the next command to try.

use std::fmt;

/// The outermost context of an error, printed on its own line. See [`hinted`].
#[derive(Debug)]
pub(crate) struct Hint(String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds a hint to an error.
pub fn hinted(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
    error.into().context(Hint(hint.into()))
}
