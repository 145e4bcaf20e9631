//! Files that tests write: `POINTSMAN_BLESS=1` writes them, and every other run compares.

use std::fs;
use std::path::Path;

/// Compares a file of the repository with the text that the program gives, and writes the file first if blessing.
#[track_caller]
pub(crate) fn agrees(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("POINTSMAN_BLESS").is_some() {
        assert!(std::env::var_os("CI").is_none(), "CI writes no files");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "{file} differs from the program: run this test with POINTSMAN_BLESS=1, and read the change"
    );
}
