//! A word of a command line, and a flag in it.

use crate::json::Json;

/// Which list of a container a word stands in. The program sees one list: `command`, then `args`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ArgumentList {
    Command,
    Args,
}

impl ArgumentList {
    pub(super) const ALL: [Self; 2] = [Self::Command, Self::Args];

    /// The member of a container.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Args => "args",
        }
    }
}

/// A word of a command line, as it was sent.
#[derive(Debug)]
pub(super) struct Argument<'j> {
    pub(super) list: ArgumentList,
    pub(super) json: Json<'j>,
}

impl Argument<'_> {
    /// The text, where it is a string.
    pub(super) fn text(&self) -> Option<String> {
        self.json.as_str().map(|text| text.into_owned())
    }

    /// Makes it another word. One that is the same already keeps its spelling.
    pub(super) fn become_word(&mut self, word: &str) {
        if self.json.as_str().is_none_or(|text| text != word) {
            self.json = Json::string(word);
        }
    }
}

/// How a flag takes its value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FlagForm {
    /// None: it is there or not, and the word behind it is no value of it.
    Switch,
    /// `--name=value`, or `--name value`.
    Valued,
    /// `--name=true`, or `--name true`: a word behind it that says no truth is no value of it, as it may be a switch.
    Truth,
}

impl FlagForm {
    /// Whether a word behind a flag can be its value: `-` and `-1` are, another flag is not.
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

/// Whether a word says that something is so, or that it is not. `1` and `0` are numbers first: `--v=1` is no switch.
pub(crate) fn is_truth(word: &str) -> bool {
    ["true", "false"].iter().any(|truth| word.eq_ignore_ascii_case(truth))
}

/// A flag where it stands in a command line, and its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum FlagValue {
    /// `--name`, alone.
    Missing,
    /// `--name=value`.
    Joined(String),
    /// `--name value`: the word behind it.
    Behind(String),
}

/// Where a flag stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FlagPlace {
    pub(super) at: usize,
    pub(super) value: FlagValue,
}

impl FlagPlace {
    /// The words that it takes.
    pub(super) fn words(&self) -> usize {
        if matches!(self.value, FlagValue::Behind(_)) { 2 } else { 1 }
    }

    /// Its value, where it has one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            FlagValue::Missing => None,
            FlagValue::Joined(text) | FlagValue::Behind(text) => Some(text),
        }
    }
}
