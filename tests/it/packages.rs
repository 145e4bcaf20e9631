//! The manifests of package managers for the archives of a release.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A directory with archives and their checksums.
fn release(archives: &[&str]) -> TempDir {
    let dir = TempDir::new().unwrap();
    let sums: String = archives.iter().enumerate().map(|(index, name)| format!("{index:064x}  {name}\n")).collect();
    fs::write(dir.path().join("SHA256SUMS"), sums).unwrap();
    dir
}

fn packages(dir: &TempDir) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/packages");
    Command::new("python3").arg(script).arg(dir.path()).arg("https://example.com/v0.1.0/").output().unwrap()
}

#[test]
fn manifests_name_each_archive_with_its_checksum() {
    let archives = [
        "pointsman-0.1.0-linux-amd64.tar.gz",
        "pointsman-0.1.0-macos-arm64.tar.gz",
        "pointsman-0.1.0-linux-amd64.oci.tar",
        "pointsman-chart-0.1.0.tgz",
    ];
    let dir = release(&archives);
    let output = packages(&dir);
    assert!(output.status.success(), "{output:?}");
    let krew: Value =
        serde_saphyr::from_str(&fs::read_to_string(dir.path().join("pointsman.krew.yaml")).unwrap()).unwrap();
    assert_eq!(krew["spec"]["version"], "v0.1.0");
    let platforms = krew["spec"]["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), 2, "{krew}");
    assert_eq!(platforms[1]["selector"]["matchLabels"]["os"], "darwin");
    let formula = fs::read_to_string(dir.path().join("pointsman.rb")).unwrap();
    for (platform, index) in platforms.iter().zip(0..) {
        let (url, sum) = (format!("https://example.com/v0.1.0/{}", archives[index]), format!("{index:064x}"));
        assert_eq!((&platform["uri"], &platform["sha256"]), (&url.as_str().into(), &sum.as_str().into()));
        assert!(formula.contains(&format!("url \"{url}\"\n      sha256 \"{sum}\"\n")), "{formula}");
    }
}

#[test]
fn archives_of_two_versions_are_refused() {
    for archives in [&["pointsman-0.1.0-linux-amd64.tar.gz", "pointsman-0.2.0-linux-arm64.tar.gz"][..], &[]] {
        let output = packages(&release(archives));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("archives of exactly one version are needed"), "{said}");
    }
}
