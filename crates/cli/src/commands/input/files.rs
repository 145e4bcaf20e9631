//! The flag for files.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::documents::{Document, documents};
use super::input_object::InputObject;
use super::source::{Source, in_directory, read};
use crate::commands::output::{complain, talk};
use crate::commands::progress_line::ProgressLine;
use crate::commands::usage::Usage;
use crate::hint::hinted;

/// The error for a list without items: a check of no object must not succeed.
pub(crate) const EMPTY_LIST: &str = "cannot check the input: the list contains no object";

/// The source of objects.
#[derive(Args, Debug)]
pub(crate) struct FileArgs {
    /// File or directory with objects in YAML or JSON. Use - for stdin. In a directory, .yaml, .yml and .json files are
    /// read. Can be repeated. Defaults to stdin.
    #[arg(short, long = "filename", alias = "file", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Read subdirectories.
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
}

/// A document, and the result for each of its objects.
pub(crate) struct Decided<T> {
    pub(crate) document: Document,
    pub(crate) results: Vec<T>,
}

impl FileArgs {
    /// Reads all files. `example` is a command line that is suggested on a terminal.
    pub(crate) fn read(&self, example: &str) -> anyhow::Result<Vec<Source>> {
        let stdin = Path::new("-");
        let files = match self.files.as_slice() {
            [] if io::stdin().is_terminal() => {
                let hint = format!("name a file with -f, or pipe objects in, such as\n  {example}");
                return Err(hinted(Usage("no input".to_owned()), hint));
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
                for file in in_directory(&file, self.recursive)? {
                    sources.push(read(&file)?);
                }
            } else {
                sources.push(read(&file)?);
            }
        }
        Ok(sources)
    }

    /// Returns whether stdin is read.
    pub(crate) fn read_stdin(&self) -> bool {
        self.files.is_empty() || self.files.iter().any(|file| file == Path::new("-"))
    }

    /// Processes each object. `None` if one failed, which is already reported.
    pub(crate) fn decide<T>(
        &self,
        example: &str,
        decide: impl Fn(&InputObject) -> Result<T, String>,
    ) -> anyhow::Result<Option<Vec<Decided<T>>>> {
        let (mut decided, mut refused, mut all, mut empty) = (Vec::new(), 0, 0, false);
        let mut refuse = |message: &String| {
            refused += 1;
            complain(message);
        };
        let mut progress = ProgressLine::new();
        for source in self.read(example)? {
            let documents = match documents(&source) {
                Ok(documents) => documents,
                Err(messages) => {
                    all += messages.len();
                    messages.iter().for_each(&mut refuse);
                    continue;
                }
            };
            if documents.is_empty() {
                empty = true;
                complain(&source.no_object());
            }
            for document in documents {
                let results = document.objects().iter().enumerate().map(|(index, object)| {
                    progress.update(|| format!("{}: {} objects so far", source.name, all + index));
                    decide(object)
                });
                let results = results.filter_map(|result| result.map_err(|m| refuse(&m)).ok());
                let results = results.collect();
                all += document.objects().len();
                decided.push(Decided { document, results });
            }
        }
        if refused > 0 {
            talk(&format!("{refused} of {all} objects refused; no output was written"));
        } else if empty {
            talk("no output was written: the input contains no object");
        }
        Ok((refused == 0 && !empty).then_some(decided))
    }
}
