//! How long a step may take.

use std::time::Duration;

use crate::apimachinery::parse_duration;

/// How long something may take.
pub(super) fn time_limit(text: Option<&str>, bad: &mut Vec<String>) -> Option<Duration> {
    let text = text?;
    let read = parse_duration(text).ok();
    if read.is_none_or(|read| read.is_zero()) {
        bad.push(format!("timeout: {text:?} is not a duration: use forms such as 60s, 30m"));
    }
    read
}
