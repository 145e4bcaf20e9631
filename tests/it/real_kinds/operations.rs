//! The operations of a definition, to compare two definitions of one kind.

use std::collections::BTreeSet;

use pointsman_core::definition::Kind;

/// Lists the operations of a definition with their places, one by one: a moved object is listed as its fields. Values
/// of `drop`, `add` and `fill` are left out, because any valid value is right. `rename` and `move` are equal.
pub(crate) fn operations(kind: &Kind) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for step in kind.steps() {
        for operation in &step.operations {
            let moved = operation.strip_prefix("rename ").map(|rest| format!("move {rest}"));
            found.insert(format!("{} {}", step.to, moved.as_ref().unwrap_or(operation)));
        }
    }
    found
}
