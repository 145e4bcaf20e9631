//! A shell in a command line: what is behind its `-c` is a script, and what is behind that belongs to the script.

/// Whether a shell is given a script among these words, wherever it stands: `env`, `nice` and their like may stand
/// before it. Looks at each word once.
pub(super) fn runs_a_script<'w>(words: impl Iterator<Item = &'w str>) -> bool {
    let mut reading = ScriptSearch::Words;
    for word in words {
        reading = match (reading, option(word)) {
            (ScriptSearch::Options | ScriptSearch::OfUser, ShellOption::Script) => return true,
            (ScriptSearch::Options, ShellOption::Taking) => ScriptSearch::Argument,
            (ScriptSearch::Options, ShellOption::Alone) | (ScriptSearch::Argument, _) => ScriptSearch::Options,
            (ScriptSearch::OfUser, _) => ScriptSearch::OfUser,
            (ScriptSearch::Words | ScriptSearch::Options, _) => match program(word) {
                name if SHELLS.contains(&name) => ScriptSearch::Options,
                name if OF_USER.contains(&name) => ScriptSearch::OfUser,
                _ => ScriptSearch::Words,
            },
        };
    }
    false
}

/// What a program is called that a word names; an option or a variable names none, such as `--shell=/bin/sh`.
fn program(word: &str) -> &str {
    if word.starts_with('-') || word.contains('=') {
        return "";
    }
    word.rsplit('/').next().unwrap_or_default()
}

/// What the next word may be.
#[derive(Clone, Copy)]
enum ScriptSearch {
    /// Anything.
    Words,
    /// An option of the shell that was named, or the file that it runs.
    Options,
    /// What an option of it takes.
    Argument,
    /// Anything, behind a program whose options may stand behind its other words.
    OfUser,
}

/// What a word is to a shell.
enum ShellOption {
    /// `-c`, alone or among others such as `-ec`.
    Script,
    /// One that takes the word behind it, such as `-o pipefail`.
    Taking,
    /// Any other one.
    Alone,
    /// None.
    Not,
}

fn option(word: &str) -> ShellOption {
    if word.starts_with("--command") {
        return ShellOption::Script;
    }
    if word.starts_with("--") {
        return if TAKING.contains(&word) { ShellOption::Taking } else { ShellOption::Alone };
    }
    match (word.strip_prefix('-'), word.strip_prefix('+')) {
        (Some(letters), _) if letters.contains('c') => ShellOption::Script,
        (Some(letters), _) | (None, Some(letters)) if letters.ends_with(['o', 'O']) => ShellOption::Taking,
        (Some(letters), _) | (None, Some(letters)) if !letters.is_empty() => ShellOption::Alone,
        _ => ShellOption::Not,
    }
}

/// Programs that run what stands in a word.
pub(crate) const SHELLS: [&str; 12] =
    ["sh", "bash", "ash", "dash", "ksh", "mksh", "zsh", "rbash", "hush", "fish", "csh", "tcsh"];
/// Programs that give it to the shell of a user.
pub(crate) const OF_USER: [&str; 2] = ["su", "runuser"];
/// Long options of shells that take the word behind them.
pub(crate) const TAKING: [&str; 3] = ["--rcfile", "--init-file", "--emulate"];
