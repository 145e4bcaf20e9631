//! Which operations run that stand under a condition.
//!
//! A condition is about the older version: of an object that goes up, it is asked of the object as it came. Of one that
//! comes down, all operations run, and it is asked of what they make, as that is what will go up again: so what is kept
//! is what would not come up by itself.

use super::bit_set::BitSet;
use super::context::Context;
use super::error::ConvertError;
use super::tree;
use crate::definition::{Level, Place, is_set};
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
        for condition in &operation.conditions {
            let mut value = |place: &Place| value(older, place);
            let met = condition.is_met(&mut value, &|name| facts.get(name).map(str::to_owned));
            match met {
                Ok(met) => idle.insert_if(index, !met),
                // What nobody knows of an object that goes up is asked for; of one that comes down, it is kept.
                Err(_) if context.to == crate::definition::Side::Older => idle.insert(index),
                Err(fact) => return Err(unknown(level, older, fact)),
            }
        }
    }
    Ok(idle)
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
