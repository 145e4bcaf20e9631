//! A user who follows each proposal of a message literally.

use pointsman_core::definition::{BadDefinition, Kind, Remedy, StepEdit};
use serde_json::Value;

/// Maximum number of rounds per definition.
const ROUNDS: usize = 10;

/// Final state of a definition.
pub(super) enum End {
    /// The definition loads.
    Loaded(String),
    /// The messages state that no operation can express the remaining difference.
    Explained(String),
    /// The messages propose nothing new.
    Stuck(String),
    /// The API server refuses the CRD.
    Invalid,
}

/// An entry: the index of its step, whether it is an operation, its index in the list.
type EntryPlace = (usize, bool, usize);

/// A step of an unfinished definition.
struct Step {
    from: String,
    to: String,
    operations: Vec<String>,
    accept: Vec<String>,
}

/// The place of a version among others, oldest first: v1alpha1, v1beta1, v1, v2.
fn age(version: &str) -> (u64, usize, u64) {
    let numbers: Vec<u64> =
        version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let mutation = ["alpha", "beta"].iter().position(|mutation| version.contains(mutation)).unwrap_or(2);
    (numbers[0], mutation, numbers.get(1).copied().unwrap_or_default())
}

/// A definition that begins without any operation.
pub(super) struct Follower {
    crd: String,
    steps: Vec<Step>,
}

impl Follower {
    pub(super) fn new(crd: &Value) -> Self {
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array).unwrap();
        let mut names: Vec<&str> = versions.iter().map(|version| version["name"].as_str().unwrap()).collect();
        names.sort_by_key(|name| age(name));
        let steps = names.windows(2).map(|pair| Step {
            from: pair[0].to_owned(),
            to: pair[1].to_owned(),
            operations: Vec::new(),
            accept: Vec::new(),
        });
        Self { crd: crd.to_string(), steps: steps.collect() }
    }

    /// Begins with an operation in the first step.
    pub(super) fn with(mut self, operation: &str) -> Self {
        self.steps[0].operations.push(operation.to_owned());
        self
    }

    /// The definition, and for each line the entry in it: the step, the list, the index.
    fn text(&self) -> (String, Vec<Option<EntryPlace>>) {
        let mut text = "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: things.crd.yaml\nsteps:\n".to_owned();
        let mut lines = vec![None; 4];
        for (at, step) in self.steps.iter().enumerate() {
            text.push_str(&format!("- from: {}\n  to: {}\n", step.from, step.to));
            lines.extend([None, None]);
            for (key, entries) in [("operations", &step.operations), ("accept", &step.accept)] {
                if entries.is_empty() {
                    continue;
                }
                text.push_str(&format!("  {key}:\n"));
                lines.push(None);
                for (index, entry) in entries.iter().enumerate() {
                    text.push_str(&format!("  - {entry}\n"));
                    lines.push(Some((at, key == "operations", index)));
                }
            }
        }
        (text, lines)
    }

    fn load(&self) -> Result<(), BadDefinition> {
        let (text, _) = self.text();
        Kind::load("things.yaml", &text, &mut |_| Ok(self.crd.clone())).map(drop)
    }

    pub(super) fn follow(mut self) -> End {
        let mut history = Vec::new();
        for _ in 0..ROUNDS {
            let Err(bad) = self.load() else { return End::Loaded(self.text().0) };
            if bad.to_string().contains("The API server refuses such a CRD") {
                return End::Invalid;
            }
            let edits: Vec<StepEdit> = bad
                .problems
                .iter()
                .filter_map(|problem| match &problem.remedy {
                    Some(Remedy::Edit(edit)) => {
                        for entry in edit.operations.iter().chain(&edit.accept) {
                            assert!(problem.message.contains(entry), "{}: lacks {entry}", problem.message);
                        }
                        Some(edit.clone())
                    }
                    _ => None,
                })
                .collect();
            let is_explained = |problem: &pointsman_core::definition::Problem| {
                problem.remedy == Some(Remedy::Crd) && problem.message.contains("no operation can")
            };
            if edits.is_empty() && bad.problems.iter().all(is_explained) {
                return End::Explained(bad.to_string());
            }
            let before = self.text().0;
            history.push(format!("{before}\n{bad}"));
            self.apply(&edits);
            if self.text().0 == before {
                break;
            }
        }
        End::Stuck(history.join("\n=====\n"))
    }

    fn apply(&mut self, edits: &[StepEdit]) {
        let (_, lines) = self.text();
        let removed = edits.iter().flat_map(|edit| &edit.removes);
        let mut removed: Vec<EntryPlace> = removed.filter_map(|line| lines[*line as usize - 1]).collect();
        removed.sort_unstable();
        removed.dedup();
        for (step, is_operation, index) in removed.into_iter().rev() {
            let step = &mut self.steps[step];
            if is_operation {
                step.operations.remove(index)
            } else {
                step.accept.remove(index)
            };
        }
        for edit in edits {
            let step = self.steps.iter_mut().find(|step| step.to == edit.to).unwrap();
            let new = |list: &Vec<String>, entry: &String| !list.contains(entry);
            for operation in &edit.operations {
                if new(&step.operations, operation) {
                    step.operations.push(operation.clone());
                }
            }
            for accept in &edit.accept {
                if new(&step.accept, accept) {
                    step.accept.push(accept.clone());
                }
            }
        }
    }
}
