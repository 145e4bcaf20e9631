//! Rolls and the kinds that they are about.

use std::path::Path;

use pointsman_cluster::{CallError, RollError, unknown_zone};
use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetRoll, NoEffect, answered_roll, read_roll, rolled_kind};
use serde_json::Value;

use crate::commands::input;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::Known;
use crate::hint::hinted;

/// A Roll of a file, checked.
pub(super) struct FileRoll {
    pub(super) roll: FleetRoll,
    pub(super) document: Value,
}

impl FileRoll {
    pub(super) fn read(file: &Path, all: &[Known]) -> anyhow::Result<Self> {
        let source = input::read(file)?;
        let kind = &find(all, &rolled_kind(&source.name, &source.text)?)?.kind;
        let roll = read_roll(&source.name, &source.text, kind)?;
        if let Some(zone) = unknown_zone(&roll) {
            anyhow::bail!(
                "{}: windows: no time zone {zone:?} is known: use a name of the IANA database, such as Europe/Berlin",
                source.name
            );
        }
        Ok(Self { roll, document: serde_saphyr::from_str(&source.text)? })
    }

    pub(super) fn kind<'k>(&self, all: &'k [Known]) -> anyhow::Result<&'k Kind> {
        kind_of(&self.document, all)
    }
}

/// The kind that a Roll is about.
pub(super) fn kind_of<'k>(document: &Value, all: &'k [Known]) -> anyhow::Result<&'k Kind> {
    let name = document.pointer("/spec/kind").and_then(Value::as_str).unwrap_or_default();
    Ok(&find(all, name)?.kind)
}

/// A Roll of a cluster, checked, and its kind.
pub(super) fn checked<'k>(document: &Value, kinds: &'k [Known]) -> anyhow::Result<(&'k Kind, FleetRoll)> {
    let kind = kind_of(document, kinds)?;
    Ok((kind, answered_roll(document, kind)?))
}

/// What went wrong, with what somebody can do about it.
pub(super) fn advise(error: RollError) -> anyhow::Error {
    let hint = error.hint().or_else(|| error.call().and_then(CallError::hint));
    match hint {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}

/// A request that would change nothing, with the command that changes something.
pub(super) fn without_effect(NoEffect { why, hint }: NoEffect) -> anyhow::Error {
    hinted(anyhow::Error::msg(why), hint)
}
