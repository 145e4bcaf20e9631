//! Existing objects as samples for the laws.

use std::path::{Path, PathBuf};

use pointsman_core::definition::Kind;
use pointsman_core::laws::Value;

use crate::commands::input::{self, InputObject, documents};

/// An object and its place.
pub(super) struct Sample {
    pub(super) object: InputObject,
    value: Value,
    /// The file or directory, as given.
    pub(super) file: PathBuf,
}

/// The objects of files and directories, or their errors.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Sample>, Vec<String>> {
    let (mut samples, mut wrong) = (Vec::new(), Vec::new());
    for given in files {
        match of_file(given) {
            Ok(more) => samples.extend(more),
            Err(messages) => wrong.extend(messages),
        }
    }
    if wrong.is_empty() { Ok(samples) } else { Err(wrong) }
}

fn of_file(given: &Path) -> Result<Vec<Sample>, Vec<String>> {
    let to_messages = |error: anyhow::Error| vec![format!("{error:#}")];
    let files = match given.is_dir() {
        true => input::in_directory(given, false).map_err(to_messages)?,
        false => vec![given.to_path_buf()],
    };
    let mut samples = Vec::new();
    for file in files {
        let source = input::read(&file).map_err(to_messages)?;
        let objects: Vec<InputObject> =
            documents(&source)?.into_iter().flat_map(|document| document.into_objects()).collect();
        if objects.is_empty() {
            return Err(vec![source.no_object()]);
        }
        for object in objects {
            let value = Value::read(&object.text).map_err(|error| vec![format!("{}: {error}", object.label())])?;
            samples.push(Sample { object, value, file: given.to_path_buf() });
        }
    }
    Ok(samples)
}

/// The samples of a kind, or of the source kind of its conversion, with their values.
pub(super) fn of_kind<'s>(samples: &'s [Sample], kind: &Kind) -> (Vec<&'s Sample>, Vec<Value>) {
    let its = |sample: &&Sample| is_of(&sample.object, kind);
    samples.iter().filter(its).map(|sample| (sample, sample.value.clone())).unzip()
}

fn is_of(object: &InputObject, kind: &Kind) -> bool {
    let source = kind.becoming().map(|becoming| (becoming.source_kind(), becoming.source_group()));
    let its = (object.kind.as_str(), object.group());
    its == (kind.kind(), kind.group()) || source == Some(its)
}
