//! Putting a value at a cut together, from what is at its slots and a remainder.

use super::cut::{Slots, is_some};
use crate::definition::frontier::Part;
use crate::json::{Json, Members};

/// Fills the empty slots of objects that will be there.
pub(super) fn fill<'a>(
    part: &Part,
    rest: Option<&Json<'_>>,
    held: bool,
    slots: &mut Slots<'a>,
    fills: &dyn Fn(usize) -> Option<Json<'a>>,
) {
    match part {
        Part::Unknown => {}
        Part::Slot(slot) => {
            if let Some(place) = slots.get_mut(*slot)
                && place.is_none()
                && held
            {
                *place = fills(*slot);
            }
        }
        Part::Object(parts) => {
            let there = part.any(&mut |slot| is_some(slots, slot)) || rest.is_some_and(Json::is_object);
            for (name, part) in parts {
                let inner = rest.and_then(|rest| rest.get(name));
                fill(part, inner.as_ref(), there, slots, fills);
            }
        }
    }
}

/// Puts a cut value together from what is at its slots and a remainder.
pub(super) fn join<'a>(part: &Part, rest: Option<Json<'a>>, slots: &mut Slots<'a>) -> Option<Json<'a>> {
    match part {
        Part::Unknown => rest,
        Part::Slot(slot) => slots.get_mut(*slot)?.take(),
        Part::Object(parts) => {
            let mut value = match rest {
                Some(rest) if rest.is_object() => rest,
                other if !part.any(&mut |slot| is_some(slots, slot)) => return other,
                _ => Json::Object(Members::default()),
            };
            if let Ok(Some(members)) = value.open() {
                for (name, part) in parts {
                    let inner = members.remove(name).filter(|_| matches!(part, Part::Object(_)));
                    if let Some(inner) = join(part, inner, slots) {
                        members.set(name, inner);
                    }
                }
            }
            Some(value)
        }
    }
}
