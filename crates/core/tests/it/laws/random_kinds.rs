//! Random kinds, and kinds from earlier failures and reviews: every accepted definition satisfies the laws.
//!
//! `POINTSMAN_KINDS` sets how many are made, `POINTSMAN_SEED` where they start:
//!
//! `POINTSMAN_KINDS=10000 cargo test --release -p pointsman-core --test it random_kinds`.
//!
//! `POINTSMAN_SEEDS` is the number of seeds that each kind of a file is tried with.

use std::cell::Cell;
use std::collections::BTreeMap;

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_core::laws::{Broken, CheckOptions, Dictionary, LAWS, Law, Report, Value, check};
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_test_support::random_kinds::{Draft, Manner, smallest};

use super::number;
use crate::kinds::{self, data};

/// Tests a kind by one law. `converted` is called for each conversion.
fn judged(kind: Kind, law: Law, seed: u64, cases: u64, converted: &dyn Fn()) -> Result<Report, Box<Broken>> {
    let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
    let words = Dictionary::default();
    let mut options = CheckOptions { seed, cases, laws: &[law], words: &words, has_time: &mut || true, converted };
    check(&webhook, &webhook.kinds()[0], &mut options)
}

/// The drafts of a run.
fn seeds() -> std::ops::Range<u64> {
    let first = number("POINTSMAN_SEED", 0);
    first..first + number("POINTSMAN_KINDS", 150)
}

#[test]
fn most_sensible_kinds_are_accepted() {
    let wrong: Vec<String> = seeds()
        .filter_map(|seed| Draft::random(seed, Manner::Sensible).load().err())
        .map(|bad| bad.to_string())
        .collect();
    let kinds = seeds().count();
    let accepted = kinds - wrong.len();
    println!("{accepted} of {kinds} are accepted");
    assert!(accepted * 100 > kinds * 60, "{accepted} of {kinds} are accepted:\n{}", wrong.join("\n"));
}

