//! The condition that operations stand under.

use std::fmt;
use std::sync::Arc;

use crate::definition::place::Place;
use crate::json::Json;

/// Whether an operation runs on the way to the newer version.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(super) asked: Arc<AskedOfObject>,
    /// What the answer must be.
    pub(super) holds: bool,
}

/// What a condition asks.
#[derive(Debug)]
pub(super) enum AskedOfObject {
    /// Whether a field of the older version is set.
    IsSet(Place),
    /// Whether it has one of these values.
    Among(Place, Vec<Json<'static>>),
    /// Whether a fact is one of these.
    Fact(String, Vec<String>),
}

impl AskedOfObject {
    fn is_about_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fact(one, _), Self::Fact(two, _)) => one == two,
            (Self::IsSet(one) | Self::Among(one, _), Self::IsSet(two) | Self::Among(two, _)) => one.path == two.path,
            _ => false,
        }
    }

    /// The values of a field that it names.
    fn values(&self) -> &[Json<'static>] {
        match self {
            Self::Among(_, values) => values,
            Self::IsSet(_) | Self::Fact(..) => &[],
        }
    }
}

impl Condition {
    /// The opposite.
    pub(super) fn not(&self) -> Self {
        Self { asked: Arc::clone(&self.asked), holds: !self.holds }
    }

    /// Whether no object can meet all of these, for what the last one asks about. Each value that one of them names is
    /// tried, and so are nothing, and a value that none of them names.
    pub(super) fn exclude_each_other(conditions: &[Self]) -> bool {
        let Some(last) = conditions.last() else { return false };
        let alike: Vec<&Self> = conditions.iter().filter(|one| one.asked.is_about_the_same(&last.asked)).collect();
        let is_met = |value: Option<&Json<'static>>, fact: &str| {
            let met = |one: &&Self| one.is_met(&mut |_| value.cloned(), &|_| Some(fact.to_owned())) == Ok(true);
            alike.iter().all(met)
        };
        let Some(place) = last.field() else { return !TRUTHS.iter().any(|fact| is_met(None, fact)) };
        let mut named: Vec<Json<'static>> = alike.iter().flat_map(|one| one.asked.values()).cloned().collect();
        named.extend(match place.schema.kind.as_deref() {
            Some("boolean") => vec![Json::borrowed("true"), Json::borrowed("false")],
            _ => vec![Json::borrowed(r#""a value that nobody names""#)],
        });
        !(is_met(None, "") || named.iter().any(|value| is_met(Some(value), "")))
    }

    /// The field that is asked for; none where it is a fact.
    pub(crate) fn field(&self) -> Option<&Place> {
        match &*self.asked {
            AskedOfObject::IsSet(place) | AskedOfObject::Among(place, _) => Some(place),
            AskedOfObject::Fact(..) => None,
        }
    }

    /// The name of the fact that it asks for, if it is about one.
    #[cfg(feature = "laws")]
    pub(crate) fn fact(&self) -> Option<&str> {
        match &*self.asked {
            AskedOfObject::Fact(name, _) => Some(name),
            AskedOfObject::IsSet(_) | AskedOfObject::Among(..) => None,
        }
    }

    /// Whether it holds of an object of the older version. `value` says what is in a field there, `fact` what a fact
    /// is.
    ///
    /// # Errors
    /// The name of a fact that is needed, and that nobody knows.
    pub(crate) fn is_met(
        &self,
        value: &mut dyn FnMut(&Place) -> Option<Json<'static>>,
        fact: &dyn Fn(&str) -> Option<String>,
    ) -> Result<bool, &str> {
        let answer = match &*self.asked {
            AskedOfObject::IsSet(place) => value(place).is_some_and(|value| is_set(&value)),
            AskedOfObject::Among(place, values) => {
                value(place).is_some_and(|value| values.iter().any(|one| one.same(&value)))
            }
            AskedOfObject::Fact(name, values) => values.contains(&fact(name).ok_or(name.as_str())?),
        };
        Ok(answer == self.holds)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.holds { "" } else { "not " };
        match &*self.asked {
            AskedOfObject::IsSet(place) => write!(f, "{} is {not}set", place.path),
            AskedOfObject::Among(place, values) => {
                let values: Vec<String> = values.iter().map(Json::to_text).collect();
                write!(f, "{} is {not}{}", place.path, values.join(" or "))
            }
            AskedOfObject::Fact(name, values) => write!(f, "{name} is {not}{}", values.join(" or ")),
        }
    }
}

/// Whether a value counts as set: null and an empty string do not.
pub(crate) fn is_set(value: &Json<'_>) -> bool {
    !value.is_null() && value.as_str().is_none_or(|text| !text.is_empty())
}

/// What a fact may be.
pub(super) const TRUTHS: [&str; 2] = ["true", "false"];
