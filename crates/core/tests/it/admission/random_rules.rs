//! Kinds with random admission rules, over fields with unusual names and types: the printed rules and `/validate`
//! agree.
//!
//! `POINTSMAN_KINDS` sets how many kinds, `POINTSMAN_SEED` where they start:
//!
//! `POINTSMAN_KINDS=5000 cargo test --release -p pointsman-core --test it random_rules`.

use pointsman_core::laws::Random;
use pointsman_core::registration::{CrdOptions, crd};

use super::cel::{Verdicts, compare};
use super::writes::try_ours;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().map_or(default, |text| text.parse().unwrap())
}

/// Names that CEL escapes, reserves, or cannot express.
const NAMES: [&str; 16] = [
    "a",
    "in",
    "foo-bar",
    "a__b",
    "namespace",
    "size",
    "self",
    "oldSelf",
    "has",
    "'null'",
    "_x",
    "if",
    "matches",
    "1st",
    "B",
    "type",
];

/// A field: its path and its schema.
struct Field {
    path: String,
    what: &'static str,
    members: Vec<String>,
}

/// The schemas of an object's members, as flow mappings.
fn members(path: &str, depth: u64, random: &mut Random, fields: &mut Vec<Field>) -> (String, Vec<String>) {
    let (mut text, mut names) = (Vec::new(), Vec::new());
    for _ in 0..=random.below(3) {
        let Some(name) = random.pick(&NAMES).copied().filter(|name| !names.iter().any(|other| other == name)) else {
            continue;
        };
        names.push(name.to_owned());
        let plain = name.trim_matches('\'');
        text.push(format!("{name}: {}", field(&format!("{path}.{plain}"), depth, random, fields)));
    }
    (text.join(", "), names.iter().map(|name| name.trim_matches('\'').to_owned()).collect())
}

fn field(path: &str, depth: u64, random: &mut Random, fields: &mut Vec<Field>) -> String {
    let nullable = if random.percent(40) { ", nullable: true" } else { "" };
    let scalars = [
        ("string", "type: string"),
        ("uuid", "type: string, format: uuid"),
        ("time", "type: string, format: date-time"),
        ("integer", "type: integer"),
        ("integer", "type: integer, format: int64"),
        ("boolean", "type: boolean"),
        ("number", "type: number"),
        ("array", "type: array, items: {type: string}"),
        ("array", "type: array, items: {type: integer, nullable: true}"),
        ("map", "type: object, additionalProperties: {type: string}"),
        ("map", "type: object, additionalProperties: {type: string, nullable: true}"),
        ("loose", "type: object, x-kubernetes-preserve-unknown-fields: true"),
        ("quantity", "x-kubernetes-int-or-string: true"),
    ];
    if depth > 0 && random.percent(45) {
        let (inner, names) = members(path, depth - 1, random, fields);
        let required = names.first().filter(|_| random.percent(25));
        let required = required.map_or_else(String::new, |name| format!(", required: ['{name}']"));
        fields.push(Field { path: path.to_owned(), what: "object", members: names });
        return format!("{{type: object{nullable}{required}, properties: {{{inner}}}}}");
    }
    let (what, schema) = random.pick(&scalars).copied().unwrap_or(scalars[0]);
    fields.push(Field { path: path.to_owned(), what, members: Vec::new() });
    format!("{{{schema}{nullable}}}")
}

/// A possible rule for a random field.
fn rule(fields: &[Field], random: &mut Random) -> Option<String> {
    let field = random.pick(fields)?;
    let path = format!("\"{}\"", field.path);
    let unset = |value: &str, random: &mut Random| {
        if random.percent(50) { format!(", unset: [{value}]") } else { String::new() }
    };
    Some(match (field.what, random.below(3)) {
        ("integer", 0) => format!("{{immutable: {{field: {path}{}}}}}", unset("0", random)),
        ("integer", 1) => format!("{{range: {{field: {path}, max: 9}}}}"),
        ("integer", _) => format!("{{range: {{field: {path}, min: 1, max: 65535}}}}"),
        ("boolean", _) => format!("{{immutable: {{field: {path}{}}}}}", unset("false", random)),
        ("string" | "time", 0) => format!("{{duration: {{field: {path}}}}}"),
        ("string" | "time", _) => format!("{{immutable: {{field: {path}{}}}}}", unset("\"\"", random)),
        ("uuid", _) => {
            let nil = "00000000-0000-0000-0000-000000000000";
            format!("{{immutable: {{field: {path}{}}}}}", unset(nil, random))
        }
        ("object", _) => {
            let first = random.below(field.members.len().max(1));
            let needs = field.members.iter().skip(first);
            let needs: Vec<String> = needs.map(|name| format!("'{name}'")).collect();
            (!needs.is_empty()).then(|| format!("{{requires: {{field: {path}, needs: [{}]}}}}", needs.join(", ")))?
        }
        ("number", _) => format!("{{range: {{field: {path}, min: 1}}}}"),
        (_, _) => format!("{{immutable: {{field: {path}}}}}"),
    })
}

/// True if a schema of this version can express a rule.
fn is_said(fields: &str, rule: &str, version: &str) -> bool {
    let Ok(kind) = try_ours(fields, rule, "example.com") else { return false };
    let printed = crd(&kind, &CrdOptions::default()).unwrap();
    let versions = printed["spec"]["versions"].as_array().unwrap();
    let found = versions.iter().find(|found| found["name"] == version).unwrap();
    found.to_string().contains("x-kubernetes-validations")
}

#[test]
fn random_rules_agree_with_validate() {
    let first = number("POINTSMAN_SEED", 0);
    let (mut accepted, mut exact, mut verdicts) = (0, 0, [0, 0]);
    for seed in first..first + number("POINTSMAN_KINDS", 60) {
        let random = &mut Random::new(seed);
        let mut all = Vec::new();
        let (fields, _) = members("spec", 3, random, &mut all);
        let rules: Vec<String> = (0..=random.below(3)).filter_map(|_| rule(&all, random)).collect();
        let Ok(_) = try_ours(&fields, &rules.join(", "), "example.com") else { continue };
        accepted += 1;
        for version in ["v1", "v2"] {
            let kind = try_ours(&fields, &rules.join(", "), "example.com").unwrap();
            let all_said = rules.iter().all(|rule| is_said(&fields, rule, version));
            println!("seed {seed} {version}, all said: {all_said}\n  {fields}\n  {}", rules.join("\n  "));
            let how = if all_said { Verdicts::Same } else { Verdicts::OfTheSchemaAreOurs };
            exact += usize::from(all_said);
            let [refused, allowed] = compare(kind, version, 40, how);
            verdicts = [verdicts[0] + refused, verdicts[1] + allowed];
        }
    }
    println!("{accepted} kinds, {exact} versions that say all; {verdicts:?} refused and allowed");
    assert!(
        accepted > 20 && exact > 15 && verdicts.iter().all(|count| *count > 100),
        "{accepted} {exact} {verdicts:?}"
    );
}
