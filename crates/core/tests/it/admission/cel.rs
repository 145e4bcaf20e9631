//! The rules in the CRD and the rules of `/validate` have one source, so their verdicts agree. The printed rules are
//! evaluated like in the API server (`apiextensions-apiserver pkg/apiserver/schema/cel/validation.go`), over objects
//! before and after a write with null, empty and missing fields.
//!
//! `POINTSMAN_CASES` sets how many writes for each version of each kind:
//!
//! `POINTSMAN_CASES=100000 cargo test --release -p pointsman-core --test it cel_rules`.

use std::collections::HashMap;
use std::sync::Arc;

use cel::extractors::This;
use cel::{Context, Program, Value as Cel};
use pointsman_core::definition::Kind;
use pointsman_core::registration::{CrdOptions, crd};
use pointsman_core::webhook::Enforcement;
use serde_json::Value;

use super::objects::cases;
use super::writes::{OURS, Write, judged, ours, write};
use super::{elasticsearch, embedded, plain};

/// A rule of a schema, compiled once.
struct Compiled {
    text: String,
    program: Program,
    needs_old: bool,
    optional_old: bool,
}

/// A location in a schema with its rules.
struct Place {
    schema: Value,
    rules: Vec<Compiled>,
    properties: Vec<(String, Self)>,
}

impl Place {
    fn new(schema: &Value) -> Self {
        let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten().map(|rule| {
            let text = rule["rule"].as_str().unwrap().to_owned();
            // The library does not support optional values.
            let plain = text.replace("oldSelf.hasValue()", "hasOld");
            // An optional value yields bare JSON, in which null is a value: no rule may read inside.
            assert!(!text.contains("oldSelf.value") && !text.contains("oldSelf.opt"), "{text}");
            let program = Program::compile(&plain).unwrap_or_else(|error| panic!("{text}: {error}"));
            let optional_old = rule["optionalOldSelf"] == true;
            Compiled { program, needs_old: text.contains("oldSelf"), optional_old, text }
        });
        let properties = schema["properties"].as_object().into_iter().flatten();
        Self {
            rules: rules.collect(),
            schema: schema.clone(),
            properties: properties.map(|(name, schema)| (name.clone(), Self::new(schema))).collect(),
        }
    }

    /// The rules that reject a write. Rules of a null are skipped. An unchanged value passes, unless a rule reads the
    /// old value or fails.
    fn refused(&self, old: Option<&Value>, new: Option<&Value>, refused: &mut Vec<String>) {
        let Some(new) = new.filter(|new| !new.is_null()) else { return };
        let old = old.filter(|old| !old.is_null());
        for Compiled { text, program, needs_old, optional_old } in &self.rules {
            if *needs_old && old.is_none() && !optional_old {
                continue;
            }
            let mut context = context();
            context.add_variable_from_value("self", to_cel(new, &self.schema));
            context.add_variable_from_value("hasOld", old.is_some());
            if let Some(old) = old {
                context.add_variable_from_value("oldSelf", to_cel(old, &self.schema));
            }
            match program.execute(&context) {
                Ok(Cel::Bool(true)) => {}
                Ok(Cel::Bool(false)) if !needs_old && old == Some(new) => {}
                Ok(Cel::Bool(false)) => refused.push(text.clone()),
                other => refused.push(format!("{text} fails: {other:?}")),
            }
        }
        for (name, place) in &self.properties {
            place.refused(old.and_then(|old| old.get(name)), new.get(name), refused);
        }
    }
}

fn context() -> Context<'static, 'static> {
    let mut context = Context::default();
    let _ = context.add_function("lowerAscii", |This(text): This<Arc<String>>| text.to_ascii_lowercase());
    let _ = context.add_function("replace", |This(text): This<Arc<String>>, from: Arc<String>, to: Arc<String>| {
        text.replace(from.as_str(), &to)
    });
    context
}

