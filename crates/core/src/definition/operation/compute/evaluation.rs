//! The evaluation of expressions.
//!
//! An error anywhere means that the expression returns no value, except under `&&`, `||`, `all` and `exists`: as in CEL
//! (language definition, "Logical Operators" and "Macros"), another operand or item decides if it can.

use std::cmp::Ordering;
use std::sync::Arc;

use super::expression::{Binary, Each, EachForm, Entry, Expression};
use super::meter::{Meter, NoValue, VALUE};
use super::value::Value;

type Evaluated = Result<Value, NoValue>;

/// One evaluation. The variables are the sources, and after them those of the enclosing macros.
pub(super) struct Evaluation<'m> {
    pub(super) variables: Vec<Value>,
    pub(super) meter: &'m mut Meter,
}

impl Evaluation<'_> {
    /// Returns the value of an expression.
    ///
    /// # Errors
    /// If an operation has no result, or the meter ends.
    pub(super) fn value(&mut self, expression: &Expression) -> Evaluated {
        self.meter.spend(0)?;
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Variable(index) => self.variables.get(*index).cloned().ok_or(NoValue::Error),
            Expression::List(items) => {
                self.meter.allocate(items.len().saturating_mul(VALUE))?;
                let items: Vec<Value> = items.iter().map(|item| self.value(item)).collect::<Result<_, _>>()?;
                Ok(Value::List(items.into()))
            }
            Expression::Map(entries) => self.map(entries),
            Expression::Member(of, name) => self.value(of)?.member(name).cloned().ok_or(NoValue::Error),
            Expression::Has(of, name) => match self.value(of)? {
                map @ Value::Map(_) => Ok(Value::Bool(map.member(name).is_some_and(|value| *value != Value::Null))),
                Value::Null => Ok(Value::Bool(false)),
                _ => Err(NoValue::Error),
            },
            Expression::Index(of, index) => indexed(&self.value(of)?, &self.value(index)?),
            Expression::Not(of) => Ok(Value::Bool(!truth(&self.value(of)?)?)),
            Expression::Negative(of) => match self.value(of)? {
                Value::Int(number) => number.checked_neg().map(Value::Int).ok_or(NoValue::Error),
                Value::Double(number) => Ok(Value::Double(-number)),
                _ => Err(NoValue::Error),
            },
            Expression::And(one, two) => self.logical(one, two, false),
            Expression::Or(one, two) => self.logical(one, two, true),
            Expression::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                match truth(&self.value(condition)?)? {
                    true => self.value(yes),
                    false => self.value(no),
                }
            }
            Expression::Binary(operator, one, two) => {
                let (one, two) = (self.value(one)?, self.value(two)?);
                self.binary(*operator, &one, &two)
            }
            Expression::Matches(text, pattern) => match self.value(text)? {
                Value::Text(text) => {
                    self.meter.spend(text.len().saturating_mul(8))?;
                    Ok(Value::Bool(pattern.is_match(&text)))
                }
                _ => Err(NoValue::Error),
            },
            Expression::Call(function, arguments) => {
                let arguments: Vec<Value> =
                    arguments.iter().map(|argument| self.value(argument)).collect::<Result<_, _>>()?;
                function.call(&arguments, self.meter)
            }
            Expression::Each(each) => self.each(each),
        }
    }

    /// `deciding` is the operand that decides the result alone: true for `||`, false for `&&`.
    fn logical(&mut self, one: &Expression, two: &Expression, deciding: bool) -> Evaluated {
        let one = self.operand(one)?;
        if one == Some(deciding) {
            return Ok(Value::Bool(deciding));
        }
        let two = self.operand(two)?;
        if two == Some(deciding) {
            return Ok(Value::Bool(deciding));
        }
        one.and(two).map(Value::Bool).ok_or(NoValue::Error)
    }

    /// The value of an operand or item, in whose place another one may decide. `None` for an error. A limit stays one.
    fn operand(&mut self, expression: &Expression) -> Result<Option<bool>, NoValue> {
        let memory = self.meter.memory();
        match self.value(expression).and_then(|value| truth(&value)) {
            Ok(value) => Ok(Some(value)),
            Err(NoValue::Error) => {
                self.meter.restore(memory);
                Ok(None)
            }
            Err(NoValue::Limit) => Err(NoValue::Limit),
        }
    }

    fn map(&mut self, entries: &[(Expression, Expression)]) -> Evaluated {
        self.meter.allocate(entries.len().saturating_mul(VALUE))?;
        let mut members = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let Value::Text(key) = self.value(key)? else { return Err(NoValue::Error) };
            members.push((key, self.value(value)?));
        }
        distinct(members)
    }

    fn binary(&mut self, operator: Binary, one: &Value, two: &Value) -> Evaluated {
        let order = |fits: &dyn Fn(Ordering) -> bool| Ok(Value::Bool(fits(order(one, two).ok_or(NoValue::Error)?)));
        match operator {
            Binary::Equal | Binary::NotEqual => {
                self.meter.spend(size(one))?;
                Ok(Value::Bool(are_equal(one, two) == (operator == Binary::Equal)))
            }
            Binary::Less => order(&Ordering::is_lt),
            Binary::LessOrEqual => order(&Ordering::is_le),
            Binary::Greater => order(&Ordering::is_gt),
            Binary::GreaterOrEqual => order(&Ordering::is_ge),
            Binary::In => self.is_in(one, two),
            Binary::Add => self.sum(one, two),
            Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder => arithmetic(operator, one, two),
        }
    }

    fn is_in(&mut self, value: &Value, all: &Value) -> Evaluated {
        self.meter.spend(size(all))?;
        match (all, value) {
            (Value::List(items), _) => Ok(Value::Bool(items.iter().any(|item| are_equal(item, value)))),
            (Value::Map(_), Value::Text(name)) => Ok(Value::Bool(all.member(name).is_some())),
            _ => Err(NoValue::Error),
        }
    }

    fn sum(&mut self, one: &Value, two: &Value) -> Evaluated {
        match (one, two) {
            (Value::Text(one), Value::Text(two)) => {
                self.meter.spend(one.len() + two.len())?;
                self.meter.allocate(one.len() + two.len())?;
                Ok(Value::Text(format!("{one}{two}").into()))
            }
            (Value::List(one), Value::List(two)) => {
                self.meter.spend((one.len() + two.len()).saturating_mul(8))?;
                self.meter.allocate((one.len() + two.len()).saturating_mul(VALUE))?;
                Ok(Value::List(one.iter().chain(two.iter()).cloned().collect()))
            }
            _ => arithmetic(Binary::Add, one, two),
        }
    }

    fn each(&mut self, each: &Each) -> Evaluated {
        let range = self.value(&each.range)?;
        let count = match &range {
            Value::List(items) => items.len(),
            Value::Map(members) => members.len(),
            _ => 0,
        };
        // The entries of the range, and the results.
        let size = count.saturating_mul(VALUE);
        self.meter.allocate(size.saturating_mul(2))?;
        let entries: Vec<Entry> = match &range {
            Value::List(items) => (0..).map(Value::Int).zip(items.iter().cloned()).collect(),
            Value::Map(members) => {
                members.iter().map(|(name, value)| (Value::Text(name.clone()), value.clone())).collect()
            }
            _ => return Err(NoValue::Error),
        };
        let is_list = matches!(range, Value::List(_));
        let result = match each.form {
            EachForm::All => self.quantified(each, is_list, entries, false),
            EachForm::Exists => self.quantified(each, is_list, entries, true),
            EachForm::ExistsOne => self.results(each, is_list, entries).map(|found| is_one_true(&found)),
            EachForm::List => self.results(each, is_list, entries).map(list),
            EachForm::Values => self.results(each, is_list, entries).and_then(map_of_values),
            EachForm::Entries => self.results(each, is_list, entries).and_then(map_of_entries),
        };
        self.meter.release(match each.form {
            EachForm::All | EachForm::Exists | EachForm::ExistsOne => size.saturating_mul(2),
            EachForm::List | EachForm::Values | EachForm::Entries => size,
        });
        result
    }

    /// `all` or `exists`. `deciding` is the value of an item that decides the result alone: true for `exists`.
    fn quantified(&mut self, each: &Each, is_list: bool, entries: Vec<Entry>, deciding: bool) -> Evaluated {
        let mut others = Some(!deciding);
        for entry in entries {
            let value = self.inside(each.variables(is_list, entry), |this| this.operand(&each.body))?;
            if value == Some(deciding) {
                return Ok(Value::Bool(deciding));
            }
            others = others.and(value);
        }
        others.map(Value::Bool).ok_or(NoValue::Error)
    }

    /// The key and result of each item that is not skipped.
    fn results(&mut self, each: &Each, is_list: bool, entries: Vec<Entry>) -> Result<Vec<Entry>, NoValue> {
        let mut results = Vec::new();
        for (key, item) in entries {
            let variables = each.variables(is_list, (key.clone(), item));
            if let Some(value) = self.inside(variables, |this| this.item(each))? {
                results.push((key, value));
            }
        }
        Ok(results)
    }

    /// Evaluates with the variables of a macro.
    fn inside<T>(&mut self, variables: Vec<Value>, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let outside = self.variables.len();
        self.variables.extend(variables);
        let result = evaluate(self);
        self.variables.truncate(outside);
        result
    }

    /// The result for one item. `None` if the condition skips it.
    fn item(&mut self, each: &Each) -> Result<Option<Value>, NoValue> {
        if let Some(condition) = &each.condition
            && !truth(&self.value(condition)?)?
        {
            return Ok(None);
        }
        self.value(&each.body).map(Some)
    }
}

