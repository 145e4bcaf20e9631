//! A problem with its fix.

use pointsman_cluster::RegisteredFinding;
use pointsman_core::registration::Finding;

use super::format::TextFormat;
use super::json_tree::JsonTree;
use super::verdict::Verdict;
use crate::terminal::escaped;

/// A diagnosis of the doctor commands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Diagnosis {
    /// Kind and name.
    pub(crate) document: String,
    /// The problem and its consequence.
    pub(crate) problem: String,
    /// The line to change, the command that fixes it, or a reference to the documentation.
    pub(crate) change: String,
}

impl Diagnosis {
    /// Merges the findings of two examinations. Of two with the same document and change, that of the kind stays.
    pub(crate) fn of_both(inspected: Vec<Finding>, registered: Vec<RegisteredFinding>) -> Vec<Self> {
        let is_there = |one: &RegisteredFinding| {
            inspected.iter().any(|other| (&other.document, &other.change) == (&one.document, &one.fix))
        };
        let mut both: Vec<Self> = registered.into_iter().filter(|one| !is_there(one)).map(Self::from).collect();
        both.extend(inspected.into_iter().map(Self::from));
        both
    }

    /// All diagnoses. The text begins with the verdict if there are any.
    pub(crate) fn all_in(format: TextFormat, all: &[Self]) -> String {
        let written = format.write_all(all.iter().map(Self::render).collect());
        match format {
            TextFormat::Text if !all.is_empty() => format!("{}\n{written}", Verdict::of_findings(all.len())),
            _ => written,
        }
    }

    /// The diagnosis in two escaped lines, and as JSON.
    fn render(&self) -> (String, JsonTree) {
        let Self { document, problem, change } = self;
        let text = format!("{}\n  {}\n", escaped(&format!("{document}: {problem}")), escaped(change));
        let json = JsonTree::object([
            ("document", JsonTree::string(document)),
            ("problem", JsonTree::string(problem)),
            ("change", JsonTree::string(change)),
        ]);
        (text, json)
    }
}

impl From<Finding> for Diagnosis {
    fn from(finding: Finding) -> Self {
        Self { document: finding.document, problem: finding.problem, change: finding.change }
    }
}

impl From<RegisteredFinding> for Diagnosis {
    fn from(finding: RegisteredFinding) -> Self {
        Self { document: finding.document, problem: finding.problem, change: finding.fix }
    }
}
