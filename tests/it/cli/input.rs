use std::fs;

use tempfile::TempDir;

use super::*;

#[track_caller]
fn refused(stdin: &[u8], expected: &str) {
    let answer = with_stdin(&["convert", "--to", "v1alpha2"], stdin).refusal(1);
    assert_eq!(answer.lines().next().unwrap_or_default(), expected);
}

#[test]
fn empty_input_names_its_source() {
    refused(b"", "error: stdin: contains no object");
    refused(b"---\n# nothing\n---\n", "error: stdin: contains no object");
    refused(b"null\n", "error: stdin: contains no object");
    refused(b"hello\n", "error: stdin: not an object: a Kubernetes object is a map with apiVersion and kind");
    refused(b"a: \xff\n", "error: stdin:1: not UTF-8: save the file as UTF-8 text");
    refused(b"a: 1\n---\n# two\nb: [\n", "error: stdin:4: document 2: unclosed bracket '['");
    refused(
        b"{\"a\": 1} {\"b\": ",
        "error: stdin: document 2: not JSON: EOF while parsing a value at line 1 column 15",
    );
    // Input that is neither JSON nor looks like JSON gets the error of the YAML reader.
    refused(b"{apiVersion: v1, kind: A, kind: B}", "error: stdin:1: document 1: the key \"kind\" occurs twice");
    refused(
        b"{apiVersion: v1, kind: List, items: 5}",
        "error: stdin: items of a List must be a list: begin each object with `- `",
    );
    refused(
        b"kind: A\nmetadata: {name: x}\n",
        "error: stdin: no apiVersion (metadata.name: x): every object needs both apiVersion and kind",
    );
    refused(
        b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- {}\n",
        "error: stdin, item 2: no apiVersion and no kind: every object needs both apiVersion and kind",
    );
    refused(
        b"apiVersion: materialize.cloud/v3\nkind: Materialize\nmetadata: {namespace: a, name: b}\n",
        "error: stdin: Materialize a/b: apiVersion: \"materialize.cloud/v3\" is no version of Materialize; known versions: \
         materialize.cloud/v1alpha1, materialize.cloud/v1alpha2",
    );
    refused(
        b"apiVersion: materialize.cloud/v1alpha1\nkind: Materialize\nspec: 5\n",
        "error: stdin: Materialize (no name): spec: must be an object, not a number",
    );
}

#[test]
fn empty_input_differs_from_refusal() {
    for command in [&["convert", "--to", "v1alpha2"][..], &["hash"]] {
        assert_eq!(
            with_stdin(command, b"---\n").refusal(1),
            "error: stdin: contains no object\nno output was written: the input contains no object\n"
        );
    }
    for command in ["mutate", "validate"] {
        assert_eq!(with_stdin(&[command], b"").refusal(1), "error: stdin: contains no object\n");
    }
}

#[test]
fn every_refused_object_is_named() {
    let objects = b"apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n";
    let answer = with_stdin(&["convert", "--to", "v1alpha2"], objects).refusal(1);
    assert!(answer.contains("stdin: document 1: A (no name): no definition of v1 A;"), "{answer}");
    assert!(answer.contains("stdin: document 2: B b: no definition of v1 B;"), "{answer}");
    assert!(answer.ends_with("2 of 2 objects refused; no output was written\n"), "{answer}");
}

#[test]
fn misspelled_name_gets_suggestion() {
    let object =
        |kind: &str, group: &str| format!("apiVersion: {group}/v1alpha1\nkind: {kind}\nmetadata: {{name: a}}\n");
    for (kind, group) in [("Materialise", "materialize.cloud"), ("Materialize", "materialise.cloud")] {
        let answer = with_stdin(&["convert", "--to", "v1alpha2"], object(kind, group).as_bytes()).refusal(1);
        assert!(answer.contains("did you mean \"Materialize.materialize.cloud\"?"), "{answer}");
    }
    let storage = ["crd", "--kind", "materialize", "--no-conversion", "--storage", "v1alhpa2"];
    let answer = pointsman(&storage).refusal(2);
    assert!(answer.contains("did you mean \"v1alpha2\"?"), "{answer}");
}

/// The message names the context and the known contexts, without a call to a cluster.
#[test]
fn unknown_context_differs_from_file() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("config");
    let kubeconfig = "{apiVersion: v1, kind: Config, contexts: [{name: staging, context: {cluster: a}}, \
                      {name: production, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}";
    fs::write(&file, kubeconfig).unwrap();
    let path = file.to_str().unwrap();
    let said = |flags: &[&str], variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
        command.arg("status").args(flags).env_clear().env("KUBECONFIG", variable);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let meant = "error: no context \"prodcution\" in the kubeconfig, did you mean \"production\"?; known contexts: staging, production\n";
    for told in [said(&["--context=prodcution"], path), said(&["--context=prodcution", "--kubeconfig", path], "")] {
        assert!(told.starts_with(meant), "{told}");
    }
    for told in [said(&["--context=staging"], "/gone"), said(&["--context=staging", "--kubeconfig=/gone"], path)] {
        let unread = "the kubeconfig /gone cannot be read: No such file or directory (os error 2)";
        assert_eq!(told, format!("error: {unread}\nhint: check --kubeconfig, or KUBECONFIG\n"));
    }
}

