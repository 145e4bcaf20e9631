//! Which operations run that stand under a condition.
//!
//! A condition is about the older version: of an object that goes up, it is asked of the object as it came. Of one that
//! comes down, all operations run, and it is asked of what they make, as that is what will go up again: so what is kept
//! is what would not come up by itself.

use super::bit_set::BitSet;
use super::context::Context;
use super::error::ConvertError;
use super::pieces::Pieces;
use super::tree;
use crate::definition::{Level, Place, Side, is_set};
use crate::json::Json;

/// Those that do not run on the way up from an object of the older version. `older` is opened, and not changed. The
/// facts of the context are completed by those that need no look-up.
pub(super) fn idle(level: &Level, older: &mut Json<'_>, context: &mut Context<'_, '_>) -> Result<BitSet, ConvertError> {
    for fact in &level.facts {
        if !value(older, &fact.secret).is_some_and(|name| is_set(&name)) {
            context.facts = context.facts.with(&fact.name, "false");
        }
    }
    let facts = &context.facts;
    let mut idle = BitSet::new();
    for (index, operation) in level.operations.iter().enumerate() {
        let mut asked = None;
        for condition in &operation.conditions {
            let mut value = |place: &Place| value(older, place);
            match condition.is_met(&mut value, &|name| facts.get(name).map(str::to_owned)) {
                Ok(met) => idle.insert_if(index, !met),
                Err(fact) => asked = asked.or(Some(fact)),
            }
        }
        // Where another condition does not hold, no fact changes anything.
        match asked.filter(|_| !idle.contains(index)) {
            None => {}
            // What nobody knows of an object that goes up is asked for; of one that comes down, it is kept.
            Some(_) if context.to == Side::Older => idle.insert(index),
            Some(fact) => return Err(unknown(level, older, fact)),
        }
    }
    Ok(idle)
}

/// What a fact that nobody knows has been, by what there is of the newer version: its form says which operations ran.
/// Nothing where both may be.
pub(super) fn told_by_form(level: &Level, newer: &Pieces<'_>, name: &str) -> Option<&'static str> {
    let fits = |truth: &&str| {
        let mut all = level.operations.iter().enumerate();
        all.all(|(index, operation)| {
            let fact = |asked: &str| (asked == name).then(|| (*truth).to_owned());
            let mut asking = operation.conditions.iter().filter(|condition| condition.field().is_none());
            let is_idle = asking.any(|condition| condition.is_met(&mut |_| None, &fact) == Ok(false));
            !is_idle || newer.of(&level.frontier, Side::Newer, index).iter().all(Option::is_none)
        })
    };
    let mut truths = ["true", "false"].into_iter().filter(fits);
    truths.next().filter(|_| truths.next().is_none())
}

/// All operations under a condition.
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

/// What is in a field, with what the API server fills in where its object is there.
fn value(older: &mut Json<'_>, place: &Place) -> Option<Json<'static>> {
    let there = tree::get(older, "", &place.path).ok().flatten().map(|value| Json::owned(value.to_text()));
    let is_filled = |there: &Option<Json<'_>>| there.as_ref().is_none_or(Json::is_null);
    match place.fill_by_default().filter(|_| is_filled(&there) && tree::has_holder(older, &place.path)) {
        Some(default) => Some(default),
        None => there,
    }
}
