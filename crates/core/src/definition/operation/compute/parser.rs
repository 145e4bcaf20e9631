//! Compiles the text of an expression: resolves names, and checks types.
//!
//! Source: `cel-spec doc/langdef.md`, and `cel-go ext/comprehensions.go` for the macros with two variables.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use regex::Regex;

use super::expression::{Binary, Each, EachForm, Expression};
use super::functions::Function;
use super::types::Type;
use super::value::Value;
use crate::apimachinery::did_you_mean;

/// The maximum length of an expression in bytes.
const LONGEST: usize = 4096;

/// The maximum nesting of an expression.
const DEEPEST: u16 = 32;

/// The maximum nesting of macros. Each level multiplies the work by the length of a list.
const MOST_LOOPS: usize = 2;

/// An expression with its type.
type Typed = (Expression, Type);

type Parsed = Result<Typed, String>;

/// Compiles expressions with these variables.
pub(super) struct Parser {
    variables: Vec<(String, Type)>,
    loops: usize,
}

impl Parser {
    pub(super) fn new(variables: Vec<(String, Type)>) -> Self {
        Self { variables, loops: 0 }
    }

    /// Compiles an expression. Returns it with its type.
    ///
    /// # Errors
    /// A message with the reason.
    pub(super) fn parse(&mut self, text: &str) -> Parsed {
        if text.len() > LONGEST {
            return Err(format!("longer than {LONGEST} bytes"));
        }
        let parsed = cel::parser::Parser::new().max_recursion_depth(DEEPEST).parse(text);
        let parsed = parsed.map_err(|bad| {
            let first = bad.errors.first();
            let (at, why) = first.map_or((0, String::new()), |error| (error.pos.1, error.msg.clone()));
            format!("no valid expression at character {at}: {}", why.trim_start_matches("Syntax error: "))
        })?;
        self.expression(&parsed)
    }

