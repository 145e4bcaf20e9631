//! Objects from files, directories and stdin: JSON or YAML, one or several documents, lists or not.

mod documents;

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

pub(crate) use documents::{Document, Object, documents, values};

use super::Usage;

/// Where objects come from.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// File or directory with objects in YAML or JSON; - is stdin. Of a directory, its .yaml, .yml and .json files
    /// are read. May be given several times. Without it, stdin is read.
    #[arg(short, long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// A text, and what messages call it.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl FileArgs {
    /// Reads all of them. `example` is a command line that shows a person at a terminal how it is meant.
    pub(crate) fn read(&self, example: &str) -> anyhow::Result<Vec<Source>> {
        let stdin = Path::new("-");
        let files = match self.files.as_slice() {
            [] if io::stdin().is_terminal() => {
                return Err(Usage(format!(
                    "nothing to read: name a file with -f, or pipe objects in, such as\n  {example}"
                ))
                .into());
            }
            [] => vec![stdin.to_path_buf()],
            files => files.to_vec(),
        };
        if files.iter().filter(|file| *file == stdin).count() > 1 {
            return Err(Usage("-f -: stdin can be read once only".to_owned()).into());
        }
        let mut sources = Vec::new();
        for file in files {
            if file.is_dir() {
                for file in in_directory(&file)? {
                    sources.push(read(&file)?);
                }
            } else {
                sources.push(read(&file)?);
            }
        }
        Ok(sources)
    }
}

/// The YAML and JSON files of a directory, in the order of their names. Directories in it are passed over, and hidden
/// files, which is what a mounted ConfigMap keeps its versions in.
pub(crate) fn in_directory(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("failed to read {}", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("failed to read {}", directory.display()))?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let ours = path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|ours| extension == *ours));
        if ours && !hidden && path.is_file() {
            files.push(path);
        }
    }
    anyhow::ensure!(
        !files.is_empty(),
        "{}: no .yaml, .yml or .json file in this directory",
        directory.display()
    );
    files.sort();
    Ok(files)
}

/// Reads one file, or stdin where it is `-`.
pub(crate) fn read(file: &Path) -> anyhow::Result<Source> {
    let (name, bytes) = if file == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).context("failed to read stdin")?;
        ("stdin".to_owned(), bytes)
    } else {
        let bytes = fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
        (file.display().to_string(), bytes)
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        anyhow::anyhow!("{name}:{line}: not UTF-8: save the file as UTF-8 text")
    })?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Source { name, text })
}
