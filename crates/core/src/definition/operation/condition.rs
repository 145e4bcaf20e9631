//! The condition of operations.

use std::fmt;
use std::sync::Arc;

use crate::definition::place::Place;
use crate::json::Json;

/// A condition that decides whether an operation runs in the conversion to the newer version.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(super) tested: Arc<ConditionTest>,
    /// The required result.
    pub(super) holds: bool,
}

/// The test of a condition.
#[derive(Debug)]
pub(super) enum ConditionTest {
    /// Whether a field of the older version is set.
    IsSet(Place),
    /// Whether a field has one of these values.
    Among(Place, Vec<Json<'static>>),
    /// Whether a fact has one of these values.
    Fact(String, Vec<String>),
}

impl ConditionTest {
    fn is_about_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fact(one, _), Self::Fact(two, _)) => one == two,
            (Self::IsSet(one) | Self::Among(one, _), Self::IsSet(two) | Self::Among(two, _)) => one.path == two.path,
            _ => false,
        }
    }

    /// The values of the tested field.
    fn values(&self) -> &[Json<'static>] {
        match self {
            Self::Among(_, values) => values,
            Self::IsSet(_) | Self::Fact(..) => &[],
        }
    }
}

impl Condition {
    /// The opposite condition.
    pub(super) fn not(&self) -> Self {
        Self { tested: Arc::clone(&self.tested), holds: !self.holds }
    }

    /// Returns whether no object can meet all of these conditions, with respect to the subject of the last one. Tries
    /// absence, each value that a condition names, and one other value.
    pub(super) fn exclude_each_other(conditions: &[Self]) -> bool {
        let Some(last) = conditions.last() else { return false };
        let alike: Vec<&Self> = conditions.iter().filter(|one| one.tested.is_about_the_same(&last.tested)).collect();
        let is_met = |value: Option<&Json<'static>>, fact: &str| {
            let met = |one: &&Self| one.is_met(&mut |_| value.cloned(), &|_| Some(fact.to_owned())) == Ok(true);
            alike.iter().all(met)
        };
        let Some(place) = last.field() else { return !TRUTHS.iter().any(|fact| is_met(None, fact)) };
        let mut named: Vec<Json<'static>> = alike.iter().flat_map(|one| one.tested.values()).cloned().collect();
        named.extend(match place.schema.kind.as_deref() {
            Some("boolean") => vec![Json::borrowed("true"), Json::borrowed("false")],
            _ => vec![Json::borrowed(r#""a value without a name""#)],
        });
        !(is_met(None, "") || named.iter().any(|value| is_met(Some(value), "")))
    }

    /// The tested field. `None` for a fact.
    pub(crate) fn field(&self) -> Option<&Place> {
        match &*self.tested {
            ConditionTest::IsSet(place) | ConditionTest::Among(place, _) => Some(place),
            ConditionTest::Fact(..) => None,
        }
    }

    /// The name of the tested fact, if any.
    #[cfg(feature = "laws")]
    pub(crate) fn fact(&self) -> Option<&str> {
        match &*self.tested {
            ConditionTest::Fact(name, _) => Some(name),
            ConditionTest::IsSet(_) | ConditionTest::Among(..) => None,
        }
    }

    /// Returns whether the condition holds for an object of the older version. `value` returns the value of a field,
    /// `fact` the value of a fact.
    ///
    /// # Errors
    /// The name of a fact that is needed and unknown.
    pub(crate) fn is_met(
        &self,
        value: &mut dyn FnMut(&Place) -> Option<Json<'static>>,
        fact: &dyn Fn(&str) -> Option<String>,
    ) -> Result<bool, &str> {
        let answer = match &*self.tested {
            ConditionTest::IsSet(place) => value(place).is_some_and(|value| is_set(&value)),
            ConditionTest::Among(place, values) => {
                value(place).is_some_and(|value| values.iter().any(|one| one.same(&value)))
            }
            ConditionTest::Fact(name, values) => values.contains(&fact(name).ok_or(name.as_str())?),
        };
        Ok(answer == self.holds)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.holds { "" } else { "not " };
        match &*self.tested {
            ConditionTest::IsSet(place) => write!(f, "{} is {not}set", place.path),
            ConditionTest::Among(place, values) => {
                let values: Vec<String> = values.iter().map(Json::to_text).collect();
                write!(f, "{} is {not}{}", place.path, values.join(" or "))
            }
            ConditionTest::Fact(name, values) => write!(f, "{name} is {not}{}", values.join(" or ")),
        }
    }
}

/// Returns whether a value counts as set. Null and an empty string do not.
pub(crate) fn is_set(value: &Json<'_>) -> bool {
    !value.is_null() && value.as_str().is_none_or(|text| !text.is_empty())
}

/// The values of a fact.
pub(super) const TRUTHS: [&str; 2] = ["true", "false"];
