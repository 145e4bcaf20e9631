//! The fields that the conversions of a kind parse, as opposed to fields that they copy unparsed.
//!
//! A field without an operation is copied as text, with all of its contents. The server reserves memory before it
//! parses a request, and needs none for the values inside such a field, unless they are hashed.

use super::frontier::{Branch, Part, SharedObject, SplitPoint};
use super::operation::{Level, Operation};
use super::side::Side;
use super::step::Step;

/// The part of a value that is parsed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum AccessedFields {
    /// No part of the value.
    #[default]
    Nothing,
    /// The whole value.
    Everything,
    /// The members or items, each to its own extent.
    Inside(AccessedMembers),
}

/// The parsed part of an object, a list or a map.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct AccessedMembers {
    /// Sorted by name. For other members `items` applies; without `items` they are not parsed.
    members: Vec<(Box<str>, AccessedFields)>,
    /// The parsed part of each list item or map value. `None` if the list or map is not parsed.
    items: Option<Box<AccessedFields>>,
}

impl AccessedFields {
    /// Returns the fields that these steps parse in objects of any version.
    pub(super) fn of(steps: &[Step]) -> Self {
        let all = steps.iter().map(|step| {
            let objects = step.objects.iter().map(|name| Self::at(&[name], Self::inside()));
            let status = step.status.iter().map(|_| Self::at(&["status"], Self::Everything));
            objects.chain(status).fold(Self::of_level(&step.level), Self::or)
        });
        all.fold(Self::of_any(), Self::or)
    }

    /// Returns the fields that are parsed in every object, to find its kind and whether it is complete. Annotations
    /// contain kept fields.
    pub(crate) fn of_any() -> Self {
        Self::at(&["spec"], Self::inside()).or(Self::at(&["metadata"], Self::Everything))
    }

    /// Returns the union of both.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Inside(one), Self::Inside(two)) => Self::Inside(one.or(two)),
        }
    }

    /// Returns the parsed part of a member, and whether the member is a value of a parsed map.
    pub(crate) fn member(&self, name: &str) -> (&Self, bool) {
        let Self::Inside(inside) = self else { return (self, false) };
        let member = inside.members.binary_search_by(|(other, _)| (**other).cmp(name)).ok();
        let member = member.and_then(|at| inside.members.get(at));
        match (member, &inside.items) {
            (Some((_, member)), None) => (member, false),
            (None, Some(item)) => (item, true),
            (None, None) => (&Self::Nothing, false),
            // One version has an object here, the other version a map.
            (Some(_), Some(_)) => (&Self::Everything, true),
        }
    }

    /// Returns the parsed part of an item, and whether its list is parsed.
    pub(crate) fn item(&self) -> (&Self, bool) {
        match self {
            Self::Inside(AccessedMembers { items, .. }) => {
                items.as_ref().map_or((&Self::Nothing, false), |item| (item, true))
            }
            whole => (whole, false),
        }
    }

    fn of_level(level: &Level) -> Self {
        let tested = level.operations.iter().flat_map(|operation| &operation.conditions);
        let places =
            tested.filter_map(|condition| condition.field()).chain(level.facts.iter().map(|fact| &fact.secret));
        let tested = places.map(|place| Self::at(place.path.names(), Self::Everything));
        tested.fold(Self::of_branch(&level.frontier.root, level), Self::or)
    }

    fn of_branch(branch: &Branch, level: &Level) -> Self {
        match branch {
            Branch::Cut(cut) => level.frontier.cuts.get(*cut).map_or(Self::Everything, |cut| Self::of_cut(cut, level)),
            Branch::Holder(SharedObject { branches, .. }) => {
                let members = branches.iter().map(|(name, branch)| (name.clone(), Self::of_branch(branch, level)));
                Self::Inside(AccessedMembers { members: members.collect(), items: None })
            }
        }
    }

    /// The value at a split point is parsed to an unknown extent, so all of it counts. If only its items are converted,
    /// only they count.
    fn of_cut(cut: &SplitPoint, level: &Level) -> Self {
        let operation = |side: Side| match cut.parts.of(side) {
            Part::Slot(slot) => level.index_of(side, *slot),
            Part::Object(_) | Part::Unknown => None,
        };
        let same = operation(Side::Older).filter(|older| Some(*older) == operation(Side::Newer));
        let each = same.and_then(|index| level.operations.get(index));
        each.and_then(Self::of_items).unwrap_or(Self::Everything)
    }

    fn of_items(each: &Operation) -> Option<Self> {
        let items = each.items()?;
        let is_list = each.all_places().any(|place| place.schema.is("array"));
        let keys = [Side::Older, Side::Newer].map(|side| items.keys.of(side));
        if is_list && keys.iter().any(|keys| keys.is_empty()) {
            // The whole item is its key.
            return Some(Self::Inside(AccessedMembers {
                members: Vec::new(),
                items: Some(Box::new(Self::Everything)),
            }));
        }
        let keys = keys.into_iter().flatten().map(|key| Self::at(key.path.names(), Self::Everything));
        let item = keys.fold(Self::of_level(&items.level), Self::or);
        Some(Self::Inside(AccessedMembers { members: Vec::new(), items: Some(Box::new(item)) }))
    }

    /// Returns a value at a path.
    fn at(names: &[impl AsRef<str>], value: Self) -> Self {
        names.iter().rev().fold(value, |value, name| {
            Self::Inside(AccessedMembers { members: vec![(name.as_ref().into(), value)], items: None })
        })
    }

    /// Parses the object itself, and none of its members.
    fn inside() -> Self {
        Self::Inside(AccessedMembers::default())
    }
}

impl AccessedMembers {
    fn or(mut self, other: Self) -> Self {
        for (name, opened) in other.members {
            match self.members.binary_search_by(|(own, _)| own.cmp(&name)) {
                Ok(at) => self
                    .members
                    .get_mut(at)
                    .into_iter()
                    .for_each(|(_, own)| *own = std::mem::take(own).or(opened.clone())),
                Err(at) => self.members.insert(at, (name, opened)),
            }
        }
        self.items = match (self.items, other.items) {
            (Some(one), Some(two)) => Some(Box::new(one.or(*two))),
            (one, two) => one.or(two),
        };
        self
    }
}
