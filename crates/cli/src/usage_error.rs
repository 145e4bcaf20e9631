//! Suggestions for invalid command lines.

use std::env;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

/// The error, with a suggestion if a file or a kind was given without its flag.
pub(crate) fn misread(error: Error, command: &Command) -> Error {
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    advised(error, of_these(command, &words))
}

/// Replaces `tip` by `hint` in clap's messages, because clap has no setting for it.
pub(crate) fn hints_for_tips(message: &str) -> String {
    message.replace("\n  tip:", "\n  hint:").replace("\n  \u{1b}[32mtip:", "\n  \u{1b}[32mhint:")
}

/// The subcommand of the words.
fn of_these<'c>(mut command: &'c Command, words: &[String]) -> &'c Command {
    for word in words {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    command
}

fn advised(mut error: Error, command: &Command) -> Error {
    let at = match error.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        _ => return error,
    };
    let Some(ContextValue::String(given)) = error.get(at) else { return error };
    let given = given.clone();
    let takes = |is_it: &dyn Fn(&Arg) -> bool| command.get_arguments().any(is_it);
    let advice = if given == "--kinds" && takes(&|arg| arg.is_positional() && arg.get_id() == "files") {
        "pass definitions as arguments, without a flag".to_owned()
    } else if given.starts_with('-') {
        return error;
    } else if Path::new(&given).exists() && takes(&|arg| arg.get_short() == Some('f')) {
        format!("a file is given with '-f {given}'")
    } else if takes(&|arg| arg.get_long() == Some("kind")) {
        format!("a kind is given with '--kind {given}'")
    } else {
        return error;
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_tip_becomes_hint() {
        let command = Command::new("points").subcommand(Command::new("show"));
        let error = command.try_get_matches_from(["points", "shw"]).unwrap_err();
        let rendered = error.render();
        for text in [rendered.to_string(), rendered.ansi().to_string()] {
            let message_text = hints_for_tips(&text);
            assert!(message_text.contains("hint:") && !message_text.contains("tip:"), "{message_text:?}");
        }
    }
}
