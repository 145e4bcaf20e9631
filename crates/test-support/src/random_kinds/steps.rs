//! Random steps: operations on fields, and on the contents of lists and maps.

use serde_json::{Value as Schema, json};

use super::annotations::annotated;
use super::draft_step::{DraftStep, Manner};
use super::forms::{computed, computed_pair, namespaced};
use super::operations::{
    add, blank, clamp, demand, drop, fill_in, measure, move_into_map, relocate, rename, retype, split, tighten,
    under_its_own_name, values, without_default, wrap,
};
use super::paths::{all, at, at_mut, is_required, put, take, written};
use super::schemaless::schemaless;
use super::schemas::{sample, scalar};
use pointsman_core::laws::Random;
use pointsman_core::laws::schema::map_values;

/// A step from a version to a newer one.
pub(super) fn between(random: &mut Random, older: &Schema, manner: Manner) -> DraftStep {
    let mut step = DraftStep::new(older, true, manner);
    let count = 1 + random.below(5);
    if manner == Manner::Conditional {
        // A condition needs a field that both versions have.
        step.taken.extend(flags(older));
    }
    fill(&mut step, random, older, count);
    if manner == Manner::Conditional {
        step.operations = under_conditions(random, flags(older), std::mem::take(&mut step.operations));
    }
    step
}

/// A field of the older version for a condition: a string, number or boolean.
fn flags(older: &Schema) -> Option<Vec<String>> {
    let in_contents =
        |place: &Vec<String>| place.len() > 1 && matches!(place.first().map(String::as_str), Some("spec"));
    all(older).into_iter().filter(in_contents).find(|place| is_flag(older, place))
}

/// A field of an item for a condition.
fn item_flag(item: &Schema) -> Option<Vec<String>> {
    all(item).into_iter().find(|place| is_flag(item, place))
}

fn is_flag(schema: &Schema, place: &[String]) -> bool {
    let kind = at(schema, place).and_then(|schema| schema.get("type")).and_then(Schema::as_str);
    matches!(kind, Some("string" | "integer" | "boolean"))
}

/// Puts most operations under one or two conditions.
fn under_conditions(random: &mut Random, flag: Option<Vec<String>>, operations: Vec<Schema>) -> Vec<Schema> {
    let Some(flag) = flag else { return operations };
    let (mut all, mut held, mut otherwise) = (Vec::new(), Vec::new(), Vec::new());
    for operation in operations {
        match random.below(10) {
            0 | 1 => all.push(operation),
            2..=7 => held.push(operation),
            _ => otherwise.push(operation),
        }
    }
    let set = !random.percent(20);
    for (operations, set) in [(held, set), (otherwise, !set)] {
        if !operations.is_empty() {
            all.push(json!({"when": {"field": written(&flag), "set": set, "operations": operations}}));
        }
    }
    all
}

fn fill(step: &mut DraftStep, random: &mut Random, older: &Schema, count: usize) {
    for _ in 0..count * 3 {
        if step.operations.len() + step.accept.len() >= count {
            break;
        }
        // If there is no suitable field, another operation is tried.
        let _ = attempt(step, random, older);
    }
    if step.manner == Manner::Hostile && random.percent(20) {
        // An unexplained difference.
        let places = all(&step.newer);
        if let Some(place) = random.pick(&places).filter(|place| step.may_move(place)) {
            put(&mut step.newer, place, scalar(random), false);
        }
    }
}

/// Tries to add one operation. `None` if there is no suitable field.
fn attempt(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    match random.below(31) {
        0 => drop(step, random, older),
        1 => add(step, random, older),
        2 => rename(step, random, older),
        3 | 4 => relocate(step, random, older),
        5 => under_its_own_name(step, random, older),
        6 => retype(step, random, older),
        7 => values(step, random, older),
        8 => wrap(step, random, older),
        9 => split(step, random, older),
        10 => move_into_map(step, random, older),
        11 => blank(step, random, older),
        12 => tighten(step, random, older),
        13 => fill_in(step, random, older),
        14 => inside_items(step, random, older),
        15 => clamp(step, random, older),
        16 | 17 => demand(step, random, older),
        18 | 19 => measure(step, random, older),
        20 | 21 => moved_object(step, random, older),
        22 => computed(step, random, older),
        23 => computed_pair(step, random, older),
        24 => namespaced(step, random, older),
        25 | 26 => schemaless(step, random, older),
        27 => annotated(step, random, older),
        _ => each(step, random, older),
    }
}

