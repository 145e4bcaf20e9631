//! StagedRollouts and their kinds.

use std::path::Path;

use pointsman_cluster::{CallError, RolloutError, unknown_zone};
use pointsman_core::definition::Kind;
use pointsman_core::definition::yaml::parse;
use pointsman_rollout::{NoEffect, Rollout, answered_rollout, read_rollout, rolled_kind};
use serde_json::Value;

use crate::commands::input;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::LoadedKind;
use crate::hint::hinted;

/// A validated StagedRollout from a file.
pub(super) struct FileRollout {
    pub(super) rollout: Rollout,
    pub(super) document: Value,
}

impl FileRollout {
    pub(super) fn read(file: &Path, all: &[LoadedKind]) -> anyhow::Result<Self> {
        let source = input::read(file)?;
        let kind = &find(all, &rolled_kind(&source.name, &source.text)?)?.kind;
        let rollout = read_rollout(&source.name, &source.text, kind)?;
        if let Some(zone) = unknown_zone(&rollout) {
            anyhow::bail!(
                "{}: windows: unknown time zone {zone:?}: use a name of the IANA database, such as Europe/Berlin",
                source.name
            );
        }
        Ok(Self { rollout, document: parse(&source.text)?.read()? })
    }

    pub(super) fn kind<'k>(&self, all: &'k [LoadedKind]) -> anyhow::Result<&'k Kind> {
        kind_of(&self.document, all)
    }
}

/// The kind of a StagedRollout.
pub(super) fn kind_of<'k>(document: &Value, all: &'k [LoadedKind]) -> anyhow::Result<&'k Kind> {
    let name = document.pointer("/spec/kind").and_then(Value::as_str).unwrap_or_default();
    Ok(&find(all, name)?.kind)
}

/// A validated StagedRollout from a cluster, and its kind.
pub(super) fn checked<'k>(document: &Value, kinds: &'k [LoadedKind]) -> anyhow::Result<(&'k Kind, Rollout)> {
    let kind = kind_of(document, kinds)?;
    Ok((kind, answered_rollout(document, kind)?))
}

/// An error with its hint.
pub(super) fn advise(error: RolloutError) -> anyhow::Error {
    let hint = error.hint().or_else(|| error.call().and_then(CallError::hint));
    match hint {
        Some(hint) => hinted(error, hint),
        None => error.into(),
    }
}

/// A request without an effect, with a hint for another command.
pub(super) fn without_effect(NoEffect { why, hint }: NoEffect) -> anyhow::Error {
    hinted(anyhow::Error::msg(why), hint)
}