    fn expression(&mut self, parsed: &IdedExpr) -> Parsed {
        match &parsed.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Literal(literal) => literal_value(literal),
            Expr::List(list) if list.optional_indices.is_empty() => {
                let mut items = Vec::new();
                let mut item_type = Type::Null;
                for element in &list.elements {
                    let (item, kind) = self.expression(element)?;
                    items.push(item);
                    item_type = item_type.or(kind);
                }
                Ok((Expression::List(items), Type::List(Box::new(item_type))))
            }
            Expr::Map(map) => {
                let mut entries = Vec::new();
                for entry in &map.entries {
                    match &entry.expr {
                        EntryExpr::MapEntry(entry) if !entry.optional => entries.push((&entry.key, &entry.value)),
                        _ => return Err("optional entries are not supported".to_owned()),
                    }
                }
                self.map(&entries)
            }
            Expr::Select(select) => self.member(&select.operand, &select.field, select.test),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(_) => Err("optional items are not supported".to_owned()),
            Expr::Struct(_) => Err("messages are not supported: write a map, {\"name\": VALUE}".to_owned()),
            Expr::Unspecified => Err("the expression is empty".to_owned()),
        }
    }

    fn variable(&self, name: &str) -> Parsed {
        match self.variables.iter().rposition(|(other, _)| other == name) {
            Some(index) => {
                let kind = self.variables.get(index).map_or(Type::Any, |(_, kind)| kind.clone());
                Ok((Expression::Variable(index), kind))
            }
            None => {
                let meant = did_you_mean(name, self.variables.iter().map(|(name, _)| name.as_str()));
                Err(format!("no variable {name:?}{meant}"))
            }
        }
    }

    fn map(&mut self, written: &[(&IdedExpr, &IdedExpr)]) -> Parsed {
        let mut entries = Vec::new();
        let (mut members, mut any) = (std::collections::BTreeMap::new(), Type::Null);
        let mut is_object = true;
        for (key, value) in written {
            let (key, key_type) = self.expression(key)?;
            expect(&key_type, &Type::Text, "a key of a map")?;
            let (value, kind) = self.expression(value)?;
            match &key {
                Expression::Literal(Value::Text(name)) => _ = members.insert(name.to_string(), kind.clone()),
                _ => is_object = false,
            }
            any = any.or(kind);
            entries.push((key, value));
        }
        let kind = if is_object { Type::Object(members) } else { Type::Map(Box::new(any)) };
        Ok((Expression::Map(entries), kind))
    }

    fn member(&mut self, of: &IdedExpr, name: &str, is_test: bool) -> Parsed {
        let (of, kind) = self.expression(of)?;
        let member = match &kind {
            Type::Any | Type::Map(_) => kind.member(name).cloned(),
            Type::Object(members) => match members.get(name) {
                Some(member) => Some(member.clone()),
                None => {
                    let meant = did_you_mean(name, members.keys().map(String::as_str));
                    return Err(format!("no member {name:?}{meant}"));
                }
            },
            other => return Err(format!("{other} has no member {name:?}")),
        };
        let of = Box::new(of);
        Ok(match is_test {
            true => (Expression::Has(of, name.to_owned()), Type::Bool),
            false => (Expression::Member(of, name.to_owned()), member.unwrap_or(Type::Any)),
        })
    }

    fn call(&mut self, call: &CallExpr) -> Parsed {
        let name = call.func_name.as_str();
        if let Some(form) = two_variables(name).filter(|_| call.target.is_some()) {
            return self.two_variable_macro(call, form);
        }
        let written = call.target.as_deref().into_iter().chain(&call.args);
        let all: Vec<Typed> = written.map(|part| self.expression(part)).collect::<Result<_, _>>()?;
        if let Some((_, symbol, operator)) = Binary::ALL.iter().find(|(operator, ..)| *operator == name) {
            let [(one, first), (two, second)] = operands(symbol, all)?;
            let kind = binary_type(*operator, symbol, &first, &second)?;
            return Ok((Expression::Binary(*operator, Box::new(one), Box::new(two)), kind));
        }
        match name {
            operators::CONDITIONAL => {
                let [(condition, kind), (yes, first), (no, second)] = operands("? :", all)?;
                expect(&kind, &Type::Bool, "the condition of `? :`")?;
                Ok((Expression::Conditional(Box::new([condition, yes, no])), first.or(second)))
            }
            operators::LOGICAL_AND => logical("&&", all, Expression::And),
            operators::LOGICAL_OR => logical("||", all, Expression::Or),
            operators::LOGICAL_NOT => {
                let [(of, kind)] = operands("!", all)?;
                expect(&kind, &Type::Bool, "the operand of `!`")?;
                Ok((Expression::Not(Box::new(of)), Type::Bool))
            }
            operators::NEGATE => match operands("-", all)? {
                [(of, kind @ (Type::Int | Type::Double | Type::Any))] => Ok((Expression::Negative(Box::new(of)), kind)),
                [(_, kind)] => Err(format!("the operand of `-` must be a number, and is {kind}")),
            },
            operators::INDEX => index(all),
            "matches" => matches(all),
            _ => function(name, all),
        }
    }

    /// A macro of the parser, which it expands to a loop.
    fn comprehension(&mut self, written: &ComprehensionExpr) -> Parsed {
        let accumulator = &written.accu_var;
        let is_accumulator = |expr: &IdedExpr| matches!(&expr.expr, Expr::Ident(name) if name == accumulator);
        let other = || Err("this macro is not supported".to_owned());
        let Expr::Call(step) = &written.loop_step.expr else { return other() };
        let (form, condition, body) = match (step.func_name.as_str(), step.args.as_slice()) {
            (operators::LOGICAL_AND, [one, body]) if is_accumulator(one) => (EachForm::All, None, body),
            (operators::LOGICAL_OR, [one, body]) if is_accumulator(one) => (EachForm::Exists, None, body),
            (operators::CONDITIONAL, [condition, _, _]) if !matches!(written.accu_init.expr, Expr::List(_)) => {
                (EachForm::ExistsOne, None, condition)
            }
            (operators::CONDITIONAL, [condition, sum, _]) => match appended(sum) {
                Some(body) => (EachForm::List, Some(condition), body),
                None => return other(),
            },
            (operators::ADD, _) => match appended(&written.loop_step) {
                Some(body) => (EachForm::List, None, body),
                None => return other(),
            },
            _ => return other(),
        };
        self.each(&written.iter_range, &[&written.iter_var], form, (condition, body))
    }

    fn two_variable_macro(&mut self, call: &CallExpr, form: EachForm) -> Parsed {
        let name = &call.func_name;
        let usage = || format!("`{name}` is written RANGE.{name}(KEY, VALUE, EXPRESSION)");
        let Some(range) = call.target.as_deref() else { return Err(usage()) };
        let (key, value, condition, body) = match call.args.as_slice() {
            [key, value, body] => (key, value, None, body),
            [key, value, condition, body] => (key, value, Some(condition), body),
            _ => return Err(usage()),
        };
        match (&key.expr, &value.expr) {
            (Expr::Ident(key), Expr::Ident(value)) => self.each(range, &[key, value], form, (condition, body)),
            _ => Err(usage()),
        }
    }

    fn each(
        &mut self,
        range: &IdedExpr,
        variables: &[&String],
        form: EachForm,
        (condition, body): (Option<&IdedExpr>, &IdedExpr),
    ) -> Parsed {
        let (range, range_type) = self.expression(range)?;
        let (key, item) = match &range_type {
            Type::List(item) => (Type::Int, (**item).clone()),
            Type::Map(value) => (Type::Text, (**value).clone()),
            Type::Object(_) => (Type::Text, Type::Any),
            Type::Any => (Type::Any, Type::Any),
            other => return Err(format!("a macro needs a list or a map, and got {other}")),
        };
        let of_one = if matches!(range_type, Type::List(_)) { item.clone() } else { key.clone() };
        let types = if variables.len() == 2 { vec![key, item] } else { vec![of_one] };
        if self.loops == MOST_LOOPS {
            return Err(format!("macros are nested in at most {MOST_LOOPS} levels"));
        }
        let outside = self.variables.len();
        self.variables.extend(variables.iter().map(|name| (*name).clone()).zip(types));
        self.loops += 1;
        let condition = condition.map(|condition| self.expression(condition)).transpose();
        let body = self.expression(body);
        self.loops -= 1;
        self.variables.truncate(outside);
        let (condition, (body, kind)) = (condition?, body?);
        if let Some((_, kind)) = &condition {
            expect(kind, &Type::Bool, "the condition of a macro")?;
        }
        let result = match form {
            EachForm::All | EachForm::Exists | EachForm::ExistsOne => {
                expect(&kind, &Type::Bool, "the condition of a macro")?;
                Type::Bool
            }
            EachForm::List => Type::List(Box::new(kind)),
            EachForm::Values => Type::Map(Box::new(kind)),
            EachForm::Entries => Type::Map(Box::new(match kind {
                Type::Map(value) => *value,
                _ => Type::Any,
            })),
        };
        let condition = condition.map(|(condition, _)| condition);
        let each = Each { range, form, has_two: variables.len() == 2, body, condition };
        Ok((Expression::Each(Box::new(each)), result))
    }
}

