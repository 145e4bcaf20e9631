//! Local times in time zones.

use std::collections::BTreeMap;

use jiff::{Timestamp, tz::TimeZone};
use pointsman_rollout::{ClockReading, LocalTime, Rollout};

/// The local times in the zones of a rollout's windows. Unknown zones are missing.
pub(super) fn local_times(rollout: &Rollout, now: ClockReading) -> BTreeMap<String, LocalTime> {
    rollout.zones().filter_map(|zone| Some((zone.to_owned(), local_time(zone, now.wall)?))).collect()
}

/// The first unknown zone of a rollout's windows.
#[must_use]
pub fn unknown_zone(rollout: &Rollout) -> Option<&str> {
    rollout.zones().find(|zone| local_time(zone, 0).is_none())
}

fn local_time(zone: &str, wall: u64) -> Option<LocalTime> {
    let zone = TimeZone::get(zone).ok()?;
    let there = zone.to_datetime(Timestamp::from_second(i64::try_from(wall).ok()?).ok()?);
    let minute = u16::try_from(there.hour()).ok()? * 60 + u16::try_from(there.minute()).ok()?;
    Some(LocalTime { weekday: u8::try_from(there.weekday().to_monday_zero_offset()).ok()?, minute })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_later_in_the_east() {
        // 2026-11-22T23:30:00Z, a Sunday.
        let at = |zone: &str| local_time(zone, 1_795_390_200).map(|there| (there.weekday, there.minute));
        assert_eq!(at("UTC"), Some((6, 23 * 60 + 30)));
        assert_eq!(at("Asia/Tokyo"), Some((0, 8 * 60 + 30)));
        assert_eq!(at("America/St_Johns"), Some((6, 20 * 60)));
        assert_eq!(at("Asia/Tokio"), None);
        // Summer time in London.
        assert_eq!(local_time("Europe/London", 1_782_000_000).unwrap().minute, 60);
    }
}
