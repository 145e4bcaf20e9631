//! The result of the check of a definition, in all output formats.

use std::collections::BTreeSet;

use pointsman_core::definition::{self, Kind};
use pointsman_core::draft::review_warning;
use pointsman_core::laws::{Broken, LawResult};
use pointsman_core::webhook::unseen_by_scale;

use super::hidden_values;
use super::junit::{Case, CaseOutcome, Suite};
use super::sarif::SarifFinding;
use super::summary;
use super::trial::Trial;
use super::violations::{self, ViolationContext};
use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::LoadedMutations;
use crate::commands::output::{complain, talk, warn};

/// A definition, and the result of its check.
pub(super) struct Checked {
    /// The file, as in messages.
    pub(super) file: String,
    /// The file, quoted for a shell.
    pub(super) argument: String,
    /// The problems of the definition.
    pub(super) problems: Vec<ReportedProblem>,
    /// The kind, if the definition has no problems.
    pub(super) kind: Option<Understood>,
    /// The trial, if there was one.
    pub(super) trial: Option<Trial>,
    /// For each sample its place, and its file quoted for a shell.
    pub(super) samples: Vec<(String, String)>,
}

/// A problem of the definition.
pub(super) struct ReportedProblem {
    /// 0 if there is none.
    pub(super) line: u64,
    pub(super) message: String,
    /// The message with its place.
    pub(super) whole: String,
}

impl ReportedProblem {
    pub(super) fn of(problem: &definition::Problem) -> Self {
        Self { line: problem.line, message: problem.message.clone(), whole: problem.to_string() }
    }
}

/// The summary of a definition.
pub(super) struct Understood {
    name: String,
    text: String,
    json: JsonTree,
    /// Paths of the CRD without a field in their version.
    lost_paths: Vec<String>,
    /// The doubtful parts of the definition.
    warnings: Vec<definition::Warning>,
}

impl Understood {
    pub(super) fn new(kind: &Kind, definition: &str, json: JsonTree) -> Self {
        let name = format!("{}.{}", kind.kind(), kind.group());
        let mut text = String::new();
        let becoming = kind.becoming().map(|becoming| becoming.bridge().steps()).unwrap_or_default();
        let between = kind.steps().into_iter().map(|step| (step, "<->"));
        for (step, arrow) in becoming.into_iter().map(|step| (step, "becomes")).chain(between) {
            text.push_str(&format!("  {} {arrow} {}\n", step.from, step.to));
            if step.operations.is_empty() {
                text.push_str("    only the version changed\n");
            }
            for operation in step.operations {
                text.push_str(&format!("    {operation}\n"));
            }
        }
        if let Some(rollout) = kind.rollout() {
            text.push_str(&format!("  rollout hash of {rollout}\n"));
        }
        for note in unseen_by_scale(kind) {
            text.push_str(&format!("  note: {note}\n"));
        }
        let lost_paths = definition::missing_crd_paths(kind.crd());
        let warnings = review_warning(definition).into_iter().chain(kind.warnings().iter().cloned()).collect();
        Self { name, text, json, lost_paths, warnings }
    }

    /// A definition of mutations.
    pub(super) fn of_mutations(known: &LoadedMutations) -> Self {
        let name = format!("mutations of {}", known.mutated.resource());
        let mut text = String::new();
        for (mutation, operations) in known.mutated.describe() {
            text.push_str(&format!("  {mutation}\n"));
            operations.iter().for_each(|operation| text.push_str(&format!("    {operation}\n")));
        }
        Self { name, text, json: summary::of_mutations(known), lost_paths: Vec::new(), warnings: Vec::new() }
    }
}

impl Checked {
    fn results(&self) -> &[LawResult] {
        self.trial.as_ref().map_or(&[], |trial| &trial.survey.results)
    }

    fn broken(&self) -> impl Iterator<Item = &Broken> {
        self.results().iter().filter_map(|result| result.broken.as_deref())
    }

    /// The number of errors. Violations of several laws by one cause count as one.
    pub(super) fn wrong(&self) -> usize {
        self.problems.len() + usize::from(self.broken().next().is_some())
    }

    /// The command that reproduces a violation.
    fn again(&self, broken: &Broken) -> String {
        let sample = broken.sample.and_then(|index| self.samples.get(index));
        match sample {
            Some((_, file)) => {
                format!("pointsman kinds check {} --try 0 --seed {} --samples {file}", self.argument, broken.seed)
            }
            None => format!("pointsman kinds check {} --try 1 --seed {}", self.argument, broken.seed),
        }
    }

