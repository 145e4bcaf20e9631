//! One step between two neighbouring versions: give back what was kept, run the operations, keep what does not fit.

use super::status::{Requests, StatusConversion, Traced};
use super::{
    annotations::Annotations, change::Trace, context::Context, error::ConvertError,
    kept::recognized,
};
use super::{level, status, tree};
use crate::definition::{Kind, Side, Step};
use crate::{json::Json, webhook::rollout};

/// Moves an object to the other version of a step. Returns whether a change that waits for somebody was taken as
/// completed.
pub(super) fn convert<'a>(
    kind: &Kind,
    step: &Step,
    to: Side,
    root: &mut Json<'a>,
    annotations: &mut Annotations<'a>,
    trace: &mut Trace<'_>,
) -> Result<bool, ConvertError> {
    top_level_objects(root, step)?;
    let annotation = annotations.text(step.kept.of(to));
    let kept = annotation.as_deref().and_then(|text| recognized(text, step));
    if kept.is_some() {
        annotations.remove(step.kept.of(to));
    }
    let kept = kept.unwrap_or_default();
    let complete = is_complete(root, step, to.other());
    let calculated = |root: &Json<'_>, annotations: &Annotations<'_>| {
        let rollout = kind.rollout.as_ref().filter(|_| complete)?;
        Some(rollout::preimage(rollout, root, |key| annotations.text(key)).hash())
    };
    let mut context = Context { to, complete, trace };
    let (to_keep, staged) = match (&step.status, to) {
        (Some(fields), Side::Newer) => {
            let before = context.trace.is_on().then(|| Traced::before(root, fields)).transpose()?;
            let requests = Requests::take(root, fields)?;
            let mut to_keep = level::convert(root, &step.level, &mut context, &kept, "")?;
            let rollout = StatusConversion { fields, calculated: calculated(root, annotations) };
            let staged = status::up(&rollout, root, requests, &kept, &mut to_keep)?;
            if let Some(before) = before {
                before.tell_after(root, &to_keep, context.trace)?;
            }
            (to_keep, staged)
        }
        (Some(fields), Side::Older) => {
            let rollout = StatusConversion { fields, calculated: calculated(root, annotations) };
            let mut to_keep = level::convert(root, &step.level, &mut context, &kept, "")?;
            status::down(&rollout, root, &kept, &mut to_keep, context.trace)?;
            (to_keep, false)
        }
        (None, _) => (level::convert(root, &step.level, &mut context, &kept, "")?, false),
    };
    annotations.settle(step, to, &kept, to_keep);
    Ok(staged)
}

fn top_level_objects(root: &Json<'_>, step: &Step) -> Result<(), ConvertError> {
    for name in &step.objects {
        let value = root.get(name);
        if let Some(value) = value.filter(|value| !value.is_object() && !value.is_null()) {
            let found = value.a_type_name();
            return Err(ConvertError::NotAnObject { path: name.clone(), found });
        }
    }
    Ok(())
}

/// Whether the object has what its kind requires. The API server sends others too, during server-side apply.
fn is_complete(root: &mut Json<'_>, step: &Step, side: Side) -> bool {
    step.complete.iter().all(|field| {
        let value = tree::get(root, "", field.of(side)).ok().flatten();
        value.is_some_and(|value| !value.is_null())
    })
}
