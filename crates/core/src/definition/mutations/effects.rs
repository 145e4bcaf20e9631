//! What an operation does, in one spelling: two that are written in two ways may be about one place.

use super::field_place::{ContainerName, FieldPlace, FieldRoot};
use super::mutation_operation::MutationOperation;
use crate::definition::path::Path;
use crate::json::Json;

/// What an operation does in objects whose Pods' spec is at `pod`. Places are named from the object on, or from a
/// container; an item of a list of containers also sets the fields of that container.
pub(super) fn effects(operation: &MutationOperation, pod: &Path) -> Vec<MutationOperation> {
    use MutationOperation as Is;
    let mut spelled = operation.clone();
    match &mut spelled {
        Is::Set { place, .. } | Is::Unset { place } => *place = place.of_object(pod),
        Is::Item { list, .. } | Is::NoItem { list, .. } => *list = list.of_object(pod),
        Is::Flag { .. } | Is::NoFlag { .. } | Is::FlagEntries { .. } | Is::NoFlagEntries { .. } => {}
    }
    let mut all = Vec::new();
    if let Is::Item { list, key, item } = &spelled {
        let name = item.get("name").and_then(|name| name.as_str().map(|name| name.into_owned()));
        // Known by anything but its name it may be any container.
        let of = name.filter(|_| key == "name").map_or(ContainerName::AsTheObject, ContainerName::Named);
        if list.root == FieldRoot::Object && ContainerName::Named(String::new()).lists(pod).any(|it| it == list.path) {
            fields(item, &FieldRoot::Container(of), &Path::default(), &mut all);
        }
    }
    all.push(spelled);
    all
}

/// Whether there may be something to do for an operation only after a later one, in objects whose Pods' spec is at
/// `pod`: the later one makes what the earlier one is about, or takes a word away that stood between a flag and its
/// value.
pub(crate) fn may_make_room(later: &MutationOperation, earlier: &MutationOperation, pod: &Path) -> bool {
    use MutationOperation as Is;
    let in_one = later.container().zip(earlier.container()).is_some_and(|(one, two)| one.may_be(two));
    let (Is::Set { place, .. } | Is::Item { list: place, .. }) = later else {
        return in_one && later.is_of_words() && earlier.is_of_words();
    };
    let made = place.of_object(pod).path;
    let needed: Vec<Path> = match (earlier, earlier.container()) {
        (_, Some(of)) => of.lists(pod).collect(),
        (Is::Item { list, .. }, None) => list.of_object(pod).path.parent().into_iter().collect(),
        _ => vec![pod.clone()],
    };
    in_one || needed.iter().any(|needed| needed.starts_with(&made) || made.starts_with(needed))
}

/// Whether it may be seen which of two operations was done first, where neither is against the other, in objects whose
/// Pods' spec is at `pod`: both are about the words of one container, or add to one list, or the first changes which
/// containers there are and the second is about the only one.
pub(crate) fn hang_on_order(one: &MutationOperation, two: &MutationOperation, pod: &Path) -> bool {
    use MutationOperation as Is;
    if let Some((one, two)) = one.container().zip(two.container()).filter(|_| one.is_of_words() && two.is_of_words()) {
        return one.may_be(two);
    }
    if let (Is::Item { list, .. }, Is::Item { list: other, .. }) = (one, two) {
        return list.of_object(pod).meets(&other.of_object(pod));
    }
    let place = match one {
        Is::Set { place, .. } | Is::Unset { place } | Is::Item { list: place, .. } | Is::NoItem { list: place, .. } => {
            place.of_object(pod)
        }
        _ => return false,
    };
    let is_any = two.container() == Some(&ContainerName::AsTheObject);
    let lists: Vec<Path> = ContainerName::AsTheObject.lists(pod).filter(|_| is_any).collect();
    place.root == FieldRoot::Object && lists.iter().any(|list| list.starts_with(&place.path))
}

/// The fields that an item sets, and those that it has go. Members that are objects are put together with what is
/// there.
fn fields(item: &Json<'_>, root: &FieldRoot, path: &Path, all: &mut Vec<MutationOperation>) {
    for (name, value) in item.members() {
        let place = FieldPlace { root: root.clone(), path: path.join(&name) };
        match value {
            value if value.is_null() => all.push(MutationOperation::Unset { place }),
            value if value.is_object() => fields(&value, root, &place.path, all),
            value => all.push(MutationOperation::Set { place, value: value.into_owned() }),
        }
    }
}
