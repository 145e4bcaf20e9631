//! The image, as far as its file says what it will be.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

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
    assert!(last.contains("\nCOPY --from=build /pointsman.cdx.json /"), "nobody could say what is in it");
    let (global, _) = file.split_once("\nFROM ").unwrap();
    assert!(global.contains("\nARG BUILDKIT_SBOM_SCAN_CONTEXT=true"), "a scan of the binary names no crate");
    let values = documents(&read(&format!("{CHART}/values.yaml"))).remove(0);
    let user = &values["podSecurityContext"]["runAsUser"];
    assert!(last.contains(&format!("\nUSER {user}:{user}\n")), "{user}");
    let compiler = file.split("rust:").nth(1).and_then(|rest| rest.split('-').next()).unwrap();
    let minor = |version: &str| version.split('.').nth(1).unwrap().parse::<u32>().unwrap();
    assert!(minor(compiler) >= minor(env!("CARGO_PKG_RUST_VERSION")), "{compiler} is too old");
}

/// Every crate that is linked into the program is listed, and none that only builds it; twice the same.
#[test]
fn the_list_of_what_is_in_the_program_is_whole() {
    let list = || {
        let output = Command::new(".ci/sbom").current_dir(root()).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        output.stdout
    };
    let text = list();
    assert_eq!(text, list());
    let list: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    let named = |name: &str| list["components"].as_array().unwrap().iter().find(|crate_| crate_["name"] == name);
    for name in ["pointsman-core", "rustls", "aws-lc-sys", "hyper", "kube"] {
        let found = named(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(found["licenses"][0]["expression"].is_string(), "{name}");
        assert!(name.starts_with("pointsman") || found["hashes"][0]["content"].is_string(), "{name}");
    }
    for name in ["serde_derive", "cc", "ring", "tempfile"] {
        assert!(named(name).is_none(), "{name} is not in it");
    }
}

/// What rustc and the C compiler are told keeps the paths of the machine that builds out of the program.
#[test]
fn a_release_names_no_path_of_the_machine_that_builds_it() {
    assert!(read("Dockerfile").contains("$(.ci/release --flags)"));
    let flags = |which: &str| {
        let output = Command::new(".ci/release").arg(which).current_dir(root()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let tree = root().canonicalize().unwrap();
    assert!(flags("--flags").contains(&format!("--remap-path-prefix={}=/pointsman", tree.display())));
    assert!(flags("--cflags").contains(&format!("-ffile-prefix-map={}=/pointsman", tree.display())));
}
