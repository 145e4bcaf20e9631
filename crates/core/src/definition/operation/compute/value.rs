//! The values of an expression.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::json::{Json, decimal};

use super::types::Type;

/// A value. Copies share their contents.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// An absent field, or null.
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Arc<str>),
    List(Arc<[Self]>),
    /// The members of an object, sorted by name: the result must not depend on their order in the request.
    Map(Arc<[(Arc<str>, Self)]>),
}

impl Value {
    /// Reads a JSON value of a type. `None` if the value has no exact form here, such as an integer above 64 bits.
    pub(super) fn read(json: &Json<'_>, kind: &Type) -> Option<Self> {
        Some(match json.type_name() {
            "null" => Self::Null,
            "boolean" => Self::Bool(json.scalar()? == "true"),
            "number" => Self::number(json.scalar()?, kind)?,
            "string" => Self::Text(json.as_str()?.as_ref().into()),
            "array" => {
                let items: Option<Vec<Self>> =
                    json.elements().iter().map(|item| Self::read(item, kind.item())).collect();
                Self::List(items?.into())
            }
            _ => {
                let member = |(name, member): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                    let value = Self::read(member, kind.member(name).unwrap_or(&Type::Any))?;
                    Some((Arc::from(name.as_ref()), value))
                };
                let members: Option<Vec<_>> = json.members().iter().map(member).collect();
                Self::map(members?)?
            }
        })
    }

    /// A map of these members. `None` if two have one name.
    pub(super) fn map(mut members: Vec<(Arc<str>, Self)>) -> Option<Self> {
        members.sort_unstable_by(|(one, _), (two, _)| one.cmp(two));
        let are_distinct = members.windows(2).all(|pair| !matches!(pair, [(one, _), (two, _)] if one == two));
        are_distinct.then(|| Self::Map(members.into()))
    }

    fn number(text: &str, kind: &Type) -> Option<Self> {
        // Integers of floats are exact up to this value.
        const EXACT: f64 = 9_007_199_254_740_991.0;
        let double = || text.parse::<f64>().ok().filter(|number| number.is_finite());
        match (kind, text.parse::<i64>()) {
            (Type::Double, _) => double().map(Self::Double),
            (_, Ok(number)) => Some(Self::Int(number)),
            (Type::Int, Err(_)) => {
                let whole = double().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT)?;
                Some(Self::Int(whole as i64))
            }
            (_, Err(_)) => double().map(Self::Double),
        }
    }

    /// Writes the value as JSON, with numbers as the API server stores them: a double without a fraction is an integer
    /// there. A null member of an object is absent. `None` for a number that JSON cannot represent.
    pub(super) fn to_json(&self) -> Option<String> {
        let mut json = Vec::new();
        self.serialize(&mut Serializer::with_formatter(&mut json, StoredNumbers)).ok()?;
        String::from_utf8(json).ok()
    }

    /// The member of a map.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Map(members) = self else { return None };
        let at = members.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        members.get(at).map(|(_, value)| value)
    }
}

/// Spells doubles as the API server stores them.
struct StoredNumbers;

impl Formatter for StoredNumbers {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let mut number = String::new();
        decimal(&format!("{value:e}"), &mut number);
        writer.write_all(number.as_bytes())
    }
}