/// The operands of an operator.
fn operands<const N: usize>(symbol: &str, all: Vec<Typed>) -> Result<[Typed; N], String> {
    all.try_into().map_err(|all: Vec<Typed>| format!("`{symbol}` takes {N} operands, and got {}", all.len()))
}

fn logical(symbol: &str, all: Vec<Typed>, combine: impl Fn(Box<Expression>, Box<Expression>) -> Expression) -> Parsed {
    let [(one, first), (two, second)] = operands(symbol, all)?;
    for kind in [first, second] {
        expect(&kind, &Type::Bool, &format!("an operand of `{symbol}`"))?;
    }
    Ok((combine(Box::new(one), Box::new(two)), Type::Bool))
}

fn index(all: Vec<Typed>) -> Parsed {
    let [(of, of_type), (index, index_type)] = operands("[]", all)?;
    let kind = match of_type {
        Type::List(item) => {
            expect(&index_type, &Type::Int, "the index of a list")?;
            *item
        }
        Type::Map(value) => {
            expect(&index_type, &Type::Text, "the key of a map")?;
            *value
        }
        Type::Any | Type::Object(_) => Type::Any,
        other => return Err(format!("{other} has no items: `[]` needs a list or a map")),
    };
    Ok((Expression::Index(Box::new(of), Box::new(index)), kind))
}

fn matches(all: Vec<Typed>) -> Parsed {
    let [(text, text_type), (pattern, pattern_type)] = operands("matches", all)?;
    expect(&text_type, &Type::Text, "the text of `matches`")?;
    expect(&pattern_type, &Type::Text, "the pattern of `matches`")?;
    let Expression::Literal(Value::Text(pattern)) = pattern else {
        return Err("the pattern of `matches` must be a literal".to_owned());
    };
    let pattern = Regex::new(&pattern).map_err(|_| format!("`matches`: {pattern:?} is no pattern"))?;
    Ok((Expression::Matches(Box::new(text), pattern), Type::Bool))
}

