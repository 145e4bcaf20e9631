//! A step between two neighbouring versions: restores kept values, runs the operations, and keeps values that cannot be
//! represented.

use std::borrow::Cow;

use super::annotations::Annotations;
use super::between_steps::BetweenSteps;
use super::change::Trace;
use super::context::Context;
use super::error::ConvertError;
use super::kept::{Kept, LONGEST};
use super::paths::ErrorPath;
use super::status::{RolloutRequests, StatusConversion, Traced};
use super::string_arena::StringArena;
use super::{level, metadata_fields, pending, status, tree};
use crate::definition::{HashedFields, Kind, Level, Side, StatusMapping, Step};
use crate::json::Json;
use crate::webhook::rollout_hash::{self, CalculatedHash};

/// Converts an object to the other version of a step.
pub(super) fn convert<'a>(
    kind: &'a Kind,
    step: &'a Step,
    (to, between): (Side, &mut BetweenSteps<'_>),
    (root, annotations, texts): (&mut Json<'a>, &mut Annotations<'a>, &'a StringArena),
    trace: &mut Trace<'_>,
) -> Result<(), ConvertError> {
    top_level_objects(root, step)?;
    // The step's own annotation contains which operations did not run.
    pending::forget(kind, step, to.other(), root, annotations);
    let annotation = annotations.text(step.kept.of(to)).filter(|text| text.len() <= LONGEST);
    let annotation = annotation.map(|text| texts.keep(text));
    let kept = annotation.and_then(Kept::parse);
    if kept.is_some() {
        annotations.remove(step.kept.of(to));
    }
    let kept = kept.unwrap_or_default();
    let to_keep = convert_with(&kept, kind, step, (to, &mut *between), root, annotations, trace)?;
    borrow_lists(&step.level, to, root, texts);
    if between.omits_kept {
        return Ok(());
    }
    let adds_annotations = !step.metadata_fields.is_empty() && metadata_fields::has_annotations(root);
    annotations.write_kept(step, to, &kept, to_keep, adds_annotations);
    Ok(())
}

/// Makes rewritten lists borrowed, like the rest of the object, because later accesses would otherwise copy them.
fn borrow_lists<'a>(level: &Level, to: Side, root: &mut Json<'a>, texts: &'a StringArena) {
    let lists = level.operations.iter().filter(|operation| operation.items().is_some());
    for list in lists.filter_map(|operation| operation.places.of(to).first()) {
        if let Ok(Some(Json::Text(text))) = tree::get(root, "", &list.path)
            && let Cow::Owned(written) = text
        {
            *text = Cow::Borrowed(texts.keep(Cow::Owned(std::mem::take(written))));
        }
    }
}