fn is_one_true(results: &[Entry]) -> Value {
    Value::Bool(results.iter().filter(|(_, value)| *value == Value::Bool(true)).count() == 1)
}

fn list(results: Vec<Entry>) -> Value {
    Value::List(results.into_iter().map(|(_, value)| value).collect())
}

fn map_of_values(results: Vec<Entry>) -> Evaluated {
    let member = |(key, value)| match key {
        Value::Text(key) => Ok((key, value)),
        _ => Err(NoValue::Error),
    };
    distinct(results.into_iter().map(member).collect::<Result<_, _>>()?)
}

fn map_of_entries(results: Vec<Entry>) -> Evaluated {
    let mut members = Vec::new();
    for (_, entry) in results {
        let Value::Map(entry) = entry else { return Err(NoValue::Error) };
        members.extend(entry.iter().cloned());
    }
    distinct(members)
}

/// A map of these members. Equal names are an error.
fn distinct(members: Vec<(Arc<str>, Value)>) -> Evaluated {
    Value::map(members).ok_or(NoValue::Error)
}

fn truth(value: &Value) -> Result<bool, NoValue> {
    match value {
        Value::Bool(value) => Ok(*value),
        _ => Err(NoValue::Error),
    }
}

/// The work to compare or search a value: about the number of its bytes.
fn size(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::List(items) => items.iter().map(size).sum::<usize>() + items.len(),
        Value::Map(members) => members.iter().map(|(name, value)| name.len() + size(value)).sum(),
        _ => 8,
    }
}

