//! Conflicts between operations that require different states of one place, in one list or in two mutations.

use super::argument::ArgumentList;
use super::command_line::has_flag;
use super::effects::effects;
use super::field_place::{ContainerName, FieldPlace, FieldRoot};
use super::mutation::Mutation;
use super::mutation_operation::MutationOperation;
use crate::definition::path::Path;
use crate::json::Json;

/// Returns why two mutations cannot apply to one object. The order of their facts is unknown, so no operation of one
/// may conflict with the other. A mutation must not set a label that the other selects by.
pub(super) fn against(one: &Mutation, two: &Mutation, pod: &Path) -> Option<String> {
    let pairs = || one.operations().flat_map(|first| two.operations().map(move |second| (first, second)));
    let clash = || pairs().find_map(|(first, second)| conflict(first, second, pod));
    labels_of(one, two).or_else(|| labels_of(two, one)).or_else(|| one.selection.meets(&two.selection).then(clash)?)
}

/// A label that a mutation sets or removes, and that the other one selects by.
pub(super) fn labels_of(one: &Mutation, selecting: &Mutation) -> Option<String> {
    let keys = || selecting.selection.labels.requirements.iter().map(|requirement| &requirement.key);
    one.operations().find_map(|operation| {
        let (MutationOperation::Set { place, .. } | MutationOperation::Unset { place }) = operation else {
            return None;
        };
        let key = match (&place.root, place.path.names()) {
            (FieldRoot::Object, [first, second, key, ..]) if **first == *"metadata" && **second == *"labels" => key,
            _ => return None,
        };
        let known = keys().any(|known| **known == **key);
        known.then(|| format!("`{}` changes a label that mutation {} selects by", operation.describe(), selecting.name))
    })
}

/// Returns why two operations conflict, in objects whose Pod spec is at `pod`.
pub(crate) fn conflict(one: &MutationOperation, two: &MutationOperation, pod: &Path) -> Option<String> {
    let (firsts, seconds) = (effects(one, pod), effects(two, pod));
    let mut pairs = firsts.iter().flat_map(|first| seconds.iter().map(move |second| (first, second)));
    let clash = pairs.any(|(first, second)| clashes(first, second, pod) || clashes(second, first, pod));
    clash.then(|| format!("`{}` and `{}` contradict each other", one.describe(), two.describe()))
}

/// Returns whether the first of two effects conflicts with the second.
fn clashes(one: &MutationOperation, two: &MutationOperation, pod: &Path) -> bool {
    use MutationOperation as Is;
    match (one, two) {
        (Is::Set { place, value }, inside) if place.root == FieldRoot::Object && inside.container().is_some() => {
            containers_of(place, value, inside, pod).iter().any(|container| !is_so(inside, container))
        }
        (Is::Set { place, value }, Is::Set { place: other, value: wanted }) => {
            place.meets(other) && !(place == other && value.same(wanted))
        }
        (Is::Set { place, .. }, Is::Unset { place: other }) => place.meets(other),
        (
            Is::Set { place, .. } | Is::Unset { place },
            Is::Item { list: other, .. } | Is::NoItem { list: other, .. },
        ) => place.meets(other),
        (Is::Set { place, value }, Is::NoFlag { of, name, .. } | Is::NoFlagEntries { of, name, .. }) => {
            words_of(place, of).is_some() && has_flag(value, name)
        }
        (Is::Set { place, .. }, Is::Flag { of, .. } | Is::FlagEntries { of, .. }) => words_of(place, of).is_some(),
        // If `args` must be absent, a new flag of a container without `command` has no place.
        (Is::Unset { place }, Is::Flag { of, .. } | Is::FlagEntries { of, .. }) => {
            words_of(place, of) == Some(ArgumentList::Args)
        }
        (Is::Item { list, key, item }, Is::NoItem { list: other, key: by, value }) => {
            list == other && (key != by || item.get(key).is_some_and(|known| known.same(value)))
        }
        (Is::Item { list, key, item }, Is::Item { list: other, key: by, item: wanted }) => {
            let same = |one: Option<_>, two: Option<_>| match (one, two) {
                (Some(one), Some(two)) => Json::same(&one, &two),
                _ => false,
            };
            list == other && (key != by || same(item.get(key), wanted.get(key)))
        }
        _ => on_one_flag(one, two),
    }
}

/// The word list that a place denotes, if it belongs to the container.
fn words_of(place: &FieldPlace, of: &ContainerName) -> Option<ArgumentList> {
    let is_it = place.root.container().is_some_and(|other| other.may_be(of));
    ArgumentList::ALL.into_iter().find(|list| is_it && matches!(place.path.names(), [one] if **one == *list.name()))
}

/// The containers that an operation may concern, among those that a field around them is set to.
fn containers_of(
    place: &FieldPlace,
    value: &Json<'static>,
    inside: &MutationOperation,
    pod: &Path,
) -> Vec<Json<'static>> {
    let Some(of) = inside.container() else { return Vec::new() };
    let mut found = Vec::new();
    for list in of.lists(pod).filter(|list| list.starts_with(&place.path)) {
        let way: Vec<&str> = list.names().iter().skip(place.path.len()).map(|name| &**name).collect();
        let Some(list) = value.get_path(&way) else { continue };
        let is_it = |container: &Json<'_>| match of {
            ContainerName::AsTheObject => true,
            ContainerName::Named(name) => {
                container.get("name").is_some_and(|it| it.as_str().is_some_and(|it| it == *name))
            }
        };
        found.extend(list.elements().into_iter().filter(is_it).map(Json::into_owned));
    }
    found
}

/// Returns whether a container satisfies an operation, as far as can be determined.
fn is_so(operation: &MutationOperation, container: &Json<'static>) -> bool {
    use MutationOperation as Is;
    let field = |place: &FieldPlace| {
        let way: Vec<&str> = place.path.names().iter().map(|name| &**name).collect();
        container.get_path(&way).map(Json::into_owned)
    };
    match operation {
        Is::Set { place, value } => field(place).is_some_and(|found| found.same(value)),
        Is::Unset { place } => field(place).is_none(),
        Is::NoFlag { name, .. } | Is::NoFlagEntries { name, .. } => {
            !ArgumentList::ALL.iter().any(|list| container.get(list.name()).is_some_and(|list| has_flag(&list, name)))
        }
        _ => false,
    }
}

/// Returns a member that an item of `before` leaves in the same item of `after`, which does not name it, such as two
/// sources of one volume.
pub(super) fn left_over(before: &MutationOperation, after: &MutationOperation, pod: &Path) -> Option<String> {
    let (MutationOperation::Item { list, key, item }, MutationOperation::Item { list: other, key: by, item: wanted }) =
        (before, after)
    else {
        return None;
    };
    let same = item.get(key).zip(wanted.get(key)).is_some_and(|(one, two)| Json::same(&one, &two));
    if list.of_object(pod) != other.of_object(pod) || key != by || !same {
        return None;
    }
    let (name, _) = item.members().into_iter().find(|(name, value)| !value.is_null() && wanted.get(name).is_none())?;
    Some(format!(
        "always and onceTrue: `{}` sets {name:?}, and `onceTrue` omits this member: set the member there, or \
             write {name}: null",
        before.describe()
    ))
}

/// Returns whether both concern one flag of one container.
fn on_one_flag(one: &MutationOperation, two: &MutationOperation) -> bool {
    use MutationOperation as Is;
    let flag = |operation: &MutationOperation| match operation {
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
