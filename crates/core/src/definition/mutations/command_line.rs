//! The command line of a container: sets and removes flags, and leaves all other words unchanged.

use super::argument::{Argument, ArgumentList, FlagForm, FlagPlace, FlagValue, is_truth};
use super::entries::{FlagEntry, joined_with, joined_without};
use super::shell::runs_a_script;
use crate::json::{Json, Members};

/// The words of a command line: those of `command`, then those of `args`.
pub(super) struct CommandLine<'j> {
    words: Vec<Argument<'j>>,
}

impl<'j> CommandLine<'j> {
    /// The command line of a container. `None` if one of the fields is no list, which the API server rejects.
    pub(super) fn of(container: &Members<'j>) -> Option<Self> {
        let mut words = Vec::new();
        for list in ArgumentList::ALL {
            let mut found = match container.get(list.name()) {
                Some(found) if !found.is_null() => found.clone(),
                _ => continue,
            };
            let all = std::mem::take(found.open_array()?);
            words.extend(all.into_iter().map(|json| Argument { list, json }));
        }
        Some(Self { words })
    }

    /// Returns whether the words belong to two programs, so that the owner of a flag is unclear: a shell receives a
    /// script with `-c`, or `--` in `command` starts the command line of another program.
    pub(super) fn is_of_two(&self) -> bool {
        let end = self.end();
        let words: Vec<String> = self.words.iter().take(end).map(|word| word.text().unwrap_or_default()).collect();
        runs_a_script(words.iter().map(String::as_str))
            || self.words.get(end).is_some_and(|end| end.list == ArgumentList::Command)
    }

    /// Writes the words back. Removes a list that became empty, because it would override that of the image.
    pub(super) fn put_into(self, container: &mut Members<'j>) {
        let mut lists = ArgumentList::ALL.map(|list| (list, Vec::new()));
        for Argument { list, json } in self.words {
            for (other, words) in &mut lists {
                if *other == list {
                    words.push(json);
                    break;
                }
            }
        }
        for (list, words) in lists {
            let before = container.get(list.name()).map_or(0, |list| list.elements().len());
            match (words.is_empty(), before) {
                (true, 0) => {}
                (true, _) => drop(container.remove(list.name())),
                (false, _) => container.set(list.name(), Json::Array(words)),
            }
        }
    }

    /// Ensures that a flag occurs once, with this value or without one.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) {
        let form = match value {
            None => FlagForm::Switch,
            Some(value) if is_truth(value) => FlagForm::Truth,
            Some(_) => FlagForm::Valued,
        };
        let places = self.places(name, form);
        let Some((first, others)) = places.split_first() else {
            return self.add(&written(name, value));
        };
        match (&first.value, value) {
            (FlagValue::Behind(_), Some(value)) => self.become_word(first.at + 1, value),
            (FlagValue::Joined(text), Some(value)) if text == value => {}
            // Equivalent to the name alone.
            (FlagValue::Joined(text), None) if text == "true" => {}
            (_, value) => self.become_word(first.at, &written(name, value)),
        }
        self.remove(others);
    }

    /// Removes all occurrences of a flag with their values.
    pub(super) fn unset(&mut self, name: &str, form: FlagForm) {
        let places = self.places(name, form);
        self.remove(&places);
    }

    /// Ensures that the value of a flag, a comma-separated list, has these entries.
    pub(super) fn set_entries(&mut self, name: &str, entries: &[FlagEntry]) {
        for entry in entries {
            let places = self.places(name, FlagForm::Valued);
            let mut found = false;
            for place in &places {
                if let Some((text, changed)) = place.text().and_then(|text| joined_with(text, entry)) {
                    found = true;
                    if changed {
                        self.give(name, place, &text);
                    }
                }
            }
            match (found, places.last()) {
                (true, _) => {}
                (false, None) => self.add(&written(name, Some(&entry.text()))),
                (false, Some(last)) => {
                    let before = last.text().unwrap_or_default();
                    let comma = if before.is_empty() { "" } else { "," };
                    self.give(name, last, &format!("{before}{comma}{}", entry.text()));
                }
            }
        }
    }

    /// Removes entries from the value of a flag. Removes the flag if no entry is left.
    pub(super) fn unset_entries(&mut self, name: &str, keys: &[String]) {
        let mut emptied = Vec::new();
        for place in self.places(name, FlagForm::Valued) {
            match place.text().and_then(|text| joined_without(text, keys)) {
                None => {}
                Some(left) if left.is_empty() => emptied.push(place),
                Some(left) => self.give(name, &place, &left),
            }
        }
        self.remove(&emptied);
    }

    /// The positions of a flag. Words after `--` are no flags.
    fn places(&self, name: &str, form: FlagForm) -> Vec<FlagPlace> {
        let mut places = Vec::new();
        let mut words = self.words.iter().map(Argument::text).enumerate().take(self.end()).peekable();
        while let Some((at, word)) = words.next() {
            let Some(word) = word else { continue };
            let value = match word.strip_prefix(name) {
                Some("") => match words.peek() {
                    Some((_, Some(next))) if form.takes(next) => FlagValue::Behind(next.clone()),
                    _ => FlagValue::Missing,
                },
                Some(rest) => match rest.strip_prefix('=') {
                    Some(value) => FlagValue::Joined(value.to_owned()),
                    None => continue,
                },
                None => continue,
            };
            if matches!(value, FlagValue::Behind(_)) {
                words.next();
            }
            places.push(FlagPlace { at, value });
        }
        places
    }

    /// The number of words before `--`.
    fn end(&self) -> usize {
        let is_end = |word: &Argument<'_>| word.json.as_str().is_some_and(|text| text == "--");
        self.words.iter().position(is_end).unwrap_or(self.words.len())
    }

    /// Adds a word at the last position for a flag: at the end of `args` if present, else at the end of `command`.
    fn add(&mut self, word: &str) {
        let end = self.end();
        let neighbor = self.words.get(end).or_else(|| self.words.last());
        let list = neighbor.map_or(ArgumentList::Args, |word| word.list);
        self.words.insert(end, Argument { list, json: Json::string(word) });
    }

    fn become_word(&mut self, at: usize, word: &str) {
        if let Some(place) = self.words.get_mut(at) {
            place.become_word(word);
        }
    }

    /// Sets the value of an existing flag, in its current form.
    fn give(&mut self, name: &str, place: &FlagPlace, value: &str) {
        match place.value {
            FlagValue::Behind(_) => self.become_word(place.at + 1, value),
            FlagValue::Joined(_) | FlagValue::Missing => self.become_word(place.at, &written(name, Some(value))),
        }
    }

    /// Removes words in one pass, because a hostile command line may have many.
    fn remove(&mut self, places: &[FlagPlace]) {
        let mut removed = places.iter().flat_map(|place| place.at..place.at + place.words()).peekable();
        let mut at = 0;
        self.words.retain(|_| {
            let is_removed = removed.next_if_eq(&at).is_some();
            at += 1;
            !is_removed
        });
    }
}

/// Returns whether a list of words contains a flag.
pub(super) fn has_flag(words: &Json<'_>, name: &str) -> bool {
    words.elements().iter().any(|word| {
        let rest = word.as_str().and_then(|word| word.strip_prefix(name).map(str::to_owned));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })
}

/// A flag as it is added.
fn written(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    }
}
