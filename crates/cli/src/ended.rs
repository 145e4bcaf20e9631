//! What a process says last, and the code it leaves with.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::commands::Usage;
use crate::terminal::{error_mark, escaped_lines};

/// Says on `stderr` why nothing came of it: exit code 1, or 2 where the flags are wrong.
pub fn ended(result: anyhow::Result<ExitCode>, stderr: &mut dyn Write) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        // Whoever read our output has enough of it, as `head` does.
        Err(error) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    let message = format!("{}{}\n", error_mark(), escaped_lines(&format!("{error:#}")));
    // Nobody is left to tell where stderr is closed.
    let _ = stderr.write_all(message.as_bytes());
    if error.is::<Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
