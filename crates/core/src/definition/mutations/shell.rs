//! Shells in a command line: the word after `-c` is a script, and later words are its arguments.

/// Returns whether the words pass a script to a shell, at any position: `env`, `nice` and similar programs may precede
/// the shell. Runs in linear time.
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

/// The program that a word names. Options and variables, such as `--shell=/bin/sh`, name none.
fn program(word: &str) -> &str {
    if word.starts_with('-') || word.contains('=') {
        return "";
    }
    word.rsplit('/').next().unwrap_or_default()
}

/// The expected kind of the next word.
#[derive(Clone, Copy)]
enum ScriptSearch {
    /// Any word.
    Words,
    /// An option of the shell, or its script file.
    Options,
    /// The argument of an option.
    Argument,
    /// Any word after a program that allows options after its arguments.
    OfUser,
}

/// The meaning of a word for a shell.
enum ShellOption {
    /// `-c`, alone or combined, such as `-ec`.
    Script,
    /// An option with an argument, such as `-o pipefail`.
    Taking,
    /// Any other option.
    Alone,
    /// No option.
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

/// Programs that run a script from an argument.
pub(crate) const SHELLS: [&str; 12] =
    ["sh", "bash", "ash", "dash", "ksh", "mksh", "zsh", "rbash", "hush", "fish", "csh", "tcsh"];
/// Programs that run a script in the shell of a user.
pub(crate) const OF_USER: [&str; 2] = ["su", "runuser"];
/// Long options of shells that take an argument.
pub(crate) const TAKING: [&str; 3] = ["--rcfile", "--init-file", "--emulate"];
