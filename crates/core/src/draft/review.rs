//! What a draft leaves to its author: open questions, and reasons of acceptances.

use crate::definition::Warning;

/// A warning about the open questions and the reasons "not reviewed" in the text of a definition. `None` if the author
/// has answered all.
#[must_use]
pub fn review_warning(definition: &str) -> Option<Warning> {
    let lines = |is_one: fn(&str) -> bool| {
        let lines = definition.lines().zip(1..).filter(move |(line, _)| is_one(line.trim_start()));
        lines.map(|(_, number)| number).collect::<Vec<u64>>()
    };
    let questions = lines(|line| line.strip_prefix("# ").is_some_and(|comment| comment.starts_with(QUESTION)));
    let reasons = lines(|line| !line.starts_with('#') && line.contains(NOT_REVIEWED));
    let line = questions.iter().chain(&reasons).min().copied()?;
    let message = format!(
        "a draft with open questions ({}) and acceptances \"{NOT_REVIEWED}\" ({}): answer each question and delete its comment, and \
         write your own reasons",
        questions.len(),
        reasons.len()
    );
    Some(Warning { line, message })
}

/// The start of a comment with a question, in lower case so that a search finds each.
pub(super) const QUESTION: &str = "open question";

/// The end of the reason of an acceptance that the author has to review.
pub(super) const NOT_REVIEWED: &str = "not reviewed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_reasons_are_counted() {
        let text = "steps:\n  # open question: is a the new b?\n  - drop: spec.a\n  accept:\n  - {path: spec.c, \
                    reason: \"bounds; not reviewed\"}\n  - {path: spec.d, reason: ok}\n";
        let warning = review_warning(text).unwrap();
        assert_eq!(warning.line, 2);
        let counts = "a draft with open questions (1) and acceptances \"not reviewed\" (1): ";
        assert!(warning.message.starts_with(counts), "{}", warning.message);
        let rest: Vec<&str> = text.lines().filter(|line| !line.contains("question")).collect();
        let warning = review_warning(&rest.join("\n")).unwrap();
        let counts = "a draft with open questions (0) and acceptances \"not reviewed\" (1): ";
        assert!(warning.message.starts_with(counts), "{}", warning.message);
        assert_eq!(review_warning("# a comment: not reviewed\nsteps: []\n"), None);
    }
}