/// Converts with the kept values of the version that is written. Returns the values to keep for the other version.
fn convert_with<'a>(
    kept: &Kept<'a>,
    kind: &'a Kind,
    step: &'a Step,
    (to, between): (Side, &mut BetweenSteps<'_>),
    root: &mut Json<'a>,
    annotations: &Annotations<'_>,
    trace: &mut Trace<'_>,
) -> Result<Kept<'a>, ConvertError> {
    // During server-side apply, the API server also sends objects without required fields.
    let required = step.complete.of(to.other());
    let has_required = |root: &mut Json<'_>| required.is_met(between.has_uid, &mut |field| tree::has(root, field));
    let elsewhere = is_sparse_elsewhere(kind, step, annotations);
    let appears_complete = !elsewhere && has_required(root);
    let complete = appears_complete && !kept.sparse;
    let needs_preimage = between.needs_preimage;
    let hash_of = |root: &Json<'_>| {
        let hashed = kind.rollout_hash.as_ref().filter(|_| complete)?;
        Some(calculate_hash(hashed, root, annotations, needs_preimage))
    };
    let mut needed = pending::needed(kind, step, annotations);
    if let Some(on_return) = between.needed_on_return.take() {
        *needed.of_mut(to) = on_return;
    }
    let mut context = Context {
        to,
        complete,
        appears_complete,
        complete_on_return: complete,
        hides_sparseness: false,
        has_uid: between.has_uid,
        needed: &needed,
        stays_for_waiting: &mut between.stays_for_waiting,
        namespace: between.namespace.as_deref(),
        facts: between.facts.clone(),
        caller: between.caller,
        trace,
    };
    let required = (!elsewhere).then_some(step.complete.of(to));
    let mut to_keep = Kept::default();
    let convert_level = |root: &mut Json<'a>, context: &mut Context<'_, '_>, to_keep: &mut Kept<'a>| {
        to_keep.fields = level::convert(root, &step.level, context, &kept.fields, &ErrorPath::Object, required)?;
        to_keep.sparse = context.hides_sparseness;
        Ok::<(), ConvertError>(())
    };
    match (&step.status, to) {
        (Some(fields), Side::Newer) => {
            let before = context.trace.is_on().then(|| Traced::before(root, fields)).transpose()?;
            let requests = RolloutRequests::take(root, fields)?;
            convert_level(root, &mut context, &mut to_keep)?;
            let rollout = StatusConversion { fields, calculated: hash_of(root) };
            between.staged |= status::up(&rollout, root, requests, kept, &mut to_keep)?;
            if let Some(before) = before {
                before.record_changes_after(root, &to_keep, context.trace)?;
            }
            between.hash = rollout.calculated.filter(|_| is_apart(kind, fields));
        }
        (Some(fields), Side::Older) => {
            let rollout = StatusConversion { fields, calculated: hash_of(root) };
            convert_level(root, &mut context, &mut to_keep)?;
            status::down(&rollout, root, kept, &mut to_keep, context.trace)?;
        }
        (None, _) => convert_level(root, &mut context, &mut to_keep)?,
    }
    Ok(to_keep)
}

/// The hash of a complete object, with its preimage if requested.
fn calculate_hash(
    hashed: &HashedFields,
    root: &Json<'_>,
    annotations: &Annotations<'_>,
    needs_preimage: bool,
) -> CalculatedHash {
    let preimage = rollout_hash::preimage(hashed, root, |key| annotations.text(key).map(Cow::into_owned));
    CalculatedHash { hash: preimage.hash(), preimage: needs_preimage.then_some(preimage) }
}

/// Returns whether the object was sparse in a version outside of this step. It stays sparse until it reaches that
/// version again, even if a later version requires fewer fields.
fn is_sparse_elsewhere(kind: &Kind, step: &Step, annotations: &Annotations<'_>) -> bool {
    let is_other = |name: &&str| [Side::Older, Side::Newer].iter().all(|side| step.kept.of(*side) != name);
    let mut others = kind.versions.indices().filter_map(|version| kind.kept_annotation(version)).filter(is_other);
    others.any(|name| {
        let text = annotations.text(name).filter(|text| text.contains("sparse"));
        text.and_then(|text| Some(Kept::parse(&text)?.sparse)).unwrap_or_default()
    })
}

/// Returns whether the hashes are written outside of the hashed field.
fn is_apart(kind: &Kind, status: &StatusMapping) -> bool {
    let Some(hashed) = &kind.rollout_hash else { return false };
    let hashes = [&status.hashes.requested, &status.hashes.completed];
    hashes.into_iter().all(|hash| hash.path.names().first().is_none_or(|top| **top != *hashed.of))
}

fn top_level_objects(root: &Json<'_>, step: &Step) -> Result<(), ConvertError> {
    for name in &step.objects {
        let is_odd = |value: &Json<'_>| !value.is_object() && !value.is_null();
        let found = match root {
            Json::Object(members) => members.get(name).filter(|value| is_odd(value)).map(Json::a_type_name),
            closed => closed.get(name).filter(is_odd).map(|value| value.a_type_name()),
        };
        if let Some(found) = found {
            return Err(ConvertError::NotAnObject { path: name.clone(), found });
        }
    }
    Ok(())
}
