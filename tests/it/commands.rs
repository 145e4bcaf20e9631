//! The commands of the binary, and their help.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::LazyLock;

/// The help of every command by its words, such as `["rollout", "plan"]`. The binary itself is the empty list.
pub(crate) static HELPS: LazyLock<BTreeMap<Vec<String>, String>> = LazyLock::new(|| {
    let mut helps = BTreeMap::new();
    let mut open = vec![Vec::new()];
    while let Some(command) = open.pop() {
        let output =
            Command::new(env!("CARGO_BIN_EXE_pointsman")).args(&command).arg("--help").env_clear().output().unwrap();
        assert!(output.status.success(), "{command:?} --help: {}", String::from_utf8_lossy(&output.stderr));
        let help = String::from_utf8(output.stdout).unwrap();
        let below = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
        // The description of a command can go on in further lines, which are indented.
        let names =
            below.lines().filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
        open.extend(names.filter(|name| *name != "help").map(|name| [&command[..], &[name.to_owned()]].concat()));
        helps.insert(command, help);
    }
    assert!(helps.len() > 40, "only {} commands", helps.len());
    helps
});
