//! The last message of a process, and its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::commands::{INTERRUPTED, Stopped, Usage};
use crate::hint::Hint;
use crate::terminal::{error_mark, escaped_lines, hint_mark};

/// Prints the error and its hint on `stderr`. Exit code 1, 2 for wrong flags, or 130 after Ctrl-C or SIGTERM.
pub fn ended(result: anyhow::Result<ExitCode>, stderr: &mut dyn Write) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        // The reader closed the pipe, as `head` does.
        Err(error) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    let hint = error.downcast_ref::<Hint>().map(ToString::to_string);
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| Some(cause) != hint.as_ref()) {
        // Some libraries repeat the message of the source in an error.
        if !causes.last().is_some_and(|last| last.ends_with(&cause)) {
            causes.push(cause);
        }
    }
    let mut message = format!("{}{}\n", error_mark(), escaped_lines(&causes.join(": ")));
    if let Some(hint) = hint {
        message.push_str(&format!("{}{}\n", hint_mark(), escaped_lines(&hint)));
    }
    // If stderr is closed, there is no other output.
    let _ = stderr.write_all(message.as_bytes());
    match &error {
        error if error.is::<Usage>() => ExitCode::from(2),
        error if error.is::<Stopped>() => ExitCode::from(INTERRUPTED),
        _ => ExitCode::FAILURE,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hint::hinted;

    #[test]
    fn repeated_cause_is_printed_once() {
        let error = anyhow::anyhow!("no such file").context("gone: no such file").context("reading");
        let mut stderr_text = Vec::new();
        ended(Err(error), &mut stderr_text);
        assert_eq!(String::from_utf8(stderr_text).unwrap(), "error: reading: gone: no such file\n");
    }

    #[test]
    fn hint_is_separate_from_exit_code() {
        let error = anyhow::Error::from(Usage("no such flag".to_owned())).context("reading flags");
        let mut stderr_text = Vec::new();
        let code = ended(Err(hinted(error, "try\u{1b} --help")), &mut stderr_text);
        assert_eq!(
            String::from_utf8(stderr_text).unwrap(),
            "error: reading flags: no such flag\nhint: try\\u{1b} --help\n"
        );
        assert_eq!(code, ExitCode::from(2));
    }
}
