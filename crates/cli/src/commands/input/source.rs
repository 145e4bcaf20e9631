//! Texts from files, directories and stdin.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A text, and its name in messages.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    /// The message for a source without an object.
    pub(crate) fn no_object(&self) -> String {
        format!("{}: contains no object", self.name)
    }
}

/// The YAML and JSON files of a directory, sorted by name. Skips subdirectories unless `recursive`, and always skips
/// hidden files, in which a mounted ConfigMap keeps its versions.
pub(crate) fn in_directory(directory: &Path, recursive: bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(directory, recursive, &mut files)?;
    let note = if recursive { "" } else { " (its subdirectories are not read)" };
    anyhow::ensure!(!files.is_empty(), "{}: no .yaml, .yml or .json file in this directory{note}", directory.display());
    files.sort();
    Ok(files)
}

fn collect(directory: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let failed = || format!("failed to read {}", directory.display());
    for entry in fs::read_dir(directory).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let path = entry.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // Links to directories are not followed, because they may form a cycle.
        if recursive && !hidden && entry.file_type().with_context(failed)?.is_dir() {
            collect(&path, recursive, files)?;
        } else if is_document(&path) && !hidden && fs::metadata(&path).map_or(true, |found| found.is_file()) {
            // A broken link is kept, so that reading it reports an error.
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether a file has the extension of a document.
pub(crate) fn is_document(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|ours| extension == *ours))
}

/// Reads a file, or stdin for `-`.
pub(crate) fn read(file: &Path) -> anyhow::Result<Source> {
    let (name, bytes) = if file == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).context("failed to read stdin")?;
        ("stdin".to_owned(), bytes)
    } else {
        let bytes = fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
        (file.display().to_string(), bytes)
    };
    source(name, bytes)
}

/// Reads the file of a definition.
pub(crate) fn read_definition(file: &Path) -> anyhow::Result<Source> {
    let bytes = definition_bytes(file).with_context(|| format!("failed to read {}", file.display()))?;
    source(file.display().to_string(), bytes)
}

/// Reads the CRD file of a definition.
pub(crate) fn read_crd(file: &Path) -> io::Result<String> {
    let text = String::from_utf8(definition_bytes(file)?);
    text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Bounds the size, because the server keeps the file in memory and reads it again when it changes.
fn definition_bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(LARGEST_DEFINITION + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_DEFINITION {
        let why = format!(
            "longer than {} MiB, the limit for definitions and CRDs: move other files to another directory",
            LARGEST_DEFINITION >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

fn source(name: String, bytes: Vec<u8>) -> anyhow::Result<Source> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        anyhow::anyhow!("{name}:{line}: not UTF-8: save the file as UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Source { name, text })
}

/// The maximum size in bytes. An API server accepts bodies of 3 MiB (`MaxRequestBodyBytes`), and etcd half of that. As
/// YAML with comments, a CRD is a third longer than as JSON.
const LARGEST_DEFINITION: u64 = 4 << 20;
