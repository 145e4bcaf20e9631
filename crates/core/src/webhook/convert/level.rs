//! The operations of a step on one object: the whole one, or an item inside a list.
//!
//! An operation never decides for itself what is lossless. Its values are mapped to the other side; if mapping them back
//! would not give the same values, they are kept, with what they became. That holds for every operation there is.
//!
//! `values: {from: spec.mode, to: spec.mode, map: {fast: Fast, quick: Fast}}`, going up, then down again:
//!
//! ```text
//! v1            mode: quick
//! to v2         mode: Fast     mapped back, Fast is fast, not quick: kept {"spec.mode": {"value": "quick", "became": "Fast"}}
//! back to v1    mode: quick    what it became is untouched: given back
//! edited at v2  mode: Slow     what it became was written by somebody: dropped, and Slow is mapped
//! ```

use super::applied::{Applied, join};
use super::emptied::{Emptied, usual};
use super::kept::{Kept, KeptItems};
use super::tree::{self, Was};
use super::{context::Context, error::ConvertError, items::convert_items};
use crate::definition::{Fragment, Items, Level, Operation, Path, Place, Side};
use crate::json::Json;

/// Converts `root` in place. `kept` is what the other side left here; what this side must keep is returned.
pub(super) fn convert<'a>(
    root: &mut Json<'a>,
    level: &Level,
    context: &mut Context<'_, '_>,
    kept: &Kept<'_>,
    prefix: &str,
) -> Result<Kept<'a>, ConvertError> {
    let (to, from) = (context.to, context.to.other());
    let (whole, remainders): (Vec<_>, Vec<_>) =
        level.operations.iter().partition(|operation| !operation.is_remainder());
    let nothing = Kept::default();
    // What was kept of a top-level object that is gone stays away with it.
    let kept_for = |root: &Json<'_>, operation: &Operation| match prefix.is_empty()
        && is_gone(root, level, from, operation.places.of(to))
    {
        true => &nothing,
        false => kept,
    };
    let mut applied = Vec::with_capacity(level.operations.len());
    for operation in whole {
        let before = read(root, operation.places.of(from), prefix)?;
        let kept = kept_for(root, operation);
        applied.push(apply(operation, before, context, kept, prefix)?);
    }
    let mut emptied = remove(root, from, &applied, prefix)?;
    for operation in remainders {
        let mut before = Vec::new();
        if let Some(place) = operation.places.of(from).first() {
            let remainder = emptied.take_remainder(root, &place.path, prefix)?;
            if remainder.is_some() {
                emptied.add_parents(&place.path);
            }
            before.push(remainder);
        }
        let kept = kept_for(root, operation);
        applied.insert(0, apply(operation, before, context, kept, prefix)?);
    }
    let mut to_keep = Kept::default();
    write(root, level, &mut applied, context, &emptied, &mut to_keep, prefix)?;
    emptied.restore(root, level, to, kept, prefix)?;
    for applied in applied {
        applied.keep(root, context, &mut to_keep, prefix);
    }
    Ok(to_keep)
}

/// Whether the top-level object that is written into was taken away. One that the other version does not have at all
/// cannot have been taken away there.
fn is_gone(root: &Json<'_>, level: &Level, from: Side, places: &[Place]) -> bool {
    let known = |path: &Path| {
        let mut tops = level.stays.of(from).iter().filter(|top| top.len() == 1);
        tops.any(|top| path.starts_with(top))
    };
    places.iter().any(|place| !tree::has_top(root, &place.path) && known(&place.path))
}

/// The values at an operation's places.
fn read<'a>(
    root: &mut Json<'a>,
    places: &[Place],
    prefix: &str,
) -> Result<Fragment<'a>, ConvertError> {
    let value = |place: &Place| {
        let value = tree::get(root, prefix, &place.path)?.cloned();
        // An item cannot be absent: null stands for that where it can mean nothing else.
        let absent_item =
            |value: &Json<'_>| place.path.is_empty() && value.is_null() && !place.schema.nullable;
        Ok(value.filter(|value| !absent_item(value)))
    };
    places.iter().map(value).collect()
}

fn apply<'l, 'a>(
    operation: &'l Operation,
    before: Fragment<'a>,
    context: &mut Context<'_, '_>,
    kept: &Kept<'_>,
    prefix: &str,
) -> Result<Applied<'l, 'a>, ConvertError> {
    let to = context.to;
    let Some(Items { level, keys }) = operation.items() else {
        return Ok(Applied::new(operation, before, to, kept));
    };
    let mut value = before.first().cloned().flatten();
    let mut items = None;
    if let (Some(value), Some(place)) = (&mut value, operation.places.of(to.other()).first()) {
        let entry = operation.places.of(to).first().and_then(|place| kept.entry(&place.id));
        let kept = KeptItems::read(entry.and_then(|entry| entry.each.as_ref()));
        let prefix = join(prefix, &place.id);
        items = convert_items(value, keys, to, kept, &prefix, &mut |item, kept, prefix| {
            convert(item, level, context, kept, prefix)
        })?;
    }
    Ok(Applied { operation, before, after: vec![value], given_back: false, items })
}

/// Takes out what was read and does not stay where it is. Returns the objects that something was taken out of.
fn remove(
    root: &mut Json<'_>,
    from: Side,
    applied: &[Applied<'_, '_>],
    prefix: &str,
) -> Result<Emptied, ConvertError> {
    let mut emptied = Emptied::default();
    for applied in applied {
        let places = &applied.operation.places;
        for (place, value) in places.of(from).iter().zip(&applied.before) {
            let mut targets = places.of(from.other()).iter().zip(&applied.after);
            let stays = targets.any(|(target, value)| target.path == place.path && value.is_some());
            if value.is_none() || stays {
                continue;
            }
            tree::take(root, prefix, &place.path)?;
            emptied.add_parents(&place.path);
        }
    }
    Ok(emptied)
}

/// Writes what was mapped, then fills what readers of a complete object expect.
fn write<'a>(
    root: &mut Json<'a>,
    level: &Level,
    applied: &mut [Applied<'_, 'a>],
    context: &Context<'_, '_>,
    emptied: &Emptied,
    to_keep: &mut Kept<'a>,
    prefix: &str,
) -> Result<(), ConvertError> {
    let from = context.to.other();
    // On the way home an object that is emptied becomes what is usual there. What was otherwise is noted.
    let mut made = |path: Path, was: Was| {
        let id = path.to_string();
        if was != usual(level, from, &path)
            && !emptied.contains(&path)
            && to_keep.entry(&id).is_none()
        {
            to_keep.add(&id, |entry| entry.set_was(was));
        }
    };
    for applied in applied.iter() {
        for (place, value) in applied.operation.places.of(context.to).iter().zip(&applied.after) {
            if let Some(value) = value {
                tree::put(root, prefix, &place.path, value.clone(), &mut made)?;
            }
        }
    }
    if !context.complete {
        return Ok(());
    }
    for applied in applied {
        let places = applied.operation.places.of(context.to);
        for (place, value) in places.iter().zip(&mut applied.after) {
            if let (None, Some(fill), false) = (&value, &place.fill, applied.given_back)
                && place.path.parent().is_some_and(|parent| tree::is_object(root, &parent))
            {
                tree::put(root, prefix, &place.path, fill.clone(), &mut made)?;
                *value = Some(fill.clone());
            }
        }
    }
    Ok(())
}