#[test]
fn missing_input_files_are_named() {
    let answer = pointsman(&["convert", "--to", "v1alpha2", "-f", "gone.yaml"]).refusal(1);
    assert_eq!(answer, "error: failed to read gone.yaml: No such file or directory (os error 2)\n");
    let empty = TempDir::new().unwrap();
    let path = empty.path().to_str().unwrap();
    let answer = pointsman(&["convert", "--to", "v1alpha2", "-f", path]).refusal(1);
    assert_eq!(
        answer,
        format!("error: {path}: no .yaml, .yml or .json file in this directory (its subdirectories are not read)\n")
    );
    let answer = pointsman(&["convert", "--to", "v1alpha2", "-R", "-f", path]).refusal(1);
    assert_eq!(answer, format!("error: {path}: no .yaml, .yml or .json file in this directory\n"));
    let answer = pointsman(&["convert", "--to", "v1alpha2", "-f", "-", "-f", "-"]).refusal(2);
    assert_eq!(answer, "error: -f -: stdin can be read once only\n");
}

#[test]
fn files_from_windows_are_read() {
    let object = read("manifests/examples/v1alpha2.yaml");
    let expected = pointsman(&["hash", "-f", "manifests/examples/v1alpha2.yaml"]).data();
    for text in [
        format!("\u{feff}{object}"),
        object.replace('\n', "\r\n"),
        format!("--- # one\n{object}...\n"),
        format!("\n\n---\n{object}---\n---\n# nothing\n"),
    ] {
        assert_eq!(with_stdin(&["hash"], text.as_bytes()).data(), expected, "{text}");
    }
}

#[test]
fn hidden_and_other_files_are_skipped() {
    let directory = TempDir::new().unwrap();
    let object = read("manifests/examples/v1alpha2.yaml");
    for (name, text) in
        [("a.yaml", object.as_str()), (".b.yaml", "nonsense: ["), ("README.md", "# hello"), ("c.yml", object.as_str())]
    {
        fs::write(directory.path().join(name), text).unwrap();
    }
    fs::create_dir(directory.path().join("d.yaml")).unwrap();
    let hashes = pointsman(&["hash", "-f", directory.path().to_str().unwrap()]).data();
    assert_eq!(hashes.lines().count(), 2);
}

#[test]
fn large_files_are_read() {
    let object = read("tests/data/fixtures/every-optional-field.yaml");
    let count = 500;
    let text = vec![object; count].join("---\n");
    let hashes = with_stdin(&["hash"], text.as_bytes()).data();
    assert_eq!(hashes.lines().count(), count);
}

/// A link without a target is an error.
#[test]
fn dangling_link_is_reported() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("a.yaml"), read("manifests/examples/v1alpha2.yaml")).unwrap();
    std::os::unix::fs::symlink("gone.yaml", directory.path().join("b.yaml")).unwrap();
    let path = directory.path().to_str().unwrap();
    for args in [&["hash", "-f", path][..], &["hash", "-R", "-f", path], &["kinds", "--kinds", path]] {
        let refusal = pointsman(args).refusal(1);
        assert!(refusal.contains("failed to read ") && refusal.contains("/b.yaml: No such file"), "{refusal}");
    }
}

#[test]
fn full_disk_is_reported() {
    for args in [&["kinds"][..], &["crd", "--no-conversion"], &["--help"], &["--version"], &["man"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_pointsman")).args(args).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.starts_with("error: failed to write to stdout: No space left on device"), "{args:?}: {said}");
    }
}

#[test]
fn broken_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(["crd", "--no-conversion"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

/// YAML 1.1 and kubectl read `n` as false, and no API server accepts a boolean as a namespace.
#[test]
fn ambiguous_yaml_name_is_refused() {
    for (text, told) in [
        ("{name: a, namespace: n}", "metadata.namespace is false and must be a string"),
        ("{name: 7}", "metadata.name is 7 and must be a string"),
        ("{generateName: yes}", "metadata.generateName is true and must be a string"),
    ] {
        let object =
            format!("apiVersion: materialize.cloud/v1alpha2\nkind: Materialize\nmetadata: {text}\nspec: {{}}\n");
        let error = with_stdin(&["convert", "--to", "v1alpha1"], object.as_bytes()).refusal(1);
        assert!(error.contains(told), "{error}");
    }
    let quoted =
        "apiVersion: materialize.cloud/v1alpha2\nkind: Materialize\nmetadata: {name: a, namespace: \"n\"}\nspec: {}\n";
    let converted = with_stdin(&["convert", "--to", "v1alpha1"], quoted.as_bytes()).data_of_invalid();
    assert!(converted.contains("namespace: \"n\""));
}

#[test]
fn lone_surrogate_is_located_in_file() {
    let object = "{\"apiVersion\":\"materialize.cloud/v1alpha1\",\"kind\":\"Materialize\",\n\"metadata\":{\"name\":\"a\"},\n\
                  \"spec\":{\"x\":\"\\ud800\"}}";
    let refusal = with_stdin(&["convert", "--to", "v1alpha2"], object.as_bytes()).refusal(1);
    assert!(refusal.contains("at line 3 column"), "{refusal}");
}
