//! The effects of an operation in normal form. Two differently written operations may concern one place.

use super::field_place::{ContainerName, FieldPlace, FieldRoot};
use super::mutation_operation::MutationOperation;
use crate::definition::path::Path;
use crate::json::Json;

/// The effects of an operation on objects whose Pod spec is at `pod`. Places are relative to the object or to a
/// container. An item of a list of containers also sets the fields of that container.
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
        // An item that is not selected by name may be any container.
        let of = name.filter(|_| key == "name").map_or(ContainerName::AsTheObject, ContainerName::Named);
        if list.root == FieldRoot::Object && ContainerName::Named(String::new()).lists(pod).any(|it| it == list.path) {
            fields(item, &FieldRoot::Container(of), &Path::default(), &mut all);
        }
    }
    all.push(spelled);
    all
}

/// Returns whether an earlier operation may have an effect only after a later one, in objects whose Pod spec is at
/// `pod`. The later one creates the place, or removes a word between a flag and its value.
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

/// Returns whether the result may depend on the order of two operations without a conflict, in objects whose Pod spec
/// is at `pod`. Both change the words of one container, or add to one list, or the first changes the set of containers
/// and the second concerns the only container.
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

/// The fields that an item sets and removes. Nested objects are merged with the existing objects.
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
