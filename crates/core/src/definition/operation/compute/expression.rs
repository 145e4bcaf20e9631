//! Compiled expressions: the parsed form with resolved names.

use regex::Regex;

use super::functions::Function;
use super::value::Value;

/// An expression of the Common Expression Language.
#[derive(Debug)]
pub(super) enum Expression {
    Literal(Value),
    /// A source by its index, or after the sources a variable of an enclosing macro.
    Variable(usize),
    List(Vec<Self>),
    Map(Vec<(Self, Self)>),
    /// `a.b`.
    Member(Box<Self>, String),
    /// `has(a.b)`.
    Has(Box<Self>, String),
    /// `a[b]`.
    Index(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Negative(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    /// `a ? b : c`.
    Conditional(Box<[Self; 3]>),
    Binary(Binary, Box<Self>, Box<Self>),
    /// `text.matches(pattern)`. The pattern is a literal, compiled once.
    Matches(Box<Self>, Regex),
    Call(Function, Vec<Self>),
    Each(Box<Each>),
}

/// A macro over the items of a list, or the entries of a map.
#[derive(Debug)]
pub(super) struct Each {
    pub(super) range: Expression,
    pub(super) form: EachForm,
    /// Whether the macro has two variables: position or key, and item or value. With one variable, it is the item or
    /// the key.
    pub(super) has_two: bool,
    /// The result for an item.
    pub(super) body: Expression,
    /// Skips the items for which this is false.
    pub(super) condition: Option<Expression>,
}

/// The position or key, and the item or value.
pub(super) type Entry = (Value, Value);

impl Each {
    /// The variables for an entry of a list or a map.
    pub(super) fn variables(&self, is_list: bool, (key, item): Entry) -> Vec<Value> {
        match (self.has_two, is_list) {
            (true, _) => vec![key, item],
            (false, true) => vec![item],
            (false, false) => vec![key],
        }
    }
}

/// The result of a macro.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum EachForm {
    /// `all`.
    All,
    /// `exists`.
    Exists,
    /// `exists_one`.
    ExistsOne,
    /// `map`, `filter` and `transformList`: a list.
    List,
    /// `transformMap`: a map with the same keys.
    Values,
    /// `transformMapEntry`: a map of the entries that each item returns.
    Entries,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

impl Binary {
    /// All operators, with their names in the parsed form and as written.
    pub(super) const ALL: [(&str, &str, Self); 12] = [
        ("_+_", "+", Self::Add),
        ("_-_", "-", Self::Subtract),
        ("_*_", "*", Self::Multiply),
        ("_/_", "/", Self::Divide),
        ("_%_", "%", Self::Remainder),
        ("_==_", "==", Self::Equal),
        ("_!=_", "!=", Self::NotEqual),
        ("_<_", "<", Self::Less),
        ("_<=_", "<=", Self::LessOrEqual),
        ("_>_", ">", Self::Greater),
        ("_>=_", ">=", Self::GreaterOrEqual),
        ("@in", "in", Self::In),
    ];
}

impl Expression {
    /// The number of parts, which bounds the work of one evaluation.
    pub(super) fn nodes(&self) -> usize {
        let sum = |parts: &[Self]| parts.iter().map(Self::nodes).sum::<usize>();
        1 + match self {
            Self::Literal(_) | Self::Variable(_) => 0,
            Self::List(parts) | Self::Call(_, parts) => sum(parts),
            Self::Conditional(parts) => sum(&**parts),
            Self::Map(entries) => entries.iter().map(|(key, value)| key.nodes() + value.nodes()).sum(),
            Self::Member(of, _) | Self::Has(of, _) | Self::Not(of) | Self::Negative(of) | Self::Matches(of, _) => {
                of.nodes()
            }
            Self::Index(one, two) | Self::And(one, two) | Self::Or(one, two) | Self::Binary(_, one, two) => {
                one.nodes() + two.nodes()
            }
            Self::Each(each) => {
                let condition = each.condition.as_ref().map_or(0, Self::nodes);
                each.range.nodes() + each.body.nodes() + condition
            }
        }
    }
}
