//! A word of a command line, and a flag.

use crate::json::Json;

/// The list of a container that contains a word. The program receives one list: `command`, then `args`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ArgumentList {
    Command,
    Args,
}

impl ArgumentList {
    pub(super) const ALL: [Self; 2] = [Self::Command, Self::Args];

    /// The name of the container's field.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Args => "args",
        }
    }
}

/// A word of a command line, as sent.
#[derive(Debug)]
pub(super) struct Argument<'j> {
    pub(super) list: ArgumentList,
    pub(super) json: Json<'j>,
}

impl Argument<'_> {
    /// The text, if it is a string.
    pub(super) fn text(&self) -> Option<String> {
        self.json.as_str().map(|text| text.into_owned())
    }

    /// Replaces the word. An equal word keeps its JSON spelling.
    pub(super) fn become_word(&mut self, word: &str) {
        if self.json.as_str().is_none_or(|text| text != word) {
            self.json = Json::string(word);
        }
    }
}

/// The form of a flag's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FlagForm {
    /// No value: the next word does not belong to it.
    Switch,
    /// `--name=value`, or `--name value`.
    Valued,
    /// `--name=true`, or `--name true`. A next word that is no boolean is no value, because the flag may be a switch.
    Truth,
}

impl FlagForm {
    /// Returns whether the word after a flag can be its value: `-` and `-1` can, another flag cannot.
    pub(super) fn takes(self, word: &str) -> bool {
        match self {
            Self::Switch => false,
            Self::Valued => word
                .strip_prefix('-')
                .is_none_or(|rest| rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_digit())),
            Self::Truth => is_truth(word) || ["1", "0"].contains(&word),
        }
    }
}

/// Returns whether a word is a boolean. `1` and `0` count as numbers: `--v=1` is no switch.
pub(crate) fn is_truth(word: &str) -> bool {
    ["true", "false"].iter().any(|truth| word.eq_ignore_ascii_case(truth))
}

/// The value of a flag in a command line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum FlagValue {
    /// `--name`, alone.
    Missing,
    /// `--name=value`.
    Joined(String),
    /// `--name value`: the next word.
    Behind(String),
}

/// The position of a flag.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FlagPlace {
    pub(super) at: usize,
    pub(super) value: FlagValue,
}

impl FlagPlace {
    /// The number of words of the flag.
    pub(super) fn words(&self) -> usize {
        if matches!(self.value, FlagValue::Behind(_)) { 2 } else { 1 }
    }

    /// The value, if any.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            FlagValue::Missing => None,
            FlagValue::Joined(text) | FlagValue::Behind(text) => Some(text),
        }
    }
}
