//! The time limit of a step.

use std::time::Duration;

use pointsman_core::apimachinery::parse_duration;

/// Parses a time limit.
pub(in crate::definition::workflows) fn time_limit(text: Option<&str>, bad: &mut Vec<String>) -> Option<Duration> {
    let text = text?;
    let read = parse_duration(text).ok();
    if read.is_none_or(|read| read.is_zero()) {
        bad.push(format!("timeout: {text:?} is not a duration: use forms such as 60s, 30m"));
    }
    read
}
