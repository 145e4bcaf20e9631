//! Usual changes of a field, in both directions: a directory for each change in `tests/data/strategies`, with a small
//! kind and its cases. `scores.txt` is the table.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::load;
use crate::bless::agrees;

const DIR: &str = "tests/data/strategies";

/// Each definition loads without a warning about lost values, its cases pass, and all laws hold.
#[test]
fn usual_changes_convert_both_ways() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root.join(DIR)).unwrap().map(|entry| entry.unwrap().path());
    let names: BTreeSet<String> = entries
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut table = format!("{:<32}{:<10}OPERATIONS\n", "CHANGE", "CASES");
    for name in &names {
        let dir = format!("{DIR}/{name}");
        let tested = pointsman(root, &["kinds", "test", &dir]);
        let cases = tested.strip_prefix("OK: ").and_then(|rest| rest.split_whitespace().next());
        let cases = cases.unwrap_or_else(|| panic!("{name}: {tested}"));
        let checked = pointsman(root, &["kinds", "check", &dir]);
        assert!(checked.contains(" laws passed in "), "{name}: {checked}");
        let kind = load(&root.join(&dir)).unwrap();
        let steps = kind.steps();
        let summaries = steps.iter().flat_map(|step| &step.operations);
        let operations: BTreeSet<&str> =
            summaries.filter_map(|operation| operation.split_whitespace().next()).collect();
        let operations = operations.into_iter().collect::<Vec<_>>().join(", ");
        writeln!(table, "{name:<32}{cases:<10}{operations}").unwrap();
    }
    assert!(names.len() > 35);
    agrees(&format!("{DIR}/scores.txt"), &table);
}

/// The output of a command, with its errors.
fn pointsman(root: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).current_dir(root).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}
