//! A page as a browser shows it.

use std::process::Command;

use tempfile::TempDir;

/// What a Chromium without a window makes of a page, as HTML; `None`, and a line that says so, where there is none.
pub(crate) fn opened(url: &str) -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut browsers = std::env::split_paths(&paths).flat_map(|path| names.map(|name| path.join(name)));
    let Some(browser) = browsers.find(|file| file.is_file()) else {
        eprintln!("no Chromium: {} is not opened", url.split('#').next().unwrap_or_default());
        return None;
    };
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
