//! Builds the value at a split point from its slots and a remainder.

use super::pieces::is_some;
use crate::definition::frontier::{Part, position};
use crate::json::{Json, Members};

/// Builds the value at a split point from its slots and a remainder.
pub(super) fn join<'a>(part: &'a Part, rest: Option<Json<'a>>, slots: &mut [Option<Json<'a>>]) -> Option<Json<'a>> {
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
                let mut inside = members.take_where(|name| position(parts, name)).into_iter().peekable();
                for (index, (name, part)) in parts.iter().enumerate() {
                    let inner = inside.next_if(|(at, _)| *at == index).map(|(_, inner)| inner);
                    let inner = inner.filter(|_| matches!(part, Part::Object(_)));
                    if let Some(inner) = join(part, inner, slots) {
                        members.add(&**name, inner);
                    }
                }
            }
            Some(value)
        }
    }
}