/// Converts a value as the API server does for CEL (`apiserver pkg/cel/common/valuesunstructured.go`): in an object
/// with properties, null counts as absent, and unlisted members are absent.
fn to_cel(value: &Value, schema: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => number.as_i64().map_or_else(|| Cel::Float(number.as_f64().unwrap()), Cel::Int),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(|item| to_cel(item, &schema["items"])).collect())),
        Value::Object(members) => {
            let names = schema["properties"].as_object();
            let members = members.iter().filter_map(|(name, value)| match names {
                Some(names) => {
                    let schema = names.get(name).filter(|_| !value.is_null())?;
                    Some((escaped(name), to_cel(value, schema)))
                }
                None => Some((name.clone(), to_cel(value, &schema["additionalProperties"]))),
            });
            Cel::from(members.collect::<HashMap<String, Cel>>())
        }
    }
}

/// The CEL name of a property (`apiserver pkg/cel/escaping.go`).
fn escaped(name: &str) -> String {
    let name = name.replace("__", "__underscores__").replace('.', "__dot__");
    let name = name.replace('-', "__dash__").replace('/', "__slash__");
    let reserved = "true false null in as break const continue else for function if import let loop package namespace \
                    return var void while";
    if reserved.split_whitespace().any(|word| word == name) { format!("__{name}__") } else { name }
}

/// Whether both sides must reject the same writes, or `/validate` may reject more: not every schema can express every
/// rule.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Verdicts {
    Same,
    OfTheSchemaAreOurs,
}

/// Validates random writes of one version on both sides.
pub(super) fn compare(kind: Kind, version: &str, writes: u64, verdicts: Verdicts) -> [usize; 2] {
    let printed = crd(&kind, &CrdOptions::default()).unwrap();
    let (name, group, kind_name) = (kind.name().to_owned(), kind.group().to_owned(), kind.kind().to_owned());
    let webhook = plain(kind, Enforcement::Enforce);
    let versions = printed["spec"]["versions"].as_array().unwrap();
    let schema = &versions.iter().find(|found| found["name"] == version).unwrap()["schema"]["openAPIV3Schema"];
    let place = Place::new(schema);
    let mut counts = [0, 0];
    for case in 0..writes {
        let Write { old, new } = write([&group, version, &kind_name], schema, case);
        let mut refused = Vec::new();
        place.refused(old.as_ref(), Some(&new), &mut refused);
        let judged = judged(&webhook, old.as_ref(), &new);
        let only_ours = verdicts == Verdicts::OfTheSchemaAreOurs && refused.is_empty();
        assert!(
            refused.is_empty() == judged.is_empty() || only_ours,
            "{name} {version}, case {case}\nold {}\nnew {new}\nthe CRD refuses for {refused:#?}\n/validate for {judged:#?}",
            old.map_or_else(|| "-".to_owned(), |old| old.to_string()),
        );
        counts[usize::from(refused.is_empty())] += 1;
    }
    counts
}

#[test]
fn cel_rules_agree_with_validate() {
    let mut kinds: Vec<(String, Box<dyn Fn() -> Kind>)> = vec![
        ("materialize".to_owned(), Box::new(|| embedded("materialize"))),
        ("elasticsearch".to_owned(), Box::new(elasticsearch)),
    ];
    for (index, (fields, rules)) in OURS.into_iter().enumerate() {
        kinds.push((format!("ours {index}"), Box::new(move || ours(fields, rules, "example.com"))));
    }
    for (name, kind) in kinds {
        let versions: Vec<String> = kind().versions().map(str::to_owned).collect();
        for version in versions {
            let [refused, allowed] = compare(kind(), &version, cases(300), Verdicts::Same);
            println!("{name} {version}: {refused} refused, {allowed} allowed");
            assert!(allowed > 20 && (refused > 2 || name == "elasticsearch"), "{name} {version}: {refused} {allowed}");
        }
    }
}
