//! The operations of a definition, to compare two definitions of one kind.

use std::collections::BTreeSet;

use pointsman_core::definition::Kind;
use serde_json::Value as Json;

/// Lists the operations of a definition with their places, one by one: a moved object is listed as its fields. Values
/// of `drop`, `add` and `fill` are left out, because any valid value is right. `rename` and `move` are equal.
pub(crate) fn operations(kind: &Kind, definition: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for step in kind.steps() {
        for (operation, line) in step.operations.iter().zip(&step.lines) {
            let moved = operation.strip_prefix("rename ").map(|rest| format!("move {rest}"));
            let parameters = parameters(definition, *line);
            found.insert(format!("{} {}{parameters}", step.to, moved.as_ref().unwrap_or(operation)));
        }
    }
    found
}

/// The unit, the values and the separator of the operation in a line. Both kinds of definitions have them in one line.
fn parameters(definition: &str, line: u64) -> String {
    let line = definition.lines().nth(line as usize - 1).unwrap_or_default();
    let operation: Json = serde_saphyr::from_str(line.trim_start().trim_start_matches("- ")).unwrap_or_default();
    let argument = operation.as_object().and_then(|operation| operation.values().next());
    let keys = ["as", "map", "separator"].into_iter();
    keys.filter_map(|key| argument?.get(key)).map(|value| format!(" {value}")).collect()
}
