//! Decides which operations with conditions run.
//!
//! A condition applies to the older version. In a conversion up, it is evaluated on the object as received. In a
//! conversion down, all operations run, and the condition is evaluated on the result, which is the input of the next
//! conversion up. Values that would not return by themselves are kept.

use super::bit_set::BitSet;
use super::context::Context;
use super::error::ConvertError;
use super::pieces::Pieces;
use super::tree;
use crate::definition::{Level, Place, Side, is_set};
use crate::json::Json;

/// The operations that do not run in a conversion up. `older` is parsed, but not changed. Adds facts that need no
/// lookup to the context.
pub(super) fn idle(level: &Level, older: &mut Json<'_>, context: &mut Context<'_, '_>) -> Result<BitSet, ConvertError> {
    for fact in &level.facts {
        if !value(older, &fact.secret).is_some_and(|name| is_set(&name)) {
            context.facts = context.facts.with(&fact.name, "false");
        }
    }
    let facts = &context.facts;
    let mut idle = BitSet::new();
    for (index, operation) in level.operations.iter().enumerate() {
        let mut needed_fact = None;
        for condition in &operation.conditions {
            let mut value = |place: &Place| value(older, place);
            match condition.is_met(&mut value, &|name| facts.get(name).map(str::to_owned)) {
                Ok(met) => idle.insert_if(index, !met),
                Err(fact) => needed_fact = needed_fact.or(Some(fact)),
            }
        }
        // If another condition does not hold, the fact does not matter.
        match needed_fact.filter(|_| !idle.contains(index)) {
            None => {}
            // In a conversion up, an unknown fact is an error. In a conversion down, the value is kept.
            Some(_) if context.to == Side::Older => idle.insert(index),
            Some(fact) => return Err(unknown(level, older, fact)),
        }
    }
    Ok(idle)
}

/// Infers an unknown fact from the newer version: its form shows which operations ran. `None` if both values are
/// possible.
pub(super) fn infer_fact(level: &Level, newer: &Pieces<'_>, name: &str) -> Option<&'static str> {
    let fits = |truth: &&str| {
        let mut all = level.operations.iter().enumerate();
        all.all(|(index, operation)| {
            let fact = |needed_fact: &str| (needed_fact == name).then(|| (*truth).to_owned());
            let mut asking = operation.conditions.iter().filter(|condition| condition.field().is_none());
            let is_idle = asking.any(|condition| condition.is_met(&mut |_| None, &fact) == Ok(false));
            !is_idle || newer.of(&level.frontier, Side::Newer, index).iter().all(Option::is_none)
        })
    };
    let mut truths = ["true", "false"].into_iter().filter(fits);
    truths.next().filter(|_| truths.next().is_none())
}

/// All operations with a condition.
pub(super) fn conditional(level: &Level) -> BitSet {
    let mut all = BitSet::new();
    for (index, operation) in level.operations.iter().enumerate() {
        all.insert_if(index, !operation.conditions.is_empty());
    }
    all
}

fn unknown(level: &Level, older: &mut Json<'_>, name: &str) -> ConvertError {
    let fact = level.facts.iter().find(|fact| fact.name == name);
    let secret = fact.and_then(|fact| value(older, &fact.secret)?.as_str().map(|text| text.into_owned()));
    ConvertError::UnknownFact {
        path: fact.map_or_else(|| "facts".to_owned(), |fact| fact.secret.path.to_string()),
        fact: name.to_owned(),
        secret: secret.unwrap_or_default(),
        key: fact.map(|fact| fact.key.clone()).unwrap_or_default(),
    }
}

/// The value of a field, including the API server's default if its parent exists.
fn value(older: &mut Json<'_>, place: &Place) -> Option<Json<'static>> {
    let there = tree::get(older, "", &place.path).ok().flatten().map(|value| Json::owned(value.to_text()));
    let is_filled = |there: &Option<Json<'_>>| there.as_ref().is_none_or(Json::is_null);
    match place.fill_by_default().filter(|_| is_filled(&there) && tree::has_holder(older, &place.path)) {
        Some(default) => Some(default),
        None => there,
    }
}
