//! Random operations on one field. Each changes the newer schema and adds the operation.

use serde_json::{Value as Schema, json};

use super::draft_step::{DraftStep, Manner};
use super::paths::{at, is_required, overlap, put, take, written};
use super::schemas::{property, sample};
use pointsman_core::laws::Random;
use pointsman_core::laws::schema::{flag, map_values};

pub(super) fn drop(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.field(random, older, &|_| true)?;
    let dropped = take(&mut step.newer, &from)?;
    let fill = (is_required(older, &from) && dropped.get("default").is_none()) || random.percent(15);
    let operation = match sample(&dropped).filter(|_| fill) {
        Some(value) => json!({"drop": {"field": written(&from), "value": value}}),
        None => json!({"drop": written(&from)}),
    };
    step.done(operation, &[from], &[])
}

pub(super) fn add(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let holder = step.holder(random);
    let to = step.target(random, older, &holder);
    let added = property(random, 1);
    let required = random.percent(20);
    let value = sample(&added).filter(|_| required || random.percent(20));
    let operation = match &value {
        Some(value) => json!({"add": {"field": written(&to), "value": value}}),
        None => json!({"add": written(&to)}),
    };
    put(&mut step.newer, &to, added, required && value.is_some());
    step.done(operation, &[], &[to])
}

/// Moves a field. The newer version requires it if the older one does.
fn place(step: &mut DraftStep, older: &Schema, name: &str, from: Vec<String>, to: Vec<String>) -> Option<()> {
    let moved = take(&mut step.newer, &from)?;
    put(&mut step.newer, &to, moved, is_required(older, &from));
    let operation = json!({name: {"from": written(&from), "to": written(&to)}});
    step.done(operation, &[from], &[to])
}

pub(super) fn rename(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.field(random, older, &|_| true)?;
    let to = step.target(random, older, from.get(..from.len() - 1)?);
    place(step, older, "rename", from, to)
}

pub(super) fn relocate(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.optional(random, older, &|_| true)?;
    let mut holder = step.holder(random);
    if holder.starts_with(&from) {
        return None;
    }
    // A value from elsewhere may be the only content of spec or status.
    let top = holder.get(..1).and_then(|top| at(&step.newer, top));
    let demands = top.is_some_and(|top| top.get("required").is_some());
    if step.manner != Manner::Hostile && step.root && demands && holder.first() != from.first() {
        return None;
    }
    if random.percent(40) {
        holder = step.target(random, older, &holder);
    }
    let to = step.target(random, older, &holder);
    place(step, older, "move", from, to)
}

pub(super) fn under_its_own_name(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.optional(random, older, &|_| true)?;
    let name = random.word(&["value", "name", "enabled"]).to_owned();
    let to = [from.as_slice(), &[name]].concat();
    place(step, older, "move", from, to)
}

/// A duration or a quantity: text on one side, a number of units on the other.
pub(super) fn measure(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let is_plain = |schema: &Schema| {
        let kind = schema.get("type").and_then(Schema::as_str);
        matches!(kind, Some("string" | "integer")) && schema.get("enum").is_none() && schema.get("format").is_none()
    };
    let from = step.optional(random, older, &is_plain)?;
    let old = take(&mut step.newer, &from)?;
    let other = if old.get("type").and_then(Schema::as_str) == Some("string") { "integer" } else { "string" };
    let mut newer = json!({"type": other});
    if let (Some(newer), Some(nullable)) = (newer.as_object_mut(), old.get("nullable")) {
        newer.insert("nullable".to_owned(), nullable.clone());
    }
    let to = if random.percent(50) { step.target(random, older, from.get(..1)?) } else { from.clone() };
    put(&mut step.newer, &to, newer, is_required(older, &from));
    let unit = random.word(&["seconds", "milliseconds", "hours", "bytes", "gibibytes", "millicores"]);
    let operation = match to == from {
        true => json!({"type": {"field": written(&from), "as": unit}}),
        false => json!({"type": {"from": written(&from), "to": written(&to), "as": unit}}),
    };
    step.done(operation, &[from], &[to])
}

