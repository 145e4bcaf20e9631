//! Operations of one list that want two things of one place.

use super::stage_operation::StageOperation;

/// Why two operations cannot both be so.
pub(super) fn conflict(one: &StageOperation, two: &StageOperation) -> Option<String> {
    use StageOperation as Is;
    let clash = match (one, two) {
        (Is::Set { place, value }, Is::Set { place: other, value: wanted }) => {
            place.meets(other) && !(place == other && value.same(wanted))
        }
        (Is::Set { place, .. }, Is::Unset { place: other }) => place.meets(other),
        (
            Is::Set { place, .. } | Is::Unset { place },
            Is::Item { list: other, .. } | Is::NoItem { list: other, .. },
        ) => place.meets(other),
        (Is::Item { list, key, item }, Is::NoItem { list: other, key: by, value }) => {
            list == other && (key != by || item.get(key).is_some_and(|known| known.same(value)))
        }
        (Is::Item { list, key, item }, Is::Item { list: other, key: by, item: wanted }) => {
            let same = |one: Option<_>, two: Option<_>| match (one, two) {
                (Some(one), Some(two)) => crate::json::Json::same(&one, &two),
                _ => false,
            };
            list == other && (key != by || same(item.get(key), wanted.get(key)))
        }
        _ => on_one_flag(one, two),
    };
    clash.then(|| format!("`{}` and `{}` cannot both be so", one.told(), two.told()))
}

/// Whether both are about one flag, in one container.
fn on_one_flag(one: &StageOperation, two: &StageOperation) -> bool {
    use StageOperation as Is;
    let flag = |operation: &StageOperation| match operation {
        Is::Flag { of, name, .. }
        | Is::NoFlag { of, name, .. }
        | Is::FlagEntries { of, name, .. }
        | Is::NoFlagEntries { of, name, .. } => Some((of.clone(), name.clone())),
        _ => None,
    };
    let (Some((of, name)), Some((other, named))) = (flag(one), flag(two)) else { return false };
    if !of.may_be(&other) || name != named {
        return false;
    }
    match (one, two) {
        (Is::FlagEntries { entries, .. }, Is::FlagEntries { entries: others, .. }) => {
            entries.iter().any(|entry| others.iter().any(|other| other.key == entry.key && other.value != entry.value))
        }
        (Is::FlagEntries { entries, .. }, Is::NoFlagEntries { keys, .. })
        | (Is::NoFlagEntries { keys, .. }, Is::FlagEntries { entries, .. }) => {
            entries.iter().any(|entry| keys.contains(&entry.key))
        }
        (Is::NoFlagEntries { .. }, Is::NoFlagEntries { .. }) => false,
        (Is::Flag { value, .. }, Is::Flag { value: other, .. }) => value != other,
        (Is::NoFlag { form, .. }, Is::NoFlag { form: other, .. }) => form != other,
        _ => true,
    }
}
