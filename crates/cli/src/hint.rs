//! What a person may do next, beside what went wrong.

use std::fmt;

/// The outermost context of an error; said on a line of its own. See [`hinted`].
#[derive(Debug)]
pub(crate) struct Hint(String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The error, with what to do next.
pub fn hinted(error: impl Into<anyhow::Error>, hint: impl Into<String>) -> anyhow::Error {
    error.into().context(Hint(hint.into()))
}
