//! The image, as described by its Dockerfile.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::helm::{CHART, documents, root};
use crate::left_out::left_out;

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// The build context has all inputs of the binary, and no other files.
#[test]
fn image_build_copies_all_inputs() {
    let ignored = read(".dockerignore");
    assert!(ignored.lines().any(|line| line == "*"), "everything else stays outside");
    let sent = |name: &str| ignored.lines().any(|line| line.strip_prefix('!') == Some(name));
    // The members of the workspace, and the targets with a path in the manifest.
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

/// The image has only the binary, the user of the chart, and the list of components.
#[test]
fn image_holds_only_the_binary() {
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

/// The image layout has the digests of its parts, runs from its layer, and is the same twice.
#[test]
fn image_layout_runs_from_its_layer() {
    let directory = tempfile::TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name);
    // The binary of tests is several times larger than that of a release.
    let built = |name: &str| {
        let binary = format!("pointsman={}", env!("CARGO_BIN_EXE_pointsman"));
        let flags = ["--arch", "amd64", "--version", "0.1.0", "--revision", "abc", "--file", &binary, "--level"];
        let more = ["1", "--file", "LICENSE=LICENSE", path(name).to_str().unwrap()].map(str::to_owned);
        let output = Command::new(".ci/image").current_dir(root()).args(flags).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(path(name)).unwrap()
    };
    assert!(built("one.tar") == built("two.tar"), "two runs differ");
    let unpack = |archive: &str, flags: &str| {
        let status = Command::new("tar")
            .args(flags.split(' '))
            .args([archive, "-C", "."])
            .current_dir(directory.path())
            .status();
        assert!(status.unwrap().success(), "{archive}");
    };
    unpack("one.tar", "-xf");
    let part = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let file = format!("blobs/sha256/{digest}");
        let sum = Command::new("sha256sum").arg(path(&file)).output().unwrap().stdout;
        assert!(String::from_utf8(sum).unwrap().starts_with(digest), "{descriptor}");
        assert_eq!(fs::metadata(path(&file)).unwrap().len(), descriptor["size"].as_u64().unwrap());
        file
    };
    let json = |file: &str| -> Value { serde_json::from_slice(&fs::read(path(file)).unwrap()).unwrap() };
    assert_eq!(json("oci-layout")["imageLayoutVersion"], "1.0.0");
    let manifest = json(&part(&json("index.json")["manifests"][0]));
    let config = json(&part(&manifest["config"]));
    assert_eq!((&config["config"]["User"], &config["os"]), (&json!("65532:65532"), &json!("linux")));
    let entry = config["config"]["Entrypoint"][0].as_str().unwrap().trim_start_matches('/').to_owned();
    let layer = &manifest["layers"][0];
    assert_eq!(layer["mediaType"], "application/vnd.oci.image.layer.v1.tar+zstd");
    unpack(&part(layer), "--zstd -xf");
    let version = Command::new(path(&entry)).arg("--version").output().unwrap();
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("pointsman 0.1.0"));
}

/// The list has every linked crate and no build dependency, and is the same twice.
#[test]
fn image_component_list_is_complete() {
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

/// The flags of rustc and of the C compiler remove paths of the build machine from the program.
#[test]
fn image_uses_release_profile() {
    for flags in ["$(.ci/release --flags)", "$(.ci/release --cflags)"] {
        assert!(read("Dockerfile").contains(flags), "{flags}");
    }
    let flags = |which: &str| {
        let output = Command::new(".ci/release").arg(which).current_dir(root()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let tree = root().canonicalize().unwrap();
    assert!(flags("--flags").contains(&format!("--remap-path-prefix={}=/pointsman", tree.display())));
    assert!(flags("--cflags").contains(&format!("-ffile-prefix-map={}=/pointsman", tree.display())));
}

/// With `POINTSMAN_IMAGE`, the binary of the Dockerfile: on a read-only file system, as the user of the image, the
/// binary prints its version and serves.
#[test]
fn image_binary_is_static() {
    let Some(binary) = std::env::var_os("POINTSMAN_IMAGE").map(PathBuf::from) else {
        left_out("POINTSMAN_IMAGE names no static binary, none is tried: CONTRIBUTING.md says how it is built");
        return;
    };
    let megabytes = fs::metadata(&binary).unwrap().len() as f64 / 1e6;
    assert!(megabytes < LARGEST, "{megabytes:.1} MB");
    let dir = tempfile::tempdir().unwrap();
    fs::copy(&binary, dir.path().join("pointsman")).unwrap();
    let pair = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(dir.path().join("tls.crt"), pair.cert.pem()).unwrap();
    fs::write(dir.path().join("tls.key"), pair.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let alone = |args: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-user=65532", "--map-group=65532"])
            .arg(format!("--root={}", dir.path().display()));
        command.arg("/pointsman").args(args).env_clear().stdin(Stdio::null());
        command
    };
    let output = alone(&["--version"]).env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with(concat!("pointsman ", env!("CARGO_PKG_VERSION"))), "{said}{output:?}");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let admin = format!("--admin-listen=127.0.0.1:{port}");
    let files = ["--tls-cert-file=/tls.crt", "--tls-private-key-file=/tls.key"];
    let mut serve = alone(&["serve", "--listen=127.0.0.1:0", &admin, files[0], files[1]]);
    let _serving = Serving(serve.env("PATH", std::env::var_os("PATH").unwrap()).spawn().unwrap());
    let began = Instant::now();
    while !is_ready(port) {
        assert!(began.elapsed() < Duration::from_secs(20), "not ready");
        thread::sleep(Duration::from_millis(50));
    }
    println!("{megabytes:.1} MB, ready after {:.1?}", began.elapsed());
}

/// A server process, killed on drop.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_ready(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let asked = stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let mut answer = String::new();
    asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200 ")
}

/// Maximum size in megabytes: a node pulls the image before a Pod serves.
const LARGEST: f64 = 25.0;
