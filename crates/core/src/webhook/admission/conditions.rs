//! What must hold before an object goes to another controller version.

use super::{field_path::field_in, subject::value, write::Write};
use crate::definition::{Kind, Path, admission::Condition};
use crate::json::Json;
use crate::webhook::convert::Object;

/// What does not hold of an object as it was before a write, in words. Of one that cannot be read nobody can tell: it
/// may go to whoever can repair it.
pub(super) fn unmet(kind: &Kind, write: &Write<'_>) -> Vec<String> {
    if kind.admission.handover.is_empty() {
        return Vec::new();
    }
    let newest = kind.versions.newest();
    let Some(Ok(mut old)) = write.old.as_ref().map(|old| old.object()) else {
        return Vec::new();
    };
    let Ok(at) = old.version(kind) else {
        return Vec::new();
    };
    if old.convert(kind, newest).is_err() {
        return Vec::new();
    }
    let metadata = write.old.as_ref().and_then(|old| old.json().get("metadata"));
    let generation = metadata.and_then(|metadata| number(&metadata.get("generation")?));
    let name = |field: &Path| field_in(kind, field, newest, at);
    kind.admission.handover.iter().filter_map(|condition| missing(condition, &mut old, generation, name)).collect()
}

fn missing(
    condition: &Condition,
    old: &mut Object<'_>,
    generation: Option<i64>,
    name: impl Fn(&Path) -> Path,
) -> Option<String> {
    match condition {
        Condition::Among { field, values } | Condition::NotAmong { field, values } => {
            let value = value(old, field);
            let is_one = value.as_ref().is_some_and(|value| values.iter().any(|other| other.same(value)));
            let is_among = matches!(condition, Condition::Among { .. });
            let wanted = if is_among { "one of" } else { "none of" };
            let is = value.map_or_else(|| "not set".to_owned(), |value| value.to_text());
            let values = values.iter().map(Json::to_text).collect::<Vec<_>>().join(", ");
            (is_one != is_among).then(|| format!("{} is {is}, and must be {wanted} {values}", name(field)))
        }
        Condition::Observed { field } => {
            let seen = value(old, field).as_ref().and_then(number);
            let wanted = generation?;
            let is = seen.map_or_else(|| "not set".to_owned(), |seen| seen.to_string());
            seen.is_none_or(|seen| seen < wanted)
                .then(|| format!("{} is {is}, and metadata.generation is {wanted}", name(field)))
        }
        Condition::Status { list, name: kind, is } => {
            let all = value(old, list);
            let all = all.as_ref().map(|all| all.elements()).unwrap_or_default();
            let text = |item: &Json<'_>, member: &str| {
                item.get(member).and_then(|value| value.as_str().map(std::borrow::Cow::into_owned))
            };
            let found = all.iter().find(|item| text(item, "type").as_deref() == Some(kind));
            let now = found.and_then(|item| text(item, "status"));
            let told = now.as_deref().unwrap_or("not there");
            (now.as_deref() != Some(is)).then(|| format!("condition {kind} is {told}, and must be {is}"))
        }
    }
}

fn number(value: &Json<'_>) -> Option<i64> {
    value.scalar()?.parse().ok()
}