    fn with_context<T>(&self, broken: &Broken, report: impl Fn(&Broken, &ViolationContext<'_>) -> T) -> T {
        let again = self.again(broken);
        let sample = broken.sample.and_then(|index| self.samples.get(index)).map(|(place, _)| place.clone());
        report(broken, &ViolationContext { file: &self.file, sample, again: &again })
    }

    /// Prints errors and warnings.
    pub(super) fn report(&self) {
        for problem in &self.problems {
            let mut lines = problem.whole.lines();
            lines.by_ref().take(1).for_each(complain);
            lines.for_each(talk);
        }
        let paths = self.kind.iter().flat_map(|kind| &kind.lost_paths);
        paths.for_each(|path| warn(&format!("{}: {path}", self.file)));
        let warnings = self.kind.iter().flat_map(|kind| &kind.warnings);
        warnings.for_each(|warning| warn(&format!("{}:{}: {}", self.file, warning.line, warning.message)));
        let story = self.story();
        let mut lines = story.lines();
        lines.by_ref().take(1).for_each(complain);
        lines.for_each(talk);
        let Some(trial) = &self.trial else { return };
        for (index, why) in &trial.survey.unfit {
            if let Some((place, _)) = self.samples.get(*index) {
                warn(&format!("{place}: {why}"));
            }
        }
        let untried = self.results().iter().filter(|result| result.cases == 0).count();
        if !trial.survey.through && !trial.interrupted && self.wrong() == 0 && untried > 0 {
            let all = self.results().len();
            warn(&format!("{}: the time was up before {untried} of {all} laws were tried: see --time", self.file));
        }
        // After a failure or an incomplete trial, missing coverage has another reason.
        if !trial.survey.through || self.wrong() > 0 {
            return;
        }
        for (version, _) in self.results().iter().filter(|result| has_no_cases(result)).map(|it| &it.versions) {
            warn(&format!(
                "{}: no complete object of {version} was tried, so most laws were not tested: add objects with \
                     --samples",
                self.file
            ));
        }
        for what in &trial.survey.unexercised {
            warn(&format!(
                "{}:{}: {what}: try more with --try, or objects of yours with --samples",
                self.file, what.line
            ));
        }
    }

    /// Describes the violated law, line by line. Empty if there is none.
    pub(super) fn story(&self) -> String {
        let mut all = self.broken();
        let Some(first) = all.next() else { return String::new() };
        let mut story =
            format!("{}\n{}", violations::headline(first, &self.file), self.with_context(first, violations::story));
        let others: Vec<String> = all.map(|other| format!("{} from {}", other.law, other.versions.0)).collect();
        if !others.is_empty() {
            story.push_str(&format!("  broken as well: {}\n", others.join(", ")));
        }
        story
    }

    /// The summary. Empty after errors.
    pub(super) fn text(&self) -> String {
        let Some(kind) = self.kind.as_ref().filter(|_| self.wrong() == 0) else { return String::new() };
        let mut text = format!("{}: {} is fine\n{}", self.file, kind.name, kind.text);
        if let Some(trial) = self.trial.as_ref().filter(|trial| !trial.survey.results.is_empty()) {
            let end = match (trial.survey.through, trial.interrupted) {
                (true, _) => "",
                (false, true) => ", and would have continued",
                (false, false) => ", until the time was up",
            };
            text.push_str(&hidden_values::text(&trial.survey.hidden));
            let laws: BTreeSet<&str> = trial.survey.results.iter().map(|result| result.law.name).collect();
            text.push_str(&format!(
                "  {} laws passed in {} trials, seed {}{end}\n",
                laws.len(),
                trial.cases(),
                trial.seed
            ));
        }
        text
    }

    /// The whole result, for programs.
    pub(super) fn json(&self) -> JsonTree {
        let problems = self.problems.iter().map(|problem| {
            let line = if problem.line == 0 { JsonTree::Null } else { JsonTree::Number(problem.line.to_string()) };
            JsonTree::object([("line", line), ("message", JsonTree::string(&problem.message))])
        });
        JsonTree::object([
            ("file", JsonTree::string(&self.file)),
            ("fine", JsonTree::Bool(self.wrong() == 0)),
            ("problems", JsonTree::Array(problems.collect())),
            ("kind", self.kind.as_ref().map_or(JsonTree::Null, |kind| kind.json.clone())),
            ("trial", self.trial.as_ref().map_or(JsonTree::Null, |trial| self.trial_json(trial))),
        ])
    }

    fn trial_json(&self, trial: &Trial) -> JsonTree {
        let laws = trial.survey.results.iter().map(|result| {
            JsonTree::object([
                ("law", JsonTree::string(result.law.name)),
                ("from", JsonTree::string(&result.versions.0)),
                ("to", JsonTree::string(&result.versions.1)),
                ("cases", JsonTree::Number(result.cases.to_string())),
                ("holds", JsonTree::Bool(result.broken.is_none())),
            ])
        });
        let unexercised = trial.survey.unexercised.iter().map(|what| {
            JsonTree::object([
                ("from", JsonTree::string(&what.versions.0)),
                ("to", JsonTree::string(&what.versions.1)),
                ("operation", JsonTree::string(&what.operation)),
                ("line", JsonTree::Number(what.line.to_string())),
                ("what", JsonTree::string(what.what)),
            ])
        });
        let unfit = trial.survey.unfit.iter().filter_map(|(index, why)| {
            let (place, _) = self.samples.get(*index)?;
            Some(JsonTree::object([("sample", JsonTree::string(place)), ("why", JsonTree::string(why))]))
        });
        let broken = self.broken().map(|broken| self.with_context(broken, violations::json));
        JsonTree::object([
            ("seed", JsonTree::Number(trial.seed.to_string())),
            ("trials", JsonTree::Number(trial.cases().to_string())),
            ("through", JsonTree::Bool(trial.survey.through)),
            ("laws", JsonTree::Array(laws.collect())),
            ("broken", JsonTree::Array(broken.collect())),
            ("unexercised", JsonTree::Array(unexercised.collect())),
            ("hidden", JsonTree::Array(trial.survey.hidden.iter().map(hidden_values::json).collect())),
            ("unfit", JsonTree::Array(unfit.collect())),
        ])
    }

    /// The errors and warnings, each with its line.
    pub(super) fn findings(&self) -> Vec<SarifFinding> {
        let finding = |rule, about, is_error, line, message: &str| SarifFinding {
            rule,
            about,
            is_error,
            file: self.file.clone(),
            line,
            message: message.to_owned(),
        };
        let problems = self.problems.iter().map(|problem| {
            finding("definition", "The definition explains every difference.", true, problem.line, &problem.message)
        });
        let paths = self.kind.iter().flat_map(|kind| &kind.lost_paths);
        let paths =
            paths.map(|path| finding("crd-path", "Paths of the CRD name fields of their version.", false, 0, path));
        let warnings = self
            .kind
            .iter()
            .flat_map(|kind| &kind.warnings)
            .map(|warning| finding("doubtful", "No operation is doubtful.", false, warning.line, &warning.message));
        let broken = self.broken().map(|broken| {
            let message = format!("{} ({}): {}", broken.text, broken.law, broken.message);
            finding("law", "Conversions keep the laws.", true, broken.line, &message)
        });
        problems.chain(paths).chain(warnings).chain(broken).collect()
    }

    /// A test case for the definition, and one for each law and pair of versions.
    pub(super) fn suite(&self) -> Suite {
        let name = self.kind.as_ref().map_or(&self.file, |kind| &kind.name).clone();
        let loads = match self.problems.first() {
            None => CaseOutcome::Passed,
            Some(first) => {
                let all: Vec<&str> = self.problems.iter().map(|problem| problem.whole.as_str()).collect();
                CaseOutcome::Failed(first.whole.clone(), all.join("\n"))
            }
        };
        let mut cases = vec![Case { class: name.clone(), name: "definition".to_owned(), outcome: loads }];
        cases.extend(self.results().iter().map(|result| {
            let (from, to) = &result.versions;
            let outcome = match &result.broken {
                Some(broken) => {
                    let story = self.with_context(broken, violations::story);
                    CaseOutcome::Failed(violations::headline(broken, &self.file), story)
                }
                None if result.cases == 0 => CaseOutcome::Skipped("the law does not apply to the tried objects"),
                None => CaseOutcome::Passed,
            };
            Case { class: format!("{name}.{from}-{to}"), name: result.law.name.to_owned(), outcome }
        }));
        Suite { name, cases }
    }
}

/// Returns whether no complete object was judged.
fn has_no_cases(result: &LawResult) -> bool {
    result.law.name == "round-trip" && result.cases == 0
}
