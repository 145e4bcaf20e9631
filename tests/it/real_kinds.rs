//! Public CRDs as published, with a definition and the results of upstream's own conversion: `tests/data/real`, a
//! directory per kind.
//!
//! `tests/data/real/scores.txt` is the table. A directory without `cases.yaml` has no recorded results.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::read;
use pointsman_core::laws::{Value, schema_of, without_ours};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::Value as Json;

use crate::bless::agrees;

const DIR: &str = "tests/data/real";

/// The results of one kind.
#[derive(Default)]
struct Score {
    cases: usize,
    equal: usize,
    home: usize,
    /// The cases whose result differs from upstream's, from 0.
    differing: Vec<usize>,
}

#[test]
fn real_kinds_convert_as_upstream() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(DIR);
    let mut names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut table = format!("{:<28}{:>7}{:>14}{:>11}  differing cases\n", "KIND", "LOADS", "AS UPSTREAM", "HOME");
    let mut total = Score::default();
    let mut loaded = 0;
    for name in &names {
        let Ok(kind) = load(&dir.join(name)) else {
            writeln!(table, "{name:<28}{:>7}", "no").unwrap();
            continue;
        };
        loaded += 1;
        let score = scored(kind, &dir.join(name));
        let Score { cases, equal, home, differing } = &score;
        let (equal_of, home_of) = (format!("{equal} of {cases}"), format!("{home} of {cases}"));
        let differing = differing.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        writeln!(table, "{name:<28}{:>7}{equal_of:>14}{home_of:>11}  {differing}", "yes").unwrap();
        total = Score { cases: total.cases + cases, equal: total.equal + equal, home: total.home + home, ..total };
    }
    let Score { cases, equal, home, .. } = total;
    let (loads, equal, home) =
        (format!("{loaded}/{}", names.len()), format!("{equal} of {cases}"), format!("{home} of {cases}"));
    writeln!(table, "{:<28}{loads:>7}{equal:>14}{home:>11}", "total").unwrap();
    let table: String = table.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    print!("{table}");
    agrees(&format!("{DIR}/scores.txt"), &table);
}

fn load(dir: &Path) -> Result<Kind, String> {
    let definition = fs::read_to_string(dir.join("definition.yaml")).map_err(|error| error.to_string())?;
    Kind::load("definition.yaml", &definition, &mut |file| fs::read_to_string(dir.join(file)))
        .map_err(|bad| bad.to_string())
}

fn scored(kind: Kind, dir: &Path) -> Score {
    let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
    let kind = &webhook.kinds()[0];
    let mut score = Score::default();
    let Ok(text) = fs::read_to_string(dir.join("cases.yaml")) else { return score };
    let cases: Vec<Json> = serde_saphyr::from_str(&text).unwrap();
    for (index, case) in cases.iter().enumerate() {
        score.cases += 1;
        let [from, to] = ["from", "to"].map(|key| case[key].as_str().unwrap());
        let object = stored(kind, from, &Value::literal(&case["object"]));
        let Ok(converted) = webhook.convert(&object.to_text(), to) else {
            score.differing.push(index);
            continue;
        };
        let there = stored(kind, to, &Value::read(&converted.text).unwrap());
        let upstream = stored(kind, to, &Value::literal(&case["upstream"]));
        match plain(&json(&there)) == plain(&json(&upstream)) {
            true => score.equal += 1,
            false => score.differing.push(index),
        }
        let back = webhook.convert(&converted.text, from);
        let back = back.ok().map(|back| without_ours(&Value::read(&back.text).unwrap()));
        score.home += usize::from(back.as_ref() == Some(&without_ours(&object)));
    }
    score
}

/// The object as the API server stores it, with defaults.
fn stored(kind: &Kind, version: &str, object: &Value) -> Value {
    read(schema_of(kind, version).unwrap(), object).unwrap()
}

fn json(object: &Value) -> Json {
    serde_json::from_str(&object.to_text()).unwrap()
}

/// An object for the comparison with upstream. Go's conversion writes the zero value of a type for an absent field, or
/// omits the field, by the tags of its types, so that both spellings count as equal. Annotations that only serve a way
/// back are removed.
fn plain(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let is_kept = |name: &str| !RECORDS.iter().any(|record| name.starts_with(record));
            let members = members.iter().filter(|(name, _)| is_kept(name)).map(|(name, value)| (name, plain(value)));
            Json::Object(
                members.filter(|(_, value)| !is_zero(value)).map(|(name, value)| (name.clone(), value)).collect(),
            )
        }
        Json::Array(elements) => Json::Array(elements.iter().map(plain).filter(|element| !is_zero(element)).collect()),
        other => other.clone(),
    }
}

fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(value) => !value,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        Json::Object(members) => members.is_empty(),
    }
}

/// Annotations of pointsman and of upstream for a way back.
const RECORDS: [&str; 5] = [
    "pointsman.dev/kept-",
    "cluster.x-k8s.io/conversion-data",
    "compatibility.karpenter.sh/",
    "tekton.dev/v1beta1",
    "kueue.x-k8s.io/conversion",
];
