//! Rollout windows: days and times of day in a time zone.

use super::document::WindowSpec;

/// A window in which objects may begin.
#[derive(Clone, Debug)]
pub(crate) struct RolloutWindow {
    /// From Monday to Sunday.
    days: [bool; 7],
    /// Minutes after midnight.
    from: u16,
    /// Also in minutes. If not later than `from`, on the next day.
    to: u16,
    pub(crate) zone: String,
    /// As written.
    words: String,
}

/// A time of the week, in a time zone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LocalTime {
    /// Days after Monday, at most 6.
    pub weekday: u8,
    /// Minutes after midnight, less than 1440.
    pub minute: u16,
}

impl RolloutWindow {
    pub(crate) fn compile(spec: &WindowSpec) -> Result<Self, String> {
        let WindowSpec { days, from, to, zone } = spec;
        let zone = zone.clone().unwrap_or_else(|| "UTC".to_owned());
        let words = format!("{} {from}-{to} {zone}", if days.is_empty() { "daily".to_owned() } else { days.join(",") });
        let (start, end) = (time(from)?, time(to)?);
        if start == end || start == MIDNIGHT {
            return Err(format!(
                "from {from} to {to} is empty: use two different times, the first before 24:00 (an earlier `to` is on the next day)"
            ));
        }
        Ok(Self { days: weekdays(days)?, from: start, to: end, zone, words })
    }

    fn is_open(&self, at: LocalTime) -> bool {
        let on = |weekday: u8| self.days.get(usize::from(weekday % DAYS)).copied().unwrap_or_default();
        let (today, yesterday) = (on(at.weekday), on(at.weekday + DAYS - 1));
        match self.from < self.to {
            true => today && (self.from..self.to).contains(&at.minute),
            // Ends on the next day.
            false => (today && at.minute >= self.from) || (yesterday && at.minute < self.to),
        }
    }
}

/// A message if no window is open at its local time; `None` if one is open, or none is defined.
pub(crate) fn closed(windows: &[RolloutWindow], local: impl Fn(&str) -> Option<LocalTime>) -> Option<String> {
    // With an unknown zone, the local time is unknown and the window closed.
    let is_open = |window: &RolloutWindow| local(&window.zone).is_some_and(|at| window.is_open(at));
    if windows.is_empty() || windows.iter().any(is_open) {
        return None;
    }
    let words = windows.iter().map(|window| match local(&window.zone) {
        Some(_) => window.words.clone(),
        None => format!("{}, an unknown time zone", window.words),
    });
    let words: Vec<String> = words.collect();
    Some(format!("waiting for the next window: {}", words.join("; ")))
}

/// Minutes after midnight of `09:30`; `24:00` is the end of a day.
fn time(text: &str) -> Result<u16, String> {
    let parts = text.split_once(':').filter(|(hour, minute)| hour.len() == 2 && minute.len() == 2);
    let read = |part: &str| part.parse::<u16>().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()));
    let minutes = parts.and_then(|(hour, minute)| Some((read(hour)?, read(minute)?)));
    let minutes = minutes.filter(|(hour, minute)| *minute < 60 && hour * 60 + minute <= MIDNIGHT);
    let (hour, minute) = minutes.ok_or_else(|| format!("{text:?} is no time of the day: use forms such as 09:00"))?;
    Ok(hour * 60 + minute)
}

/// Parses `mon` or `mon-thu`; every day if empty.
fn weekdays(days: &[String]) -> Result<[bool; 7], String> {
    let mut on = [days.is_empty(); 7];
    for text in days {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let at = |name: &str| {
            let found = NAMES.iter().position(|known| *known == name);
            found.ok_or_else(|| format!("{text:?} is no day: use {}, or forms such as mon-thu", NAMES.join(", ")))
        };
        let (first, last) = (at(first)?, at(last)?);
        // The week wraps after Sunday: fri-mon is four days.
        let length = (last + NAMES.len() - first) % NAMES.len();
        for day in first..=first + length {
            if let Some(day) = on.get_mut(day % NAMES.len()) {
                *day = true;
            }
        }
    }
    Ok(on)
}

const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const DAYS: u8 = 7;
/// The end of a day, in minutes.
const MIDNIGHT: u16 = 24 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(days: &[&str], from: &str, to: &str) -> Result<RolloutWindow, String> {
        let days = days.iter().map(|day| (*day).to_owned()).collect();
        RolloutWindow::compile(&WindowSpec { days, from: from.to_owned(), to: to.to_owned(), zone: None })
    }

    fn is_open(days: &[&str], from: &str, to: &str, weekday: u8, at: &str) -> bool {
        let local = LocalTime { weekday, minute: time(at).unwrap() };
        closed(&[window(days, from, to).unwrap()], |_| Some(local)).is_none()
    }

    #[test]
    fn window_includes_start_excludes_end() {
        for (days, weekday, at, open) in [
            (&["mon-thu"][..], 0, "08:59", false),
            (&["mon-thu"], 0, "09:00", true),
            (&["mon-thu"], 3, "15:59", true),
            (&["mon-thu"], 3, "16:00", false),
            (&["mon-thu"], 4, "12:00", false),
            (&["fri-mon", "wed"], 6, "12:00", true),
            (&["fri-mon", "wed"], 0, "12:00", true),
            (&["fri-mon", "wed"], 1, "12:00", false),
            (&["fri-mon", "wed"], 2, "12:00", true),
            (&[], 5, "12:00", true),
        ] {
            assert_eq!(is_open(days, "09:00", "16:00", weekday, at), open, "{days:?} {weekday} {at}");
        }
        assert!(is_open(&["sun"], "00:00", "24:00", 6, "23:59") && !is_open(&["sun"], "00:00", "24:00", 0, "00:00"));
    }

    #[test]
    fn night_window_counts_as_first_day() {
        for (weekday, at, open) in [
            (4, "21:59", false),
            (4, "22:00", true),
            (5, "01:59", true),
            (5, "02:00", false),
            (5, "22:00", false),
            (4, "01:00", false),
        ] {
            assert_eq!(is_open(&["fri"], "22:00", "02:00", weekday, at), open, "{weekday} {at}");
        }
        assert!(is_open(&["sun"], "22:00", "02:00", 0, "01:00"), "a week goes round");
    }

    #[test]
    fn invalid_window_is_refused() {
        for (days, from, to, expected) in [
            (&["mo"][..], "09:00", "16:00", "\"mo\" is no day: use mon, tue"),
            (&["mon-fry"], "09:00", "16:00", "\"mon-fry\" is no day"),
            (&[], "9:00", "16:00", "\"9:00\" is no time of the day"),
            (&[], "09:00", "24:01", "\"24:01\" is no time"),
            (&[], "09:60", "16:00", "\"09:60\" is no time"),
            (&[], "+9:00", "16:00", "\"+9:00\" is no time"),
            (&[], "09:00", "09:00", "is empty"),
            (&[], "24:00", "02:00", "is empty"),
        ] {
            let error = window(days, from, to).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn unknown_zone_never_opens() {
        let windows = [window(&[], "00:00", "24:00").unwrap()];
        let words = "waiting for the next window: daily 00:00-24:00 UTC, an unknown time zone";
        assert_eq!(closed(&windows, |_| None).unwrap(), words);
        assert_eq!(closed(&[], |_| None), None);
    }
}
