//! Valid `health` blocks of a definition, and the errors for invalid ones.

use crate::kinds::with_healthy;

#[test]
fn valid_health_is_accepted() {
    for healthy in [
        "{all: [{condition: Ready}]}",
        "{all: [{condition: Ready, is: \"False\", within: status.conditions}], settle: 5m}",
        "{all: [{condition: Ready, is: Unknown}, {field: status.phase, notIn: [Sunk]}]}",
        "{any: [{field: status.phase, is: Afloat}, {field: status.phase, in: [Sunk]}]}",
        "{none: [{field: status.phase, present: true}], settle: 0, seen: {manager: databaser}}",
        "{all: [{generation: status.observedGeneration}, {field: status.masts, atLeast: 2}]}",
        "{all: [{any: [{condition: Ready}, {all: [{condition: A}, {none: [{condition: B}]}]}]}]}",
    ] {
        with_healthy(healthy).unwrap_or_else(|bad| panic!("{healthy}: {bad}"));
    }
}

#[test]
fn invalid_health_is_refused() {
    for (healthy, said) in [
        ("{}", "health: is empty: add gates"),
        ("{al: []}", "unknown key \"al\", did you mean \"all\"?"),
        (
            "{all: [{condition: Ready}], settle: 10s}",
            "settle: 10s is too short to distinguish the status of the old and the new controller",
        ),
        ("{all: [{condition: Ready}], settle: soon}", "settle: \"soon\" is not a duration"),
        ("{all: [{condition: Ready, is: true}]}", "the status of a condition is \"True\", \"False\" or"),
        ("{all: [{condition: Ready, is: Afloat}]}", "\"Unknown\", not \"Afloat\""),
        ("{all: [{condition: Ready}], seen: {manager: \"\"}}", "seen.manager: the name is empty"),
        (
            "{all: [{condition: Ready}], seen: {manager: pointsman-rollout}}",
            "seen.manager: pointsman-rollout writes the move itself: name the controller",
        ),
        ("{all: [{field: status.pase, is: Afloat}]}", "has no \"pase\" there, did you mean \"phase\"?"),
        ("{all: [{field: status.phase, is: Adrift}]}", "status.phase can never be \"Adrift\""),
        ("{all: [{field: status.phase}]}", "status.phase needs one of `is`, `in`, `notIn`, `atLeast` and `present`"),
        ("{all: [{field: status.masts, is: 1, in: [2]}]}", "needs one of"),
        ("{all: [{field: status.masts, in: []}]}", "status.masts: add at least one value to compare with"),
        ("{all: [{field: status.phase, atLeast: Afloat}]}", "atLeast is a number or a version, not \"Afloat\""),
        ("{all: [{generation: status.phase}]}", "status.phase is of type string, not integer"),
        ("{all: [{condition: Ready, field: status.phase}]}", "a gate has one of these forms: {condition: NAME"),
        ("{all: [{any: []}]}", "any: contains no gates"),
        ("{all: [{condition: Ready, within: status.phase}]}", "status.phase is of type string, not array"),
    ] {
        let bad = with_healthy(healthy).map(|_| ()).expect_err(healthy).to_string();
        assert!(bad.contains(said), "{healthy}: {bad}");
        assert!(bad.starts_with("definition:"), "{bad}");
    }
}
