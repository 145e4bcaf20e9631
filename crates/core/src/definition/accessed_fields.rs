//! What the conversions of a kind look into, and what they hand on as it is.
//!
//! A field that no operation names is a piece of text that is copied, whatever is in it. So the server, which puts
//! memory aside before it looks into a request, has to put none aside for the values in there, unless they are hashed.

use super::frontier::{Branch, SplitPoint, SharedObject, Part};
use super::operation::{Level, Operation};
use super::side::Side;
use super::step::Step;

/// What is looked into of a value.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum AccessedFields {
    /// None of it.
    #[default]
    Nothing,
    /// All of it.
    Everything,
    /// Its members or items, and of each as much as is said here.
    Inside(AccessedMembers),
}

/// What is looked into of an object, a list or a map.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct AccessedMembers {
    /// Sorted by name. Of the others nothing, or what `items` says.
    members: Vec<(Box<str>, AccessedFields)>,
    /// What of each item of a list, or each value of a map; `None` where nobody takes it apart.
    items: Option<Box<AccessedFields>>,
}

impl AccessedFields {
    /// Of the objects of a kind with these steps, in any version.
    pub(super) fn of(steps: &[Step]) -> Self {
        let all = steps.iter().map(|step| {
            let objects = step.objects.iter().map(|name| Self::at(&[name], Self::inside()));
            let status = step.status.iter().map(|_| Self::at(&["status"], Self::Everything));
            objects.chain(status).fold(Self::of_level(&step.level), Self::or)
        });
        all.fold(Self::of_any(), Self::or)
    }

    /// Of any object, to see whose it is and whether it is complete. Annotations hold what was kept.
    pub(crate) fn of_any() -> Self {
        Self::at(&["spec"], Self::inside()).or(Self::at(&["metadata"], Self::Everything))
    }

    /// Of what any of several look into.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Everything, _) | (_, Self::Everything) => Self::Everything,
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Inside(one), Self::Inside(two)) => Self::Inside(one.or(two)),
        }
    }

    /// A member of an object, and whether it is a value of a map that is taken apart.
    pub(crate) fn member(&self, name: &str) -> (&Self, bool) {
        let Self::Inside(inside) = self else { return (self, false) };
        let member = inside.members.binary_search_by(|(other, _)| (**other).cmp(name)).ok();
        let member = member.and_then(|at| inside.members.get(at));
        match (member, &inside.items) {
            (Some((_, member)), None) => (member, false),
            (None, Some(item)) => (item, true),
            (None, None) => (&Self::Nothing, false),
            // An object to one version and a map to the other.
            (Some(_), Some(_)) => (&Self::Everything, true),
        }
    }

    /// An item of a list, and whether somebody takes that list apart.
    pub(crate) fn item(&self) -> (&Self, bool) {
        match self {
            Self::Inside(AccessedMembers { items, .. }) => items.as_ref().map_or((&Self::Nothing, false), |item| (item, true)),
            whole => (whole, false),
        }
    }

    fn of_level(level: &Level) -> Self {
        let asked = level.operations.iter().flat_map(|operation| &operation.conditions);
        let places = asked.filter_map(|condition| condition.field()).chain(level.facts.iter().map(|fact| &fact.secret));
        let asked = places.map(|place| Self::at(place.path.names(), Self::Everything));
        asked.fold(Self::of_branch(&level.frontier.root, level), Self::or)
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

    /// Where versions part, a value is looked into as far as nobody knows; where its items do, they are.
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
            // Items are told apart by all that they are.
            return Some(Self::Inside(AccessedMembers { members: Vec::new(), items: Some(Box::new(Self::Everything)) }));
        }
        let keys = keys.into_iter().flatten().map(|key| Self::at(key.path.names(), Self::Everything));
        let item = keys.fold(Self::of_level(&items.level), Self::or);
        Some(Self::Inside(AccessedMembers { members: Vec::new(), items: Some(Box::new(item)) }))
    }

    /// Of a value that stands at a place.
    fn at(names: &[impl AsRef<str>], value: Self) -> Self {
        names.iter().rev().fold(value, |value, name| {
            Self::Inside(AccessedMembers { members: vec![(name.as_ref().into(), value)], items: None })
        })
    }

    /// It is opened, and nothing in it.
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