/// Moves an object, and changes its contents.
fn moved_object(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let is_open = |schema: &Schema| {
        schema.get("properties").is_some() && map_values(schema).is_none() && schema.get("default").is_none()
    };
    let from = step.optional(random, older, &is_open)?;
    let object = take(&mut step.newer, &from)?;
    let mut inner = DraftStep::new(&object, false, step.manner);
    let count = 1 + random.below(2);
    fill(&mut inner, random, &object, count);
    let to = step.target(random, older, from.get(..from.len() - 1)?);
    put(&mut step.newer, &to, inner.newer, is_required(older, &from));
    let operation = json!({"move": {"from": written(&from), "to": written(&to), "operations": inner.operations}});
    step.done(operation, &[from], &[to])
}

fn each(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.field(random, older, &|schema| items(schema).is_some())?;
    let mut list = take(&mut step.newer, &from)?;
    let item = items(&list)?.clone();
    let mut inner = match item.get("properties") {
        Some(_) => {
            let mut inner = DraftStep::new(&item, false, step.manner);
            if requires_name(&item) {
                // Keys of items must not change.
                inner.taken.push(vec!["name".to_owned()]);
            }
            let flag = item_flag(&item).filter(|_| step.manner == Manner::Conditional && random.percent(50));
            inner.taken.extend(flag.clone());
            let count = 1 + random.below(3);
            fill(&mut inner, random, &item, count);
            inner.operations = under_conditions(random, flag, std::mem::take(&mut inner.operations));
            inner
        }
        None => whole_item(random, &item, step.manner)?,
    };
    if inner.operations.is_empty() {
        put(&mut step.newer, &from, list, is_required(older, &from));
        return None;
    }
    let place = if list.get("items").is_some() { "items" } else { "additionalProperties" };
    list.as_object_mut()?.insert(place.to_owned(), inner.newer);
    if list.get("default").is_some_and(|default| default.as_object().is_some_and(|all| !all.is_empty())) {
        list = without_default(list);
    }
    let to = if random.percent(30) { step.target(random, older, from.get(..1)?) } else { from.clone() };
    put(&mut step.newer, &to, list, is_required(older, &from));
    let operations = std::mem::take(&mut inner.operations);
    let operation = match to == from {
        true => json!({"each": {"in": written(&from), "operations": operations}}),
        false => {
            json!({"each": {"from": written(&from), "to": written(&to), "operations": operations}})
        }
    };
    step.done(operation, &[from], &[to])
}

/// Changes the default or `nullable` of a field inside items without an operation.
fn inside_items(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    if !step.root {
        return None;
    }
    let from = step.field(random, older, &|schema| items(schema).is_some_and(|item| !all(item).is_empty()))?;
    let mut list = take(&mut step.newer, &from)?;
    let place = if list.get("items").is_some() { "items" } else { "additionalProperties" };
    let item = list.get_mut(place)?;
    let inner = random.pick(&all(item)).cloned()?;
    let field = at_mut(item, &inner)?.as_object_mut()?;
    let difference = match random.percent(50) {
        true => ("nullable", json!(field.get("nullable").is_none())),
        false => ("default", sample(&Schema::Object(field.clone()))?),
    };
    let differs = field.insert(difference.0.to_owned(), difference.1.clone()) != Some(difference.1);
    put(&mut step.newer, &from, list, is_required(older, &from));
    if !differs {
        return None;
    }
    let path = format!("{}[*].{}", written(&from), written(&inner)).replace(".[", "[");
    step.accept.push(json!({"path": path, "difference": difference.0, "reason": "another value from now on"}));
    step.taken.push(from.clone());
    step.made.push(from);
    Some(())
}

/// An operation on an item itself.
fn whole_item(random: &mut Random, item: &Schema, manner: Manner) -> Option<DraftStep> {
    let mut step = DraftStep::new(item, false, manner);
    let kind = item.get("type").and_then(Schema::as_str)?;
    let operation = match (random.below(3), kind) {
        (1 | 2, _) if item.get("enum").is_some() => {
            step.newer = json!({"type": "string", "enum": ["on", "off"]});
            let other = random.word(&["off", "off", "on"]);
            json!({"values": {"field": ".", "map": {"Always": "on", "Never": other}}})
        }
        (0, _) => {
            step.newer = json!({"type": "array", "items": item});
            json!({"wrap": "."})
        }
        (1, "string" | "integer" | "boolean" | "number") => {
            let other = if kind == "string" { "integer" } else { "string" };
            step.newer = json!({"type": other});
            json!({"type": "."})
        }
        _ => {
            step.newer = json!({"type": "object"});
            put(&mut step.newer, &["name".to_owned()], item.clone(), false);
            json!({"move": {"from": ".", "to": "name"}})
        }
    };
    step.operations.push(operation);
    Some(step)
}

fn items(schema: &Schema) -> Option<&Schema> {
    schema.get("items").or_else(|| map_values(schema))
}

fn requires_name(item: &Schema) -> bool {
    is_required(item, &["name".to_owned()])
}
