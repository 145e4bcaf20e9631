use super::*;

/// Clears the screen, ends the line and forges another line.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\r\nerror: b";

fn hostile_object(api_version: &str) -> Vec<u8> {
    let hostile = Value::from(HOSTILE);
    let object = serde_json::json!({
        "apiVersion": api_version,
        "kind": "Materialize",
        "metadata": {
            "name": hostile,
            "namespace": hostile,
            "labels": { "materialize.cloud/controller-version": hostile },
            "annotations": { "materialize.cloud/force-rollout": hostile },
        },
        "spec": {
            "environmentdImageRef": hostile,
            "backendSecretName": hostile,
            "requestRollout": hostile,
            "podLabels": { HOSTILE: hostile },
            HOSTILE: hostile,
        },
    });
    object.to_string().into_bytes()
}

#[test]
fn object_names_are_escaped() {
    let good = hostile_object("materialize.cloud/v1alpha1");
    let unknown = hostile_object(&format!("materialize.cloud/{HOSTILE}"));
    let other = good.iter().map(|byte| char::from(*byte)).collect::<String>();
    let other = other.replace("\"environmentdImageRef\":\"a", "\"environmentdImageRef\":\"b");
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("other.json");
    std::fs::write(&file, other).unwrap();
    let file = file.to_str().unwrap();
    let versions = ["--controller-version", "2.17.0", "--default-version", "--enforcement", "audit"];
    for args in [
        &["convert", "--to", "v1alpha2", "--explain"][..],
        &["convert", "--to", HOSTILE],
        &["hash", "--explain"],
        &["hash", "diff", file, "-"],
        &["mutate"],
        &[&["mutate"], &versions[..3]].concat(),
        &["validate"],
        &[&["validate"], &versions[..]].concat(),
        &["kinds", "check", "-"],
        &["kinds", "show", HOSTILE],
    ] {
        for object in [&good, &unknown, &HOSTILE.as_bytes().to_vec()] {
            let answer = with_stdin(args, object);
            let said = answer.stdout + &answer.stderr;
            assert!(!said.is_empty(), "{args:?}");
            let obeyed = |c: char| c.is_control() && c != '\n';
            assert!(!said.contains(obeyed), "{args:?}: {said:?}");
            assert!(!said.contains("\nerror: b"), "{args:?}: {said}");
        }
    }
}

/// Users also see output for programs, and shells split file names into words.
#[test]
fn every_format_escapes_control_characters() {
    const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{7f}";
    let object = serde_json::json!({
        "apiVersion": "materialize.cloud/v1alpha1",
        "kind": "Materialize",
        "metadata": { "name": HOSTILE, "annotations": { HOSTILE: HOSTILE } },
        "spec": { "environmentdImageRef": HOSTILE, "backendSecretName": "s", "podLabels": { HOSTILE: HOSTILE } },
    });
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join(format!("{HOSTILE}.json"));
    std::fs::write(&file, object.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let seen = |args: &[&str]| {
        let answer = pointsman(args);
        let said = answer.stdout + &answer.stderr;
        assert!(!said.is_empty(), "{args:?}");
        let obeyed =
            |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!said.contains(obeyed), "{args:?}: {said:?}");
        said
    };
    for command in [
        &["convert", "--to=v1alpha2"][..],
        &["hash", "--explain"],
        &["mutate"],
        &["mutate", "--whole"],
        &["validate"],
        &["plan"],
    ] {
        for form in ["json", "yaml"].into_iter().filter(|form| command[0] != "plan" || *form == "json") {
            seen(&[command, &["-f", file, "-o", form]].concat());
        }
    }
    // JSON output keeps the value.
    let json = json(&pointsman(&["convert", "--to=v1alpha2", "-f", file, "-o", "json"]).stdout);
    assert_eq!(json["metadata"]["name"], HOSTILE);
    let yaml = yaml(&pointsman(&["convert", "--to=v1alpha2", "-f", file]).stdout);
    assert_eq!(yaml["metadata"]["annotations"][HOSTILE], HOSTILE);
    for args in [&["plan", file, file][..], &["convert", file], &[HOSTILE], &["convert", "--to"], &["crd", HOSTILE]] {
        seen(args);
    }
}

/// On a terminal only, long commands show progress, and remove it at the end.
#[test]
fn long_work_shows_progress() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/core/kinds/materialize/materialize.yaml");
    let args = ["kinds", "check", file.to_str().unwrap(), "--try=1000000", "--time=2s"];
    let said = "trial, ";
    assert!(!pointsman(&args).stderr.contains(said));
    // A separate terminal, from util-linux.
    let command = [&[env!("CARGO_BIN_EXE_pointsman")], &args[..]].concat().join(" ");
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let (_, rest) = shown.rsplit_once(said).expect("a line that says how far it is");
    assert!(rest.contains("\r\u{1b}[K") && shown.matches(said).count() > 2, "{shown:?}");
}
