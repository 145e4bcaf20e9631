//! Public CRDs as published, with a definition: a directory per kind in `examples/kinds`, with the results of
//! upstream's own conversion, or in `tests/data/real`, without.
//!
//! `tests/data/real/scores.txt` is the table.

mod drafts;
mod operations;
mod score;
mod strategies;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use pointsman_core::definition::Kind;
use score::{Score, scored};

use crate::bless::agrees;

const DIR: &str = "tests/data/real";

/// The directories, sorted by name. Each has a `source.txt`.
fn directories() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = ["examples/kinds", DIR].into_iter().flat_map(|parent| fs::read_dir(root.join(parent)).unwrap());
    let directories = entries.map(|entry| entry.unwrap()).filter(|entry| entry.path().join("source.txt").exists());
    let mut all: Vec<(String, PathBuf)> =
        directories.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect();
    all.sort();
    all
}

#[test]
fn real_kinds_convert_as_upstream() {
    let kinds = directories();
    let mut table = format!("{:<28}{:>7}{:>14}{:>11}  differing cases\n", "KIND", "LOADS", "AS UPSTREAM", "HOME");
    let mut total = Score::default();
    let mut loaded = 0;
    for (name, dir) in &kinds {
        let Ok(kind) = load(dir) else {
            writeln!(table, "{name:<28}{:>7}", "no").unwrap();
            continue;
        };
        loaded += 1;
        let score = scored(kind, dir);
        let Score { cases, equal, home, differing } = &score;
        let (equal_of, home_of) = (format!("{equal} of {cases}"), format!("{home} of {cases}"));
        let differing = differing.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
        writeln!(table, "{name:<28}{:>7}{equal_of:>14}{home_of:>11}  {differing}", "yes").unwrap();
        total = Score { cases: total.cases + cases, equal: total.equal + equal, home: total.home + home, ..total };
    }
    let Score { cases, equal, home, .. } = total;
    let (loads, equal, home) =
        (format!("{loaded}/{}", kinds.len()), format!("{equal} of {cases}"), format!("{home} of {cases}"));
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
