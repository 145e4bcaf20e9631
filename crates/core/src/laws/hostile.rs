//! Laws for any input: it converts, or fails with a name and a path, deterministically, and forged entries have no
//! effect.

use super::apiserver::{Constraint, fill, invalid};
use super::case::Case;
use super::conversion_path::{Breach, identical, ours, without_ours};
use super::generate::anything;
use super::random::Random;
use super::value::Value;

pub(super) fn converts_or_fails_by_path(Case { trip, object, .. }: Case<'_>) -> Result<bool, Breach> {
    let text = object.to_text();
    let there = match trip.convert(&text, trip.to.version) {
        Ok(there) => there.text,
        Err(error) => return named(&error).map(|()| true),
    };
    if let Err(error) = trip.convert(&there, trip.from.version) {
        named(&error)?;
    }
    Ok(true)
}

/// A failure must contain a path and a reason.
fn named(error: &crate::webhook::ConvertError) -> Result<(), Breach> {
    match error.path().is_empty() || error.reason().is_empty() {
        true => Err(Breach::new(format!("fails without a path: {error}"))),
        false => Ok(()),
    }
}

pub(super) fn same_input_same_bytes(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let converted = |text: &str| {
        let converted = trip.convert(text, trip.to.version);
        converted.map(|done| done.text).map_err(|error| error.to_string())
    };
    let text = object.to_text();
    let once = converted(&text);
    if once != converted(&text) {
        return Err(Breach::new("is not the same twice"));
    }
    // The order of members does not matter.
    let mut random = Random::new(seed);
    let mut shuffled = String::new();
    object.write(&mut shuffled, &mut |members| random.shuffle(members));
    let parsed =
        |text: &str| Value::read(text).map_err(|error| Breach::new(format!("the answer is not JSON: {error}")));
    match (once, converted(&shuffled)) {
        (Ok(one), Ok(other)) => {
            // A kept annotation is text, whose members may have any order.
            let (one, other) = (without_ours(&parsed(&one)?), without_ours(&parsed(&other)?));
            identical("in another order", &one, &other).map(|()| true)
        }
        (Err(_), Err(_)) => Ok(true),
        _ => Err(Breach::new("fails in one order of members and succeeds in another")),
    }
}

/// An annotation in the kept format with arbitrary content.
fn forge(random: &mut Random, real: &str) -> String {
    let Ok(mut forged) = Value::read(real) else { return real.to_owned() };
    for _ in 0..1 + random.below(4) {
        let ways = forged.ways();
        let Some(way) = random.pick(&ways).filter(|way| !way.is_empty()) else { continue };
        match random.percent(20) {
            true => drop(forged.remove(way)),
            false => {
                if let Some(place) = forged.at_mut(way) {
                    *place = anything(random, 3);
                }
            }
        }
    }
    let mut text = forged.to_text();
    if random.percent(10) {
        text = text.chars().take(random.below(text.len())).collect();
    }
    text
}

pub(super) fn forgeries_gain_nothing(Case { trip, object, seed, .. }: Case<'_>) -> Result<bool, Breach> {
    let Some((_, there)) = trip.at_both_ends(object) else { return Ok(false) };
    let mut random = Random::new(seed ^ 0xF06);
    let Some((name, real)) = ours(&there).first().copied() else { return Ok(false) };
    let forged = forge(&mut random, real);
    let mut forgery = there.clone();
    if let Some(Value::Object(all)) = forgery.at_mut(&super::value::way("metadata.annotations")) {
        all.insert(name.to_owned(), Value::Text(forged));
    }
    let back = trip.back();
    // An honest object may be rejected for other reasons, which other laws check.
    let honest = back.seen(&without_ours(&there)).map(|mut round_tripped| {
        fill(trip.from.schema, &mut round_tripped);
        invalid(trip.from.schema, &round_tripped, "").is_none()
    });
    if !honest.unwrap_or_default() {
        return Ok(false);
    }
    let with_story = |breach: Breach| breach.after("forged", &forgery);
    let mut round_tripped = back.there(&forgery).map_err(with_story)?;
    fill(trip.from.schema, &mut round_tripped);
    match invalid(trip.from.schema, &round_tripped, "") {
        Some(problem) if problem.constraint == Constraint::Type => Err(with_story(
            Breach::new(format!("returns an impossible value: {problem}")).after("home", &round_tripped),
        )),
        _ => Ok(true),
    }
}
