//! An inconsistent admission block is refused at load, with its line and path.

use pointsman_core::definition::Kind;

use super::data;

/// Loads the definition with one line replaced. Returns the line number and the problems, one per line.
pub(super) fn problems(original: &str, replacement: &str) -> (u64, String) {
    let text = data("kinds/gadgets.yaml");
    let line = text.lines().position(|line| line.contains(original)).unwrap_or_else(|| panic!("{original}")) + 1;
    let text = text.replacen(original, replacement, 1);
    let loaded = Kind::load("gadgets.yaml", &text, &mut |file| Ok(data(&format!("kinds/{file}"))));
    match loaded {
        Ok(_) => panic!("{replacement:?} was taken"),
        Err(error) => (line as u64, error.to_string()),
    }
}

const LEVEL: &str = "- range: {field: spec.level, max: 9}";
const ID: &str = "- immutable: {field: spec.id}";
const RELEASE: &str =
    "- upgrade: {wanted: spec.release, running: status.release, orWanted: true, as: version, path: release}";
const DURATION: &str = "- duration: {field: spec.tls.renewal}";
const NOBODY: &str = "- warn: {field: spec.labels.owner, is: nobody, message: somebody should answer for this}";

/// A line of the definition, its replacement, and the expected message.
type Mistake = (&'static str, &'static str, &'static str);

const BAD_RULES: &[Mistake] = &[
    (LEVEL, "- range: {field: spec.levle, max: 9}", "spec.levle: v2 has no \"levle\" there, did you mean \"level\"?"),
    (LEVEL, "- range: {field: spec.level.x, max: 9}", "v2 has no \"x\" there"),
    (LEVEL, "- range: {field: spec..level, max: 9}", "an empty name"),
    (LEVEL, "- range: {field: \"\", max: 9}", "an empty path"),
    (LEVEL, "- range: {field: spec.level}", "range: spec.level has neither min nor max"),
    (LEVEL, "- range: {field: spec.level, min: 10, max: 9}", "range: spec.level can never be in 10…9"),
    (LEVEL, "- range: {field: spec.release, max: 9}", "range: spec.release is of type string, not integer"),
    (LEVEL, "- range: {field: spec.tls, max: 9}", "range: spec.tls is of type object, not integer"),
    (LEVEL, "- range: {field: spec.level, maximum: 9}", "maximum"),
    (LEVEL, "- ranges: {field: spec.level, max: 9}", "ranges"),
    (DURATION, "- duration: {field: spec.level}", "duration: spec.level is of type integer, not string"),
    (ID, "- immutable: {field: spec.identity}", "v2 has no \"identity\" there"),
    (ID, "- immutable: {field: spec.id, unset: [5]}", "immutable: spec.id can never be 5"),
    ("needs: [secretName, issuer]", "needs: [secretName, issuers]", "did you mean \"issuer\"?"),
    ("needs: [secretName, issuer]", "needs: []", "requires: spec.tls has no needs"),
    (
        "{field: spec.tls, needs: [secretName, issuer]}",
        "{field: spec.release, needs: [secretName]}",
        "v2 has no \"secretName\" there",
    ),
    (
        RELEASE,
        "- upgrade: {wanted: spec.release, as: version, path: releases}",
        "paths has no upgrade path \"releases\"; known paths: controllers, release",
    ),
    (
        RELEASE,
        "- upgrade: {wanted: spec.level, as: version, path: release}",
        "upgrade: spec.level is of type integer, not string",
    ),
    (
        RELEASE,
        "- upgrade: {wanted: spec.release, running: status.realease, as: version, path: release}",
        "did you mean \"release\"?",
    ),
    (
        RELEASE,
        "- upgrade: {wanted: spec.release, running: spec.level, as: version, path: release}",
        "upgrade: spec.level is of type integer, not string",
    ),
    (NOBODY, "- warn: {field: spec.level, is: many, message: m}", "warn: spec.level can never be \"many\""),
    (
        NOBODY,
        "- warn: {field: spec.level, at: v3, message: m}",
        "at: the CRD has no version \"v3\"; known versions: v0, v1, v2",
    ),
    (NOBODY, "- warn: {field: spec.level, unlike: spec.lvl, message: m}", "did you mean \"level\"?"),
    ("at: v1, use", "at: v9, use", "at: the CRD has no version \"v9\""),
    ("versions: \"<2.17\"", "versions: \"<two\"", "controllers: range \"<two\": \"two\" is no version"),
    ("versions: \"<2.17\"", "versions: \">2 <1\"", "controllers: range \">2 <1\" contains no version"),
    ("versions: \"<2.17\"", "versions: \"\"", "controllers: an empty range"),
];

#[test]
fn bad_rules_name_their_place() {
    for (original, replacement, words) in BAD_RULES {
        let (line, message) = problems(original, replacement);
        assert!(message.contains(words), "{replacement}: {message}");
        assert!(
            message.starts_with(&format!("gadgets.yaml:{line}: ")),
            "{replacement} stands in line {line}: {message}"
        );
    }
}

const MIDDLE: &str = "{version: 2.17.0, upgradeFrom: [2.16.0], downgradeTo: [2.16.0]}";
const STEP: &str = "- {from: \"*\", step: minor}";

const BAD_PATHS: &[Mistake] = &[
    ("{version: 2.18.0, upgradeFrom: [2.17.0]}", "{version: 2.18.0}", "no other version leads to 2.18.0"),
    (
        "{version: 2.18.0, upgradeFrom: [2.17.0]}",
        "{version: 2.18.0, upgradeFrom: [2.15.0]}",
        "2.15.0 is used in upgradeFrom or downgradeTo, but has no entry under versions",
    ),
    ("{version: 2.18.0, upgradeFrom: [2.17.0]}", "{version: new, upgradeFrom: [2.17.0]}", "\"new\" is no version"),
    (
        MIDDLE,
        "{version: 2.17.0, upgradeFrom: [2.16.0, 2.18.0]}",
        "2.17.0 cannot be upgraded to from 2.18.0, which is not older",
    ),
    (
        MIDDLE,
        "{version: 2.17.0, upgradeFrom: [2.16.0], downgradeTo: [2.18.0]}",
        "2.17.0 cannot be downgraded to 2.18.0, which is not older",
    ),
    (MIDDLE, "{version: 2.16.0, upgradeFrom: [2.16.0]}", "2.16.0 has two entries"),
    (STEP, "- {from: \"*\"}", "the rule from \"*\" needs either `to` or `step`"),
    (STEP, "- {from: \"*\", to: \"2\", step: minor}", "needs either `to` or `step`"),
    (STEP, "- {from: \"*\", step: huge}", "huge"),
    (STEP, "- {from: new, step: minor}", "range \"new\": \"new\" is no version"),
    (STEP, "- {from: \"9\", to: \"8\"}", "from \"9\" to \"8\" can never hold: only newer versions may follow"),
    (
        "downgradeOptOut: example.com/go-back",
        "downgradeOptOut: \"go back\"",
        "downgradeOptOut: \"go back\" is no annotation key",
    ),
    ("optOut: example.com/any-controller", "optOut: a/b/c", "optOut: \"a/b/c\" is no annotation key"),
    (
        "versionPath: controllers",
        "versionPath: controler",
        "paths has no upgrade path \"controler\"; known paths: controllers, release",
    ),
];

#[test]
fn bad_upgrade_paths_name_their_place() {
    for (original, replacement, words) in BAD_PATHS {
        let (line, message) = problems(original, replacement);
        assert!(message.contains(words), "{replacement}: {message}");
        let found: u64 = message.split(':').nth(1).unwrap().parse().unwrap_or_else(|_| panic!("no line: {message}"));
        // The line of the path, or of its block.
        assert!(found > 0 && found <= line, "{replacement} stands in line {line}: {message}");
    }
    let text = data("kinds/gadgets.yaml").replace("rules:\n      - {from: \"*\", step: minor}", "rules: []");
    let loaded = Kind::load("e.yaml", &text, &mut |_| Ok(data("kinds/gadgets.crd.yaml")));
    assert!(loaded.unwrap_err().to_string().contains("paths.release: permits no version: add rules or versions"));
}
