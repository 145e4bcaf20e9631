//! The helm binary, if available.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::left_out::left_out;

/// The directory of the chart.
pub(super) const CHART: &str = "manifests/chart";

/// A helm binary: from `HELM`, from tests/cluster/assets.sh, or from PATH.
pub(super) struct Helm(PathBuf);

impl Helm {
    /// Without helm, reports the skipped test and returns `None`. With `CI` set, a missing helm fails.
    pub(super) fn find() -> Option<Self> {
        let named = std::env::var_os("HELM").map(PathBuf::from);
        let found = named.or_else(built).or_else(on_the_path).map(Self);
        if found.is_none() {
            assert!(std::env::var_os("CI").is_none(), "no helm: tests/cluster/assets.sh helm builds one");
            left_out("no helm: the chart is not rendered; tests/cluster/assets.sh helm builds one");
        }
        found
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn run(&self, args: &[&str]) -> Output {
        Command::new(&self.0).args(args).current_dir(root()).stdin(Stdio::null()).output().unwrap()
    }

    /// The rendered documents of a release, with additional flags.
    pub(super) fn template(&self, release: &str, more: &[&str]) -> Result<Vec<Value>, String> {
        self.render(CHART, release, more)
    }

    pub(super) fn render(&self, chart: &str, release: &str, more: &[&str]) -> Result<Vec<Value>, String> {
        let args = [&["template", release, chart, "--namespace", "pointsman-system"], more].concat();
        let output = self.run(&args);
        if output.status.success() {
            return Ok(documents(&String::from_utf8(output.stdout).unwrap()));
        }
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The documents of a file.
pub(super) fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The values files with the options of the chart.
pub(super) fn values_files() -> Vec<String> {
    let folder = format!("{CHART}/ci");
    let files = root().join(&folder).read_dir().unwrap();
    let mut files: Vec<String> =
        files.map(|file| format!("{folder}/{}", file.unwrap().file_name().to_str().unwrap())).collect();
    files.sort();
    assert!(files.len() > 3, "{files:?}");
    files
}

fn built() -> Option<PathBuf> {
    let output = Command::new("bash").args(["tests/cluster/assets.sh", "--built", "helm"]).current_dir(root()).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(Path::new(String::from_utf8(output.stdout).unwrap().trim()).join("helm"))
}

fn on_the_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("helm")).find(|helm| helm.is_file())
}
