//! Reports of skipped tests, for machines without a required program.

use std::io::{self, Write};

/// Prints the reason to stderr directly: the test harness hides the output of a test that passes.
pub(crate) fn left_out(why: &str) {
    // A closed stderr cannot report.
    let _ = writeln!(io::stderr(), "{why}");
}
