//! Error messages with causes.

use std::fmt::Write;

/// An error with its causes, without repetition.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(error) = source {
        let said = error.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
        source = error.source();
    }
    text
}
