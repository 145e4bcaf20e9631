//! Drafts for public CRDs, unedited, compared with the definitions of their directories.
//!
//! `tests/data/real/drafts.txt` is the table.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use pointsman_core::definition::Kind;
use pointsman_core::draft::Draft;

use super::operations::operations;
use super::score::scored;
use super::{DIR, directories, load};
use crate::bless::agrees;

/// The draft of one kind, or the sum of several.
#[derive(Clone, Copy, Default)]
struct DraftScore {
    loaded: usize,
    /// Operations that the definition of the directory has as well.
    equal: usize,
    /// All operations of that definition.
    expected: usize,
    /// Operations that the definition lacks.
    other: usize,
    acceptances: usize,
    questions: usize,
    cases: usize,
    /// Cases with the result of upstream, by the draft and by the definition.
    as_upstream: [usize; 2],
}

impl DraftScore {
    fn plus(self, other: Self) -> Self {
        let as_upstream = [0, 1].map(|at| self.as_upstream[at] + other.as_upstream[at]);
        Self {
            loaded: self.loaded + other.loaded,
            equal: self.equal + other.equal,
            expected: self.expected + other.expected,
            other: self.other + other.other,
            acceptances: self.acceptances + other.acceptances,
            questions: self.questions + other.questions,
            cases: self.cases + other.cases,
            as_upstream,
        }
    }

    fn row(&self, name: &str, loads: &str) -> String {
        let operations = format!("{} of {}", self.equal, self.expected);
        let [draft, definition] = self.as_upstream;
        let cases = format!("{draft} / {definition} of {}", self.cases);
        let (other, accepted, questions) = (self.other, self.acceptances, self.questions);
        format!("{name:<28}{loads:>7}{operations:>14}{other:>7}{accepted:>10}{questions:>11}{cases:>19}\n")
    }
}

fn draft(dir: &Path) -> DraftScore {
    let crd = fs::read_to_string(dir.join("crd.yaml")).unwrap();
    let written = load(dir).ok();
    let definition = fs::read_to_string(dir.join("definition.yaml")).unwrap();
    let expected = written.as_ref().map(|kind| operations(kind, &definition)).unwrap_or_default();
    let written = written.map(|kind| scored(kind, dir));
    let Ok(draft) = Draft::of_crd(&crd, "crd.yaml") else {
        return DraftScore { expected: expected.len(), ..DraftScore::default() };
    };
    let kind = Kind::load("draft.yaml", &draft.text, &mut |_| Ok(crd.clone())).unwrap();
    let found = operations(&kind, &draft.text);
    let score = scored(kind, dir);
    let equal = found.intersection(&expected).count();
    DraftScore {
        loaded: 1,
        equal,
        expected: expected.len(),
        other: found.len() - equal,
        acceptances: draft.acceptances,
        questions: draft.questions,
        cases: score.cases,
        as_upstream: [score.equal, written.map_or(0, |score| score.equal)],
    }
}

#[test]
fn drafts_of_real_kinds_load() {
    let head = ["KIND", "LOADS", "OPERATIONS", "OTHER", "ACCEPTED", "QUESTIONS", "CASES"];
    let [kind, loads, operations, other, accepted, questions, cases] = head;
    let mut table = format!("{kind:<28}{loads:>7}{operations:>14}{other:>7}{accepted:>10}{questions:>11}{cases:>19}\n");
    let mut total = DraftScore::default();
    let kinds = directories();
    for (name, dir) in &kinds {
        let score = draft(dir);
        table.push_str(&score.row(name, if score.loaded == 1 { "yes" } else { "no" }));
        total = total.plus(score);
    }
    table.push_str(&total.row("total", &format!("{}/{}", total.loaded, kinds.len())));
    writeln!(
        table,
        "\nOPERATIONS: equal ones in the draft and in definition.yaml. CASES: as upstream, by draft / definition."
    )
    .unwrap();
    print!("{table}");
    assert_eq!(total.loaded, kinds.len(), "{table}");
    let [draft, definition] = total.as_upstream;
    assert!(4 * draft >= 3 * definition, "{table}");
    agrees(&format!("{DIR}/drafts.txt"), &table);
}