fn function(name: &str, all: Vec<Typed>) -> Parsed {
    let Some((_, function)) = Function::ALL.iter().find(|(other, _)| *other == name) else {
        let meant = did_you_mean(name, Function::ALL.iter().map(|(name, _)| *name));
        return Err(format!("no function `{name}`{meant}"));
    };
    let signature = function.signature();
    let (least, most) = (signature.required.len(), signature.required.len() + signature.optional.len());
    if !(least..=most).contains(&all.len()) {
        return Err(format!("`{name}` takes {least} to {most} arguments with its target, and got {}", all.len()));
    }
    for (wanted, (_, got)) in signature.required.iter().chain(signature.optional).zip(&all) {
        expect(got, &wanted.to_type(), &format!("an argument of `{name}`"))?;
    }
    let arguments = all.into_iter().map(|(argument, _)| argument).collect();
    Ok((Expression::Call(*function, arguments), signature.result.to_type()))
}

/// The macros with two variables.
fn two_variables(name: &str) -> Option<EachForm> {
    match name {
        "transformList" => Some(EachForm::List),
        "transformMap" => Some(EachForm::Values),
        "transformMapEntry" => Some(EachForm::Entries),
        _ => None,
    }
}

/// The item of `list + [item]`.
fn appended(sum: &IdedExpr) -> Option<&IdedExpr> {
    let Expr::Call(CallExpr { func_name, args, .. }) = &sum.expr else { return None };
    match args.as_slice() {
        [_, IdedExpr { expr: Expr::List(list), .. }] if func_name == operators::ADD => list.elements.first(),
        _ => None,
    }
}

fn literal_value(literal: &LiteralValue) -> Parsed {
    let (value, kind) = match literal {
        LiteralValue::Boolean(value) => (Value::Bool(*value.inner()), Type::Bool),
        LiteralValue::Double(value) => (Value::Double(*value.inner()), Type::Double),
        LiteralValue::Int(value) => (Value::Int(*value.inner()), Type::Int),
        LiteralValue::Null => (Value::Null, Type::Null),
        LiteralValue::String(value) => (Value::Text(value.inner().into()), Type::Text),
        LiteralValue::Bytes(_) => return Err("bytes are not supported".to_owned()),
        LiteralValue::UInt(_) => return Err("unsigned integers are not supported: remove the u".to_owned()),
    };
    Ok((Expression::Literal(value), kind))
}

fn expect(got: &Type, wanted: &Type, subject: &str) -> Result<(), String> {
    match *got != Type::Null && wanted.meets(got) || *wanted == Type::Any {
        true => Ok(()),
        false => Err(format!("{subject} must be {wanted}, and is {got}")),
    }
}

fn binary_type(operator: Binary, symbol: &str, one: &Type, two: &Type) -> Result<Type, String> {
    let mismatch = || Err(format!("`{symbol}` cannot combine {one} and {two}"));
    let are_numbers = |kind: &Type| matches!(kind, Type::Int | Type::Double | Type::Any);
    match operator {
        Binary::Equal | Binary::NotEqual => {
            let are_both_numbers = are_numbers(one) && are_numbers(two);
            if one.meets(two) || are_both_numbers { Ok(Type::Bool) } else { mismatch() }
        }
        Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
            let has_order =
                |kind: &Type| matches!(kind, Type::Int | Type::Double | Type::Text | Type::Bool | Type::Any);
            let fits = has_order(one) && has_order(two) && (one.meets(two) || are_numbers(one) && are_numbers(two));
            if fits { Ok(Type::Bool) } else { mismatch() }
        }
        Binary::In => match two {
            Type::List(item) if item.meets(one) => Ok(Type::Bool),
            Type::Map(_) | Type::Object(_) if Type::Text.meets(one) => Ok(Type::Bool),
            Type::Any => Ok(Type::Bool),
            _ => mismatch(),
        },
        Binary::Add => match (one, two) {
            (Type::Null, _) | (_, Type::Null) => mismatch(),
            (Type::List(one), Type::List(two)) => Ok(Type::List(Box::new((**one).clone().or((**two).clone())))),
            (Type::Bool | Type::Map(_) | Type::Object(_), _) => mismatch(),
            (Type::Any, other) | (other, Type::Any) => Ok(other.clone()),
            (one, two) if one == two => Ok(one.clone()),
            _ => mismatch(),
        },
        Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder => match (one, two) {
            (one, two) if !are_numbers(one) || !are_numbers(two) => mismatch(),
            (Type::Any, other) | (other, Type::Any) => Ok(other.clone()),
            (one, two) if one == two => Ok(one.clone()),
            _ => mismatch(),
        },
    }
}
