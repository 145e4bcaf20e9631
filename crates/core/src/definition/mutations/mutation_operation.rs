//! An operation of a mutation: a desired state.

use super::argument::FlagForm;
use super::command_line::CommandLine;
use super::entries::FlagEntry;
use super::field_place::{ContainerName, FieldPlace, FieldRoot, at_root, inside, made};
use super::list_item::{set_item, unset_item};
use crate::definition::path::Path;
use crate::json::Json;

/// A desired state. Operations are idempotent, and leave everything else as sent.
#[derive(Clone, Debug)]
pub(crate) enum MutationOperation {
    /// A field has this value.
    Set { place: FieldPlace, value: Json<'static> },
    /// A field is absent.
    Unset { place: FieldPlace },
    /// A flag occurs once, with this value or without one.
    Flag { of: ContainerName, name: String, value: Option<String> },
    /// A flag is absent.
    NoFlag { of: ContainerName, name: String, form: FlagForm },
    /// The value of a flag, a comma-separated list, has these entries.
    FlagEntries { of: ContainerName, name: String, entries: Vec<FlagEntry> },
    /// The value of a flag has no entries of these keys.
    NoFlagEntries { of: ContainerName, name: String, keys: Vec<String> },
    /// A list has an item with these members, identified by one of them.
    Item { list: FieldPlace, key: String, item: Json<'static> },
    /// A list has no item with this key.
    NoItem { list: FieldPlace, key: String, value: Json<'static> },
}

impl MutationOperation {
    /// Applies the operation to an object whose Pod spec is at `pod`. Leaves an object without the place unchanged.
    pub(super) fn apply<'j>(&self, object: &mut Json<'j>, pod: &Path) {
        match self {
            Self::Set { place, value } => at_root(object, pod, &place.root, |root| set(root, place, value)),
            Self::Unset { place } => at_root(object, pod, &place.root, |root| unset(root, place)),
            Self::Item { list, key, item } => at_root(object, pod, &list.root, |root| {
                set_item(root, &list.path, key, item);
            }),
            Self::NoItem { list, key, value } => at_root(object, pod, &list.root, |root| {
                unset_item(root, &list.path, key, value);
            }),
            Self::Flag { of, name, value } => on_command_line(object, pod, of, |line| line.set(name, value.as_deref())),
            Self::NoFlag { of, name, form } => on_command_line(object, pod, of, |line| line.unset(name, *form)),
            Self::FlagEntries { of, name, entries } => {
                on_command_line(object, pod, of, |line| line.set_entries(name, entries));
            }
            Self::NoFlagEntries { of, name, keys } => {
                on_command_line(object, pod, of, |line| line.unset_entries(name, keys));
            }
        }
    }

    /// The container of the operation, if any.
    pub(super) fn container(&self) -> Option<&ContainerName> {
        match self {
            Self::Flag { of, .. }
            | Self::NoFlag { of, .. }
            | Self::FlagEntries { of, .. }
            | Self::NoFlagEntries { of, .. } => Some(of),
            Self::Set { place, .. } | Self::Unset { place } => place.root.container(),
            Self::Item { list, .. } | Self::NoItem { list, .. } => list.root.container(),
        }
    }

    /// Returns whether the operation concerns a command line.
    pub(crate) fn is_of_words(&self) -> bool {
        matches!(self, Self::Flag { .. } | Self::NoFlag { .. } | Self::FlagEntries { .. } | Self::NoFlagEntries { .. })
    }

    /// Returns whether the operation skips this container, because of its command line.
    pub(super) fn leaves_alone(&self, container: &mut Json<'_>) -> bool {
        let Ok(Some(container)) = container.open() else { return false };
        self.is_of_words() && CommandLine::of(container).is_some_and(|line| line.is_of_two())
    }

    /// Describes the operation in one line, for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Set { place, value } => format!("set {} to {}", place.describe(), value.text()),
            Self::Unset { place } => format!("unset {}", place.describe()),
            Self::Flag { of, name, value: Some(value) } => format!("flag {name}={value}{}", of.describe()),
            Self::Flag { of, name, value: None } => format!("flag {name}{}", of.describe()),
            Self::NoFlag { of, name, .. } => format!("noFlag {name}{}", of.describe()),
            Self::FlagEntries { of, name, entries } => {
                let entries: Vec<String> = entries.iter().map(FlagEntry::text).collect();
                format!("flagEntries {name} {}{}", entries.join(","), of.describe())
            }
            Self::NoFlagEntries { of, name, keys } => {
                format!("noFlagEntries {name} {}{}", keys.join(","), of.describe())
            }
            Self::Item { list, key, item } => {
                let known = item.get(key).map(|known| known.text().into_owned()).unwrap_or_default();
                format!("item {} with {key} {known}", list.describe())
            }
            Self::NoItem { list, key, value } => format!("noItem {} with {key} {}", list.describe(), value.text()),
        }
    }
}

fn set(root: &mut Json<'_>, place: &FieldPlace, value: &Json<'static>) {
    let Some((last, names)) = place.path.names().split_last() else { return };
    let Some(members) = made(root, names) else { return };
    if members.get(last).is_none_or(|there| !there.same(value)) {
        members.set(last, value.clone());
    }
}

fn unset(root: &mut Json<'_>, place: &FieldPlace) {
    let Some((last, names)) = place.path.names().split_last() else { return };
    if let Some(Ok(Some(members))) = inside(root, names).map(Json::open) {
        members.remove(last);
    }
}

/// Edits the command line of a container, and writes it back if it changed.
fn on_command_line<'j>(object: &mut Json<'j>, pod: &Path, of: &ContainerName, edit: impl FnOnce(&mut CommandLine<'j>)) {
    let root = FieldRoot::Container(of.clone());
    at_root(object, pod, &root, |container| {
        let Ok(Some(container)) = container.open() else { return };
        let Some(mut line) = CommandLine::of(container) else { return };
        if line.is_of_two() {
            return;
        }
        edit(&mut line);
        line.put_into(container);
    });
}
