//! Random operations with expressions: a field in another form.

use serde_json::{Value as Schema, json};

use super::draft_step::DraftStep;
use super::paths::{is_required, put, take, written};
use super::schemas::sample;
use pointsman_core::laws::Random;
use pointsman_core::laws::schema::map_values;

/// A form of a value in the newer version: its schema, the expression up and the expression down.
struct Form {
    newer: Schema,
    up: &'static str,
    down: &'static str,
}

/// A field that results from an expression in both directions.
pub(super) fn computed(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let from = step.optional(random, older, &|schema| !forms(schema).is_empty())?;
    let field = take(&mut step.newer, &from)?;
    let mut all = forms(&field);
    if all.is_empty() {
        // An earlier operation changed the items.
        put(&mut step.newer, &from, field, is_required(older, &from));
        return None;
    }
    let Form { newer, up, down } = all.swap_remove(random.below(all.len()));
    let to = if random.percent(50) { step.target(random, older, from.get(..1)?) } else { from.clone() };
    let filled = sample(&newer).filter(|_| random.percent(20));
    put(&mut step.newer, &to, newer, filled.is_some());
    let mut compute = json!({"from": written(&from), "to": written(&to), "up": up, "down": down});
    if let (Some(filled), Some(compute)) = (filled, compute.as_object_mut()) {
        compute.insert("fillTo".to_owned(), filled);
    }
    step.done(json!({"compute": compute}), &[from], &[to])
}

/// Two fields that become one, and back.
pub(super) fn computed_pair(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let is_text = |schema: &Schema| kind(schema) == Some("string") && schema.get("default").is_none();
    let one = step.optional(random, older, &is_text)?;
    let two = step.optional(random, older, &is_text).filter(|two| *two != one)?;
    if is_required(older, &one) || is_required(older, &two) {
        return None;
    }
    take(&mut step.newer, &one)?;
    take(&mut step.newer, &two)?;
    let to = step.target(random, older, one.get(..1)?);
    put(&mut step.newer, &to, json!({"type": "string"}), false);
    let operation = json!({"compute": {
        "from": {"a": written(&one), "b": written(&two)},
        "to": written(&to),
        "up": "a == null ? b : b == null ? a : a + \"/\" + b",
        "down": {
            "a": "value.contains(\"/\") ? value.split(\"/\")[0] : value",
            "b": "value.contains(\"/\") ? value.split(\"/\", 2)[1] : null",
        },
    }});
    step.done(operation, &[one, two], &[to])
}

/// A field of one version with the namespace as its value.
pub(super) fn namespaced(step: &mut DraftStep, random: &mut Random, older: &Schema) -> Option<()> {
    let is_text = |schema: &Schema| kind(schema) == Some("string") && schema.get("enum").is_none();
    let plain = |schema: &Schema| is_text(schema) && schema.as_object().is_some_and(|schema| schema.len() == 1);
    if random.percent(50) {
        let from = step.field(random, older, &plain)?;
        take(&mut step.newer, &from)?;
        let operation = json!({"drop": {"field": written(&from), "valueFrom": "metadata.namespace"}});
        return step.done(operation, &[from], &[]);
    }
    let holder = step.holder(random);
    let to = step.target(random, older, &holder);
    put(&mut step.newer, &to, json!({"type": "string"}), true);
    step.done(json!({"add": {"field": written(&to), "valueFrom": "metadata.namespace"}}), &[], &[to])
}

fn kind(schema: &Schema) -> Option<&str> {
    schema.get("type").and_then(Schema::as_str)
}

/// The forms of a value of a schema.
fn forms(schema: &Schema) -> Vec<Form> {
    let form = |newer: Schema, up, down| Form { newer, up, down };
    let text = json!({"type": "string"});
    match kind(schema) {
        Some("string") => vec![
            form(text, "value + \"!\"", "value.replace(\"!\", \"\")"),
            form(
                json!({"type": "array", "items": {"type": "string"}}),
                "value == null ? [] : value.split(\",\")",
                "value.join(\",\")",
            ),
            form(
                json!({"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}}),
                "{\"x\": value, \"y\": value.size()}",
                "has(value.x) ? value.x : null",
            ),
            form(json!({"type": "boolean"}), "value == \"a\" ? true : null", "value == true ? \"a\" : null"),
            form(
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
                "fromYaml(value)",
                "toYaml(value)",
            ),
        ],
        Some("integer") => vec![
            form(json!({"type": "integer"}), "value / 10", "value * 10"),
            form(json!({"type": "number"}), "double(value) / 1024.0", "int(value * 1024.0)"),
            form(text, "string(value) + \"s\"", "int(value.replace(\"s\", \"\"))"),
        ],
        Some("boolean") => vec![form(text, "value == true ? \"on\" : null", "value == \"on\"")],
        Some("object") if map_values(schema).is_some_and(|each| kind(each) == Some("string")) => vec![
            form(
                json!({"type": "array", "items": {"type": "object", "properties": {
                    "name": {"type": "string"}, "value": {"type": "string"}}}}),
                "value.map(k, {\"name\": k, \"value\": value[k]})",
                "value.transformMapEntry(i, e, {e.name: e.value})",
            ),
            form(text, "toJson(value)", "fromJson(value)"),
        ],
        _ => Vec::new(),
    }
}
