//! A file of recorded conversions.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use pointsman_core::definition::Problem;
use pointsman_core::definition::yaml::YamlError;

use crate::commands::json_tree::JsonTree;
use crate::commands::{input, yaml};

/// The `kind` of a file of cases.
pub(super) const KIND: &str = "ConversionCases";

/// A file of cases.
pub(super) struct CaseFile {
    pub(super) path: PathBuf,
    tree: JsonTree,
}

impl CaseFile {
    /// The files of cases in a directory.
    ///
    /// # Errors
    /// If the directory or a file of cases is not readable.
    pub(super) fn in_directory(directory: &Path) -> anyhow::Result<Vec<Self>> {
        let files = input::in_directory(directory, false)?;
        let is_cases = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains(KIND));
        files.into_iter().filter(is_cases).map(|file| Self::read(&file)).collect()
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("failed to read {name}"))?;
        let located = |bad: YamlError| Problem::new(&name.to_string(), bad.line, bad.message).to_string();
        let tree = yaml::read(&text).map_err(located).map_err(anyhow::Error::msg)?;
        let is = |key: &str, value: &str| tree.get(key).and_then(JsonTree::as_str) == Some(value);
        anyhow::ensure!(
            is("apiVersion", pointsman_core::definition::API_VERSION) && is("kind", KIND),
            "{name}: begin with `apiVersion: {}` and `kind: {KIND}`",
            pointsman_core::definition::API_VERSION
        );
        anyhow::ensure!(matches!(tree.get("cases"), Some(JsonTree::Array(_))), "{name}: the list \"cases\" is missing");
        Ok(Self { path: path.to_path_buf(), tree })
    }

    pub(super) fn cases(&self) -> &[JsonTree] {
        match self.tree.get("cases") {
            Some(JsonTree::Array(cases)) => cases,
            _ => &[],
        }
    }

    /// The file with these expected objects, one for each case.
    pub(super) fn recorded(&self, expected: Vec<Option<JsonTree>>) -> String {
        let cases = self.cases().iter().cloned().zip(expected).map(|(mut case, expected)| {
            if let Some(expected) = expected {
                case.set("expected", expected);
            }
            case
        });
        let mut tree = self.tree.clone();
        tree.set("cases", JsonTree::Array(cases.collect()));
        yaml::write(&tree)
    }
}

/// The objects of recorded conversions in a directory. Empty if there are none, or if a file is not readable.
pub(crate) fn recorded_objects(directory: &Path) -> Vec<JsonTree> {
    let files = CaseFile::in_directory(directory).unwrap_or_default();
    files.iter().flat_map(|file| file.cases()).filter_map(|case| case.get("object").cloned()).collect()
}