pub(super) fn retype(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.optional(random, older, &|schema| is_scalar(schema))?;
    let schema = at(older, &from)?;
    let other = match schema.get("type").and_then(Schema::as_str)? {
        "string" => random.word(&["integer", "number", "boolean"]),
        _ => "string",
    };
    let mut newer = json!({"type": other});
    if let (Some(newer), Some(nullable)) = (newer.as_object_mut(), schema.get("nullable")) {
        newer.insert("nullable".to_owned(), nullable.clone());
    }
    let required = is_required(older, &from);
    take(&mut step.newer, &from)?;
    let to = if random.percent(30) { step.target(random, older, from.get(..1)?) } else { from.clone() };
    put(&mut step.newer, &to, newer, required);
    let operation = match to == from {
        true => json!({"type": written(&from)}),
        false => json!({"type": {"from": written(&from), "to": written(&to)}}),
    };
    step.done(operation, &[from], &[to])
}

pub(super) fn values(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.field(random, older, &|schema| schema.get("enum").is_some())?;
    let mut newer = take(&mut step.newer, &from)?;
    let map = renamed(&mut newer)?;
    put(&mut step.newer, &from, newer, is_required(older, &from));
    let operation = json!({"values": {"field": written(&from), "map": map}});
    step.done(operation, std::slice::from_ref(&from), std::slice::from_ref(&from))
}

pub(super) fn wrap(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.field(random, older, &|_| true)?;
    let item = without_default(take(&mut step.newer, &from)?);
    let to = if random.percent(50) { step.target(random, older, from.get(..from.len() - 1)?) } else { from.clone() };
    put(&mut step.newer, &to, json!({"type": "array", "items": item}), is_required(older, &from));
    let operation = match to == from {
        true => json!({"wrap": written(&from)}),
        false => json!({"wrap": {"from": written(&from), "to": written(&to)}}),
    };
    step.done(operation, &[from], &[to])
}

pub(super) fn split(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let is_bounded = |schema: &Schema| schema.get("minLength").is_some() || schema.get("maxLength").is_some();
    let careless = step.manner == Manner::Hostile;
    let from = step.optional(random, older, &|schema| is_text(schema) && (careless || !is_bounded(schema)))?;
    take(&mut step.newer, &from)?;
    let holder = if random.percent(40) { from.clone() } else { from.get(..from.len() - 1)?.to_vec() };
    let second = random.word(&["string", "integer", "string"]);
    let mut parts = Vec::new();
    for kind in ["string", second] {
        let part = step.target(random, older, &holder);
        let mut schema = json!({"type": kind});
        if step.manner == Manner::Hostile
            && random.percent(12)
            && let Some(schema) = schema.as_object_mut()
        {
            let (bound, limit) = if kind == "string" { ("maxLength", json!(4)) } else { ("maximum", json!(100)) };
            schema.insert(bound.to_owned(), limit);
        }
        put(&mut step.newer, &part, schema, false);
        parts.push(part);
    }
    let mut into: Vec<String> = parts.iter().map(|part| written(part)).collect();
    let mut split = json!({"field": written(&from), "separator": ":"});
    let object = split.as_object_mut()?;
    if random.percent(40) {
        object.insert("missing".to_owned(), json!("*"));
    }
    if random.percent(20) {
        into.push("_".to_owned());
        object.insert("rest".to_owned(), json!("v1"));
    }
    object.insert("into".to_owned(), json!(into));
    let operation = json!({"split": split});
    step.done(operation, &[from], &parts)
}

pub(super) fn move_into_map(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.optional(random, older, &|schema| is_text(schema))?;
    let of_strings = |schema: &Schema| map_values(schema).is_some_and(is_text);
    let map = step.field(random, older, &of_strings).filter(|map| !overlap(map, &from))?;
    take(&mut step.newer, &from)?;
    let key = random.word(&["role", "example.com/role", "a"]);
    let operation = json!({"moveIntoMap": {"field": written(&from), "map": written(&map), "key": key}});
    step.done(operation, &[from, map.clone()], &[map])
}

pub(super) fn blank(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.field(random, older, &|schema| is_text(schema))?;
    let operation = json!({"blank": {"field": written(&from), "spellings": ["", "-"]}});
    step.done(operation, std::slice::from_ref(&from), std::slice::from_ref(&from))
}

/// Makes a field required in the newer version that is optional in the older one.
pub(super) fn fill_in(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let field = step.optional(random, older, &|schema| schema.get("default").is_none() && !flag(schema, "nullable"))?;
    if is_required(older, &field) {
        return None;
    }
    let schema = take(&mut step.newer, &field)?;
    let Some(value) = sample(&schema) else {
        put(&mut step.newer, &field, schema, false);
        return None;
    };
    put(&mut step.newer, &field, schema, true);
    if !is_required(&step.newer, &field) {
        return None;
    }
    let operation = json!({"fill": {"field": written(&field), "value": value}});
    step.done(operation, std::slice::from_ref(&field), std::slice::from_ref(&field))
}