/// An integer equals a float with the same number.
fn are_equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Int(_), Value::Double(_)) | (Value::Double(_), Value::Int(_)) => {
            order(one, two).is_some_and(Ordering::is_eq)
        }
        (Value::List(one), Value::List(two)) => {
            one.len() == two.len() && one.iter().zip(two.iter()).all(|(one, two)| are_equal(one, two))
        }
        (Value::Map(members), Value::Map(others)) => {
            let is_same =
                |(name, value): &(Arc<str>, Value)| two.member(name).is_some_and(|other| are_equal(value, other));
            members.len() == others.len() && members.iter().all(is_same)
        }
        _ => one == two,
    }
}

fn order(one: &Value, two: &Value) -> Option<Ordering> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => Some(one.cmp(two)),
        (Value::Double(one), Value::Double(two)) => one.partial_cmp(two),
        (Value::Int(one), Value::Double(two)) => (*one as f64).partial_cmp(two),
        (Value::Double(one), Value::Int(two)) => one.partial_cmp(&(*two as f64)),
        (Value::Text(one), Value::Text(two)) => Some(one.cmp(two)),
        (Value::Bool(one), Value::Bool(two)) => Some(one.cmp(two)),
        _ => None,
    }
}

fn indexed(of: &Value, index: &Value) -> Evaluated {
    let found = match (of, index) {
        (Value::List(items), Value::Int(index)) => usize::try_from(*index).ok().and_then(|index| items.get(index)),
        (Value::Map(_), Value::Text(name)) => of.member(name),
        _ => None,
    };
    found.cloned().ok_or(NoValue::Error)
}

fn arithmetic(operator: Binary, one: &Value, two: &Value) -> Evaluated {
    let result = match (one, two) {
        (Value::Int(one), Value::Int(two)) => match operator {
            Binary::Add => one.checked_add(*two),
            Binary::Subtract => one.checked_sub(*two),
            Binary::Multiply => one.checked_mul(*two),
            Binary::Divide => one.checked_div(*two),
            _ => one.checked_rem(*two),
        }
        .map(Value::Int),
        (Value::Double(one), Value::Double(two)) => match operator {
            Binary::Add => Some(one + two),
            Binary::Subtract => Some(one - two),
            Binary::Multiply => Some(one * two),
            Binary::Divide => Some(one / two),
            _ => None,
        }
        .map(Value::Double),
        _ => None,
    };
    result.ok_or(NoValue::Error)
}
