//! Places in a schema, by the names of the properties, outermost first. Without names, the item itself.

use serde_json::{Map, Value as Schema, json};

use pointsman_core::laws::schema::{properties, requires};

/// A place as written in a definition.
pub(super) fn written(names: &[String]) -> String {
    let mut out = String::new();
    for name in names {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !name.chars().all(plain) {
            out.push_str(&format!("[\"{name}\"]"));
        } else {
            out.push_str(if out.is_empty() { "" } else { "." });
            out.push_str(name);
        }
    }
    if out.is_empty() { ".".to_owned() } else { out }
}

/// The schema of a property.
pub(super) fn at<'s>(schema: &'s Schema, names: &[String]) -> Option<&'s Schema> {
    names.iter().try_fold(schema, |schema, name| schema.get("properties")?.get(name))
}

pub(super) fn at_mut<'s>(schema: &'s mut Schema, names: &[String]) -> Option<&'s mut Schema> {
    names.iter().try_fold(schema, |schema, name| schema.get_mut("properties")?.get_mut(name))
}

/// Returns whether the parent of a property requires it.
pub(super) fn is_required(schema: &Schema, names: &[String]) -> bool {
    let Some((last, holder)) = names.split_last() else { return false };
    at(schema, holder).is_some_and(|holder| requires(holder, last))
}

/// Removes a property, and its entry in `required`.
pub(super) fn take(schema: &mut Schema, names: &[String]) -> Option<Schema> {
    let (last, holder) = names.split_last()?;
    let holder = at_mut(schema, holder)?;
    let taken = holder.get_mut("properties")?.as_object_mut()?.remove(last);
    let required = holder.get_mut("required").and_then(Schema::as_array_mut);
    if let Some(required) = required {
        required.retain(|name| name != last);
    }
    if holder.get("required").and_then(Schema::as_array).is_some_and(Vec::is_empty)
        && let Some(holder) = holder.as_object_mut()
    {
        holder.remove("required");
    }
    taken
}

/// Sets a property, or the whole schema if there are no names. Creates absent parents. If a parent has a default, the
/// property is not required, because the default would lack it.
pub(super) fn put(schema: &mut Schema, names: &[String], property: Schema, required: bool) {
    let Some((first, rest)) = names.split_first() else {
        *schema = property;
        return;
    };
    let Some(object) = schema.as_object_mut() else { return };
    let lacks = object.contains_key("default") && property.get("default").is_none();
    if rest.is_empty() && required && !lacks {
        let names = object.entry("required").or_insert_with(|| json!([]));
        if let Some(names) = names.as_array_mut() {
            names.push(json!(first));
        }
    }
    let all = object.entry("properties").or_insert_with(|| Schema::Object(Map::new()));
    let Some(all) = all.as_object_mut() else { return };
    let inner = all.entry(first).or_insert_with(|| json!({"type": "object"}));
    put(inner, rest, property, required);
}

/// All properties below a place, without those of items, outermost first.
pub(super) fn all(schema: &Schema) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut queue: Vec<(Vec<String>, &Schema)> = vec![(Vec::new(), schema)];
    while let Some((names, schema)) = queue.pop() {
        for (name, inner) in properties(schema) {
            let names = [names.as_slice(), std::slice::from_ref(name)].concat();
            found.push(names.clone());
            queue.push((names, inner));
        }
    }
    found.sort_by_key(Vec::len);
    found
}

/// Returns whether one place contains the other.
pub(super) fn overlap(one: &[String], other: &[String]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