/// Requires a field in one version alone, under its own name or a new one, and accepts that objects lack it.
pub(super) fn demand(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    if !step.root {
        return None;
    }
    let from = step.field(random, older, &|_| true)?;
    let schema = take(&mut step.newer, &from)?;
    let is_renamed = !is_required(older, &from) && random.percent(40);
    let to = if is_renamed { step.target(random, older, from.get(..from.len() - 1)?) } else { from.clone() };
    let is_demanded = !is_required(older, &from);
    put(&mut step.newer, &to, schema, is_demanded);
    if is_required(&step.newer, &to) != is_demanded {
        return None;
    }
    let place = if is_demanded { &to } else { &from };
    step.accept.push(json!({"path": written(place), "difference": "required", "reason": "all objects have the field"}));
    if is_renamed {
        let operation = json!({"rename": {"from": written(&from), "to": written(&to)}});
        return step.done(operation, &[from], &[to]);
    }
    step.taken.push(from.clone());
    step.made.push(from);
    Some(())
}

pub(super) fn tighten(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    if !step.root {
        return None;
    }
    let from = step.field(random, older, &|schema| is_scalar(schema) && schema.get("default").is_none())?;
    let mut newer = take(&mut step.newer, &from)?;
    let (bound, limit) = match newer.get("type").and_then(Schema::as_str)? {
        "string" => ("maxLength", json!(3)),
        "integer" => ("maximum", json!(100)),
        _ => ("nullable", json!(true)),
    };
    let same = newer.get(bound) == Some(&limit);
    newer.as_object_mut()?.insert(bound.to_owned(), limit);
    put(&mut step.newer, &from, newer, is_required(older, &from));
    if same {
        return None;
    }
    let reason = "tightened on purpose";
    step.accept.push(json!({"path": written(&from), "difference": bound, "reason": reason}));
    step.taken.push(from.clone());
    step.made.push(from);
    Some(())
}

/// Bounds a number in the newer version, and clamps older values.
pub(super) fn clamp(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let is_free = |schema: &Schema| {
        let bounds = ["default", "minimum", "maximum", "nullable", "enum"];
        schema.get("type").and_then(Schema::as_str) == Some("integer")
            && !bounds.iter().any(|key| schema.get(*key).is_some())
    };
    let field = step.field(random, older, &is_free)?;
    let mut newer = take(&mut step.newer, &field)?;
    let (bound, key, limit) = match random.percent(50) {
        true => ("minimum", "min", 1),
        false => ("maximum", "max", 100),
    };
    newer.as_object_mut()?.insert(bound.to_owned(), json!(limit));
    put(&mut step.newer, &field, newer, is_required(older, &field));
    let mut clamp = json!({"field": written(&field)});
    clamp.as_object_mut()?.insert(key.to_owned(), json!(limit));
    step.done(json!({"clamp": clamp}), std::slice::from_ref(&field), std::slice::from_ref(&field))
}

/// Renames the options of a closed set.
fn renamed(schema: &mut Schema) -> Option<Schema> {
    let options = schema.get("enum")?.as_array()?.clone();
    let new = |option: &Schema| option.as_str().map(str::to_lowercase);
    let pairs: Option<Vec<(String, String)>> =
        options.iter().take(2).map(|option| Some((option.as_str()?.to_owned(), new(option)?))).collect();
    let pairs = pairs?;
    let name = |value: &Schema| {
        let pair = pairs.iter().find(|(old, _)| Some(old.as_str()) == value.as_str());
        pair.map_or_else(|| value.clone(), |(_, new)| json!(new))
    };
    let object = schema.as_object_mut()?;
    object.insert("enum".to_owned(), options.iter().map(name).collect());
    if let Some(default) = object.get("default").map(name) {
        object.insert("default".to_owned(), default);
    }
    Some(pairs.iter().map(|(old, new)| (old.clone(), json!(new))).collect::<serde_json::Map<_, _>>().into())
}

fn is_scalar(schema: &Schema) -> bool {
    let kind = schema.get("type").and_then(Schema::as_str);
    matches!(kind, Some("string" | "integer" | "number" | "boolean")) && schema.get("enum").is_none()
}

fn is_text(schema: &Schema) -> bool {
    is_scalar(schema) && schema.get("type").and_then(Schema::as_str) == Some("string")
}

pub(super) fn without_default(mut schema: Schema) -> Schema {
    if let Some(object) = schema.as_object_mut() {
        object.remove("default");
    }
    schema
}
