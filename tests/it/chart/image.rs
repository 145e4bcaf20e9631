//! The image, as far as its file says what it will be.

use std::fs;

use super::helm::{CHART, documents, root};

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// What a build of the binary reads is sent to the builder, and no more.
#[test]
fn the_image_is_built_from_all_that_a_build_reads() {
    let ignored = read(".dockerignore");
    assert!(ignored.lines().any(|line| line == "*"), "everything else stays outside");
    let sent = |name: &str| ignored.lines().any(|line| line.strip_prefix('!') == Some(name));
    // The members of the workspace, and the targets that its manifest names by path.
    let manifest = read("Cargo.toml");
    let quoted = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<String>>();
    let paths = manifest.lines().filter(|line| line.starts_with("members = ") || line.starts_with("path = "));
    for path in paths.flat_map(quoted) {
        let top = path.split('/').next().unwrap();
        assert!(sent(top), "{path} is not sent to the builder");
    }
    for name in ["Cargo.toml", "Cargo.lock", "LICENSE", "src"] {
        assert!(sent(name), "{name} is not sent to the builder");
    }
}

/// Nothing but the binary, by a user that the chart names as well, with what it was made of.
#[test]
fn the_image_is_a_binary_on_nothing() {
    let file = read("Dockerfile");
    let (_, last) = file.rsplit_once("\nFROM ").unwrap();
    assert!(last.starts_with("scratch\n"), "{last}");
    assert!(!last.contains("\nRUN "), "there is no shell to run");
    assert!(last.contains("\nENTRYPOINT [\"/pointsman\"]"), "{last}");
    for label in ["version=\"$VERSION\"", "revision=\"$REVISION\"", "licenses=\"Apache-2.0\""] {
        assert!(last.contains(&format!("org.opencontainers.image.{label}")), "{label}");
    }
    let (global, _) = file.split_once("\nFROM ").unwrap();
    assert!(global.contains("\nARG BUILDKIT_SBOM_SCAN_CONTEXT=true"), "a scan of the binary names no crate");
    let values = documents(&read(&format!("{CHART}/values.yaml"))).remove(0);
    let user = &values["podSecurityContext"]["runAsUser"];
    assert!(last.contains(&format!("\nUSER {user}:{user}\n")), "{user}");
    let compiler = file.split("rust:").nth(1).and_then(|rest| rest.split('-').next()).unwrap();
    let minor = |version: &str| version.split('.').nth(1).unwrap().parse::<u32>().unwrap();
    assert!(minor(compiler) >= minor(env!("CARGO_PKG_RUST_VERSION")), "{compiler} is too old");
}
