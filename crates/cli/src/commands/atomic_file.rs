//! Files that are written as a whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

/// Writes a file atomically. Writes directly to other file types, such as a pipe.
pub(crate) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("failed to write {}", file.display());
    if fs::metadata(file).is_ok_and(|it| !it.is_file()) {
        return fs::write(file, text).with_context(failed);
    }
    // For a link, replaces its target.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).with_context(failed)?;
    let temporary = file.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = fill(&temporary, text).and_then(|()| fs::rename(&temporary, &file));
    if written.is_err() {
        // The file may not exist.
        let _ = fs::remove_file(&temporary);
    }
    written.with_context(failed)
}

fn fill(file: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create_new(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
