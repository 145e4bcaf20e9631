//! Figures of a text, per 1,000 words or as a share of its sentences, and their limits.

use std::fmt;

use super::prose::{begins_with, count};

const WHAT_WHO: [&str; 6] = ["what", "whatever", "who", "whoever", "whom", "whose"];
const NEGATIONS: [&str; 9] = ["no", "not", "nobody", "nothing", "none", "never", "nor", "neither", "cannot"];
const PRONOUNS: [&str; 8] = ["it", "its", "one", "ones", "that", "those", "them", "they"];
const YOU: [&str; 2] = ["you", "your"];
const BEGINNINGS: [&str; 10] =
    ["What", "Who", "Whoever", "Whatever", "Where", "Which", "None", "Nothing", "Nobody", "Neither"];

/// Words in a sentence that one reading takes in.
const LONG: usize = 25;

/// Limits of a text. The measured pages of Argo Rollouts, cert-manager and Cluster API lie below those of a page.
pub(super) struct Limits {
    pub(super) what_who: f64,
    pub(super) negations: f64,
    pub(super) pronouns: f64,
    /// At least.
    pub(super) you: f64,
    /// Percent of the sentences.
    pub(super) long: f64,
    /// Percent of the sentences.
    pub(super) beginnings: f64,
}

/// For pages.
pub(super) const PAGES: Limits =
    Limits { what_who: 2.0, negations: 10.0, pronouns: 32.0, you: 8.0, long: 8.0, beginnings: 0.5 };

/// For messages, which often say that something is absent, and seldom address the reader.
pub(super) const MESSAGES: Limits = Limits { negations: 45.0, you: 0.0, ..PAGES };

#[derive(Debug)]
pub(super) struct Figures {
    words: usize,
    what_who: f64,
    negations: f64,
    pronouns: f64,
    you: f64,
    long: f64,
    beginnings: f64,
}

impl Figures {
    pub(super) fn of(sentences: &[String]) -> Self {
        let text = sentences.join(" ");
        let words = text.split_whitespace().count();
        let per = |of: &[&str]| 1000.0 * count(&text, of) as f64 / words.max(1) as f64;
        let share = |of: &dyn Fn(&&String) -> bool| {
            100.0 * sentences.iter().filter(of).count() as f64 / sentences.len().max(1) as f64
        };
        let contracted = text.split_whitespace().filter(|word| word.contains("n't")).count();
        Self {
            words,
            what_who: per(&WHAT_WHO),
            negations: per(&NEGATIONS) + 1000.0 * contracted as f64 / words.max(1) as f64,
            pronouns: per(&PRONOUNS),
            you: per(&YOU),
            long: share(&|sentence| is_long(sentence)),
            beginnings: share(&|sentence| begins_with(sentence, &BEGINNINGS)),
        }
    }

    /// The limits that the text breaks.
    pub(super) fn broken(&self, limits: &Limits) -> Vec<String> {
        let at_most = [
            ("what and who per 1,000 words", self.what_who, limits.what_who),
            ("negations per 1,000 words", self.negations, limits.negations),
            ("it, one, that and them per 1,000 words", self.pronouns, limits.pronouns),
            ("percent of sentences over 25 words", self.long, limits.long),
            ("percent of sentences that begin with What, Who, Nothing …", self.beginnings, limits.beginnings),
        ];
        let over = at_most.iter().filter(|(_, found, most)| found > most);
        let mut broken: Vec<String> =
            over.map(|(name, found, most)| format!("{name}: {found:.1}, at most {most}")).collect();
        if self.you < limits.you {
            broken.push(format!("you per 1,000 words: {:.1}, at least {}", self.you, limits.you));
        }
        broken
    }

    pub(super) fn words(&self) -> usize {
        self.words
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "words {}, what+who {:.1}, negations {:.1}, it/one/that/them {:.1}, you {:.1}, long {:.1} %, begin {:.1} %",
            self.words, self.what_who, self.negations, self.pronouns, self.you, self.long, self.beginnings
        )
    }
}

fn is_long(sentence: &str) -> bool {
    sentence.split_whitespace().count() > LONG
}

#[test]
fn figures_find_every_broken_limit() {
    let bad = "What nobody tells is never known to the one that asked for it and cannot be told to those whom they know, \
               so that none of them has it or needs its own ones";
    let figures = Figures::of(&[bad.to_owned()]);
    assert_eq!(figures.broken(&PAGES).len(), 6, "{figures}");
    let good = "You install the chart. The server then serves your kinds.";
    let figures = Figures::of(&good.split_inclusive(". ").map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(figures.broken(&PAGES), [""; 0], "{figures}");
}