/// Objects that lack a required field, as accepted by the definition.
#[test]
fn kind_with_accepted_absences_is_lawful() {
    for law in LAWS {
        judged(kinds::load("letters.yaml"), law, 0, 200, &|| {}).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

/// The smallest draft that violates a law by the same operation within as many cases, as files, with the violation.
fn shown(draft: Draft, broken: &Broken, cases: u64) -> String {
    let operation = |broken: &Broken| {
        let operation = broken.operation.as_deref().unwrap_or_default();
        operation.split(' ').next().unwrap_or_default().to_owned()
    };
    let judge = |draft: &Draft| {
        let found = judged(draft.load().ok()?, Law::named(broken.law)?, 0, cases, &|| {}).err()?;
        (operation(&found) == operation(broken)).then_some(found)
    };
    let small = smallest(draft, &mut |draft| judge(draft).is_some());
    let yaml = |value| serde_saphyr::to_string(value).unwrap();
    let how = judge(&small).map_or_else(|| broken.to_string(), |found| found.to_string());
    format!("{how}\n{}---\n{}", yaml(&small.definition), yaml(&small.crd))
}

const MANNERS: [Manner; 3] = [Manner::Sensible, Manner::Conditional, Manner::Hostile];

#[test]
fn accepted_kinds_keep_the_laws() {
    let mut wrong = Vec::new();
    let (mut judgements, mut accepted) = (0, 0);
    let conversions = Cell::new(0_u64);
    for (seed, manner) in seeds().flat_map(|seed| MANNERS.map(|manner| (seed, manner))) {
        let draft = Draft::random(seed, manner);
        accepted += u64::from(draft.load().is_ok());
        for law in LAWS {
            let Ok(kind) = draft.load() else { break };
            match judged(kind, law, seed, 2, &|| conversions.set(conversions.get() + 1)) {
                Ok(report) => judgements += report.cases.values().sum::<u64>(),
                Err(broken) => wrong.push(format!("{manner:?} {seed}: {}", shown(draft.clone(), &broken, 8))),
            }
        }
        assert!(wrong.len() < 3, "{}", wrong.join("\n\n"));
    }
    let (drafts, conversions) = (seeds().count() * MANNERS.len(), conversions.get());
    println!("{accepted} of {drafts} drafts are accepted; {judgements} judgements, {conversions} conversions");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(judgements > seeds().count() as u64 * 10, "{judgements}");
}

/// Forged entries of every operation, over random kinds, kinds of files and built-in kinds. `POINTSMAN_FORGERIES` is
/// how many objects each kind is tried with.
#[test]
fn forged_entries_have_one_meaning() {
    let law = Law::named("one-meaning").unwrap();
    let cases = number("POINTSMAN_FORGERIES", 2);
    let random = seeds().flat_map(|seed| MANNERS.map(|manner| (seed, manner)));
    let random = random.map(|(seed, manner)| (format!("{manner:?} {seed}"), Some(Draft::random(seed, manner))));
    let drafts = random.chain(self::cases().into_iter().map(|case| (case, None)));
    let files = drafts.map(|(name, draft)| (draft.as_ref().map_or_else(|| load(&name), Draft::load), name, draft));
    let built_in = Kind::embedded().unwrap().into_iter().map(|kind| (Ok(kind), "built in".to_owned(), None));
    let (mut forged, mut tried, mut wrong) = (BTreeMap::<&str, u64>::new(), 0, Vec::new());
    for (kind, name, draft) in files.chain(built_in) {
        let Ok(kind) = kind else { continue };
        match judged(kind, law, 0, cases, &|| {}) {
            Ok(report) => {
                tried += report.cases.values().sum::<u64>();
                report.forged.into_iter().for_each(|(name, count)| *forged.entry(name).or_default() += count);
            }
            Err(broken) => {
                let how = draft.map_or_else(|| broken.to_string(), |draft| shown(draft, &broken, cases));
                wrong.push(format!("{name}: {how}"));
            }
        }
        assert!(wrong.len() < 10, "{}", wrong.join("\n\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let entries: u64 = forged.values().sum();
    println!("{entries} forged entries in {tried} objects: {forged:?}");
    assert!(entries > 1_000, "{entries}");
    let operations =
        ["add", "blank", "clamp", "drop", "each", "fill", "move", "moveIntoMap", "rename", "split", "type"];
    let lacks = operations.into_iter().chain(["values", "wrap"]).find(|name| !forged.contains_key(name));
    // Few kinds do not cover every operation.
    assert!(lacks.is_none() || seeds().count() < 150, "{lacks:?} in {forged:?}");
}

/// The definitions of `tests/data/random-kinds`, by name.
fn cases() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/random-kinds");
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".crd.yaml")?.to_owned())).collect();
    names.sort();
    names
}

pub(super) fn load(case: &str) -> Result<Kind, BadDefinition> {
    let text = data(&format!("random-kinds/{case}.yaml"));
    let mut read = |name: &str| Ok(data(&format!("random-kinds/{name}")));
    Kind::load(&format!("{case}.yaml"), &text, &mut read)
}

/// A definition that cannot satisfy a law is refused; an accepted definition satisfies all laws.
#[test]
fn cases_are_refused_or_lawful() {
    let mut wrong = Vec::new();
    let mut accepted = 0;
    for case in cases() {
        for law in LAWS {
            for seed in 0..number("POINTSMAN_SEEDS", 1) {
                let Ok(kind) = load(&case) else { continue };
                accepted += 1;
                if let Err(broken) = judged(kind, law, seed * 1000, 12, &|| {}) {
                    wrong.push(format!("{case}: {broken}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(accepted > 20 * LAWS.len(), "{accepted} judgements");
}

/// Found at a seed far beyond the usual range.
#[test]
fn retained_item_needs_no_parent() {
    let kind = load("kept-item-of-moved-list").unwrap();
    let webhook = Webhook::new(vec![kind], Metadata::Full).unwrap();
    let there = r#"{"apiVersion":"example.com/v3","kind":"Thing","metadata":{"name":"a"},"spec":{},
        "status":{"extra":{},"listing":{"groups":[{},{"members":[5]}]}}}"#;
    let home = webhook.convert(there, "v1").unwrap().text;
    // A client at that version removes the status.
    let mut object = Value::read(&home).unwrap();
    object.take("status");
    let there = webhook.convert(&object.to_text(), "v3").unwrap().text;
    let groups = Value::read(&there).unwrap().field("status.listing.groups").cloned();
    assert_eq!(groups.map(|groups| groups.to_text()).as_deref(), Some(r#"[{},{"members":[5]}]"#));
    let home = webhook.convert(&there, "v1").unwrap().text;
    assert_eq!(Value::read(&home).unwrap(), object);
}

/// A manifest in a file, without the API server's defaults, has no missing values to keep.
#[test]
fn pending_default_is_not_missing() {
    for (case, version, to, spec) in [
        ("null-in-default", "v1", "v2", "{}"),
        ("null-in-default", "v1", "v2", r#"{"o":{}}"#),
        ("nested-default-with-unknown-fields", "v1", "v2", r#"{"url":"x","backup":{}}"#),
        ("nested-default-with-unknown-fields", "v2", "v1", r#"{"backup":{}}"#),
        ("default-creates-parent", "v1", "v2", "{}"),
    ] {
        let webhook = Webhook::new(vec![load(case).unwrap()], Metadata::Full).unwrap();
        let manifest = format!(
            r#"{{"apiVersion":"example.com/{version}","kind":"Thing","metadata":{{"name":"a"}},"spec":{spec}}}"#
        );
        let there = webhook.convert(&manifest, to).unwrap().text;
        assert!(!there.contains("pointsman.dev/kept"), "{case}: {there}");
    }
}

/// A definition that cannot satisfy the laws is refused with the reason and a hint.
#[test]
fn unwritable_definition_is_refused() {
    for (case, said) in [
        ("set-items-become-equal", "spec.l is a set, and `values` may merge two items into one"),
        ("number-spellings-in-set", "spec.l is a set, and `type` may merge two items into one"),
        ("map-with-one-entry", "`accept: {path: spec.m, difference: maxProperties, reason: …}`"),
        ("object-with-min-properties", "`accept: {path: spec.h, difference: minProperties, reason: …}`"),
        (
            "unrepresentable-map-entries",
            "`type` changes the size of the field, but the schema has the bound minProperties",
        ),
        ("parts-with-bounds", "spec.a: maxLength differs without an operation (older: none; newer: 3)"),
        ("parts-with-enum", "spec.a: enum differs without an operation"),
        ("parts-with-pattern", "split: spec.port has `pattern`, and pointsman cannot check parts against this rule"),
        ("joined-string-too-long", "spec.a: maxLength differs without an operation (older: 12; newer: none)"),
        ("filled-value-against-pattern", "drop: spec.a cannot be \"7\""),
        ("number-against-pattern", "spec.port: pattern differs without an operation"),
        ("text-against-multiple-of", "spec.port: multipleOf differs without an operation"),
        ("unlisted-value-of-other-type", "name all, and give both versions an `enum`"),
        (
            "default-without-required-field",
            "v2: spec.backup cannot be {} by `default`: days is required there: set the field in the default",
        ),
        (
            "created-object-replaces-null",
            "the newer version requires size, and the field is optional in the older version",
        ),
        ("filled-beyond-max-properties", "`accept: {path: spec.h, difference: maxProperties, reason: …}`"),
        ("default-inside-moved-object", "name the fields of spec.tls individually, instead of all together"),
        ("pruned-default", "spec.plan cannot be {\"mode\":\"slow\"} by `default`: mode is not defined there"),
        ("null-without-parts", "spec.o.image may be null, which has no string"),
        (
            "required-object-with-reused-name",
            "the older version requires the field, and spec.own of the newer version is optional",
        ),
        ("required-object-without-source", "spec.plan: required differs without an operation"),
        ("list-keys-of-old-name", "`x-kubernetes-list-map-keys`, but its items define no such property"),
        (
            "kept-value-in-object-inside-item",
            "In a list item, or with a rename in between, the removal leaves no trace",
        ),
    ] {
        let bad = load(case).map(drop).unwrap_err().to_string();
        assert!(bad.contains(said), "{case}: {bad}");
    }
}
