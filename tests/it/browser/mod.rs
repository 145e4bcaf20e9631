//! A page in a headless browser.

mod driver;

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

pub(crate) use self::driver::Tab;
use crate::left_out::left_out;

/// The path of Chromium. Without it, reports the skipped test.
fn chromium(url: &str) -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut browsers = std::env::split_paths(&paths).flat_map(|path| names.map(|name| path.join(name)));
    let found = browsers.find(|file| file.is_file());
    if found.is_none() {
        left_out(&format!("no Chromium: {} is not looked at", url.split('#').next().unwrap_or_default()));
    }
    found
}

/// Returns the DOM of a page in a headless Chromium, as HTML. Without Chromium, reports the skipped test and returns
/// `None`.
pub(crate) fn opened(url: &str) -> Option<String> {
    let browser = chromium(url)?;
    let profile = TempDir::new().unwrap();
    let opened = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .output()
        .unwrap();
    assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
    Some(String::from_utf8(opened.stdout).unwrap())
}

#[test]
fn a_page_without_anything_is_opened() {
    if let Some(shown) = opened("about:blank") {
        assert!(shown.contains("<body></body>"), "{shown}");
    }
}

#[test]
fn missing_browser_is_reported() {
    let this = std::env::current_exe().unwrap();
    let test = ["--exact", "browser::a_page_without_anything_is_opened"];
    let output = Command::new(this).args(test).env("PATH", "").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("no Chromium: about:blank is not looked at\n"), "{said}");
}
