use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;
use crate::commands::HELPS;
use crate::left_out::left_out;

const COMMANDS: [&[&str]; 19] = [
    &["completion"],
    &["convert"],
    &["crd"],
    &["hash"],
    &["hash", "diff"],
    &["kinds"],
    &["kinds", "check"],
    &["kinds", "draft"],
    &["kinds", "schema"],
    &["man"],
    &["mutate"],
    &["plan"],
    &["validate"],
    &["webhooks"],
    &["webhooks", "doctor"],
    &["webhooks", "overlay"],
    &["webhooks", "policy"],
    &["webhooks", "retire"],
    &["webhooks", "mutations"],
];

/// The example commands of a help text. A continuation has a deeper indentation.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let after = help.split_once("Examples:\n").map(|(_, after)| after);
    for line in after.unwrap_or_default().lines() {
        let Some(line) = line.strip_prefix("    ") else {
            continue;
        };
        assert!(line.len() < 76, "does not fit a terminal: {line}");
        match (line.strip_prefix("  "), examples.last_mut()) {
            (Some(more), Some(last)) => *last = format!("{last}\n{more}"),
            _ => examples.push(line.to_owned()),
        }
    }
    examples
}

#[test]
fn every_example_runs() {
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    fs::create_dir_all(here.join("examples/kinds")).unwrap();
    for name in ["crates", "manifests", "tests", "examples/kinds/elasticsearch", "examples/kinds/mattermost"] {
        symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), here.join(name)).unwrap();
    }
    fs::create_dir_all(here.join("bin")).unwrap();
    fs::create_dir_all(here.join("certs/dev")).unwrap();
    fs::create_dir_all(here.join(".config/fish/completions")).unwrap();
    for name in ["certs/ca.crt", "certs/dev/ca.crt"] {
        fs::write(here.join(name), crd::certificate(true).0).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_pointsman"), here.join("bin/pointsman")).unwrap();
    let kubectl = here.join("bin/kubectl");
    fs::write(
        &kubectl,
        "#!/bin/sh\n\
         case \"$1 $2\" in\n\
         'get mutatingwebhookconfiguration') pointsman webhooks --kind materialize --service n/s --cert-manager n/c \\\n\
         --controller-version 2.17.0 --served 2.17.0 --default 2.17.0;;\n\
         'get crd') cat tests/data/kinds/widgets.crd.yaml;;\n\
         get\\ *) cat manifests/examples/v1alpha2.yaml;;\n\
         apply*) cat > /dev/null;;\n\
         esac\n",
    )
    .unwrap();
    // A machine without manual pages has no `man`.
    let man = here.join("bin/man");
    fs::write(&man, "#!/bin/sh\nexec cat > /dev/null\n").unwrap();
    for program in [kubectl, man] {
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", here.join("bin").display(), std::env::var("PATH").unwrap());

    for command in COMMANDS {
        let help = pointsman(&[command, &["--help"]].concat()).data();
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{help}");
        for example in examples {
            let output = Command::new("bash")
                .args(["-o", "pipefail", "-c", &example])
                .current_dir(here)
                .env("PATH", &path)
                .env("HOME", here)
                .output()
                .unwrap();
            assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Commands that need a cluster run with `--help` at the end: an unknown flag is still refused.
#[test]
fn help_examples_use_existing_flags() {
    let here = TempDir::new().unwrap();
    fs::create_dir_all(here.path().join(".config/fish/completions")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_pointsman")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for (command, help) in HELPS.iter().filter(|(command, _)| !command.is_empty()) {
        let examples = examples(help);
        assert!(!examples.is_empty(), "{command:?} shows no example");
        for example in examples {
            let whole = example.replace("\\\n", " ");
            let calls = whole.lines().flat_map(|line| line.split(['|', ';'])).map(str::trim);
            for call in calls.filter(|call| call.starts_with("pointsman ")) {
                let mut bash = Command::new("bash");
                bash.args(["-c", &format!("{call} --help")])
                    .current_dir(&here)
                    .env("PATH", &path)
                    .env("HOME", here.path());
                let output = bash.stdin(Stdio::null()).output().unwrap();
                assert!(output.status.success(), "{call}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}

/// One line for each exit code; continuations are aligned below the text.
#[test]
fn exit_code_table_fits_terminal() {
    let mut tables = 0;
    for command in HELPS.keys() {
        let help = Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .args(command)
            .arg("--help")
            .env("COLUMNS", "80")
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        // The usage line can have any length.
        for line in help.lines().filter(|line| !line.starts_with("Usage: ")) {
            assert!(line.chars().count() <= 80, "{command:?}: {line}");
        }
        let Some((_, codes)) = help.split_once("Exit codes:\n") else { continue };
        tables += 1;
        let width = codes.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        for line in codes.lines() {
            let (code, text) = line.split_at_checked(width).unwrap_or((line, ""));
            let is_code = code.trim().is_empty() || code.trim().parse::<u8>().is_ok();
            let is_text = text.starts_with(|c: char| c.is_ascii_alphabetic());
            assert!(code.ends_with("  ") && is_code && is_text, "{command:?}: {line:?}");
        }
    }
    assert!(tables > 20, "only {tables} commands say what they end with");
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = pointsman(&["completion", shell]).data();
        assert!(script.contains("POINTSMAN_COMPLETE"), "{shell}");
    }
    assert!(pointsman(&["completion", "tcsh"]).refusal(2).contains("possible values"));
}

/// Through bash: the script passes the words, and the program returns the candidates.
#[test]
fn bash_completes_kinds_and_versions() {
    let here = TempDir::new().unwrap();
    for name in ["widgets.yaml", "widgets.crt", "other"] {
        fs::write(here.path().join(name), "").unwrap();
    }
    let kinds = format!("{}/tests/data/kinds", env!("CARGO_MANIFEST_DIR"));
    let home = format!("{}/tests/data", env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_BIN_EXE_pointsman")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let completed = |line: &str| {
        let script = format!(
            "source <(pointsman completion bash); COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             COMP_TYPE=9; _clap_complete_pointsman pointsman \"${{COMP_WORDS[COMP_CWORD]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash")
            .args(["-c", &script])
            .current_dir(&here)
            .env("PATH", &path)
            .env("HOME", &home)
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().replace('\n', " ")
    };
    for (line, words) in [
        ("pointsman migr", "migrate"),
        ("pointsman plan mat", "materialize"),
        ("pointsman convert --to v1a", "v1alpha1 v1alpha2"),
        ("pointsman migrate materialize --to v", "v1alpha1 v1alpha2"),
        (&format!("pointsman plan --kinds {kinds} --no-built-in wid"), "widget"),
        (&format!("pointsman migrate --kinds={kinds} widget --to v"), "v1 v2"),
        ("pointsman kinds show mat", "materialize"),
        // As bash splits the words, before expansion.
        (&format!("pointsman migrate --kinds = {kinds} widget --to v"), "v1 v2"),
        ("pointsman migrate --kinds '~/kinds' widget --to v", "v1 v2"),
        ("pointsman migrate --kinds '\"$HOME/kinds\"' widget --to v", "v1 v2"),
        ("pointsman convert -f w", "widgets.yaml"),
        ("pointsman convert --kinds gone --to v1a", "v1alpha1 v1alpha2"),
    ] {
        assert_eq!(completed(line), words, "{line}");
    }
}

/// As kubectl calls a plugin and reads its completions: candidates with descriptions, then a number.
#[test]
fn kubectl_finds_it_by_its_names() {
    let here = TempDir::new().unwrap();
    fs::write(here.path().join("widgets.yaml"), "").unwrap();
    fs::create_dir(here.path().join("within")).unwrap();
    let called = |name: &str, args: &[&str]| {
        let link = here.path().join(name);
        let _ = symlink(env!("CARGO_BIN_EXE_pointsman"), &link);
        let output = Command::new(link).args(args).current_dir(&here).env_clear().output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let plugin = |args: &[&str]| called("kubectl-pointsman", args);
    let (code, help) = plugin(&["kinds", "show", "--help"]);
    assert!(code == Some(0) && help.contains("Usage: kubectl pointsman kinds show "), "{help}");
    let (code, refusal) = plugin(&["kinds", "shwo"]);
    assert!(code == Some(2) && refusal.contains("Usage: kubectl pointsman kinds "), "{refusal}");
    assert_eq!(plugin(&["--version"]), called("pointsman", &["--version"]));
    let kinds = format!("--kinds={}/tests/data/kinds", env!("CARGO_MANIFEST_DIR"));
    for (line, words) in [
        (&["kinds", "show", "mat"][..], "materialize\n:4\n"),
        (&["migrate", &kinds, "widget", "--to", "v"], "v1\nv2\n:4\n"),
        (&["convert", "-f", "widg"], "widgets.yaml\n:4\n"),
        (&["convert", "-f", "wit"], "within/\n:6\n"),
        (&["kinds", "show", "nobody"], ":4\n"),
        (&["migr"], "migrate\tRewrite stored objects in the current storage version\n:4\n"),
    ] {
        assert_eq!(called("kubectl_complete-pointsman", line), (Some(0), words.to_owned()), "{line:?}");
    }
    for line in [&[][..], &[""]] {
        let (code, words) = called("kubectl_complete-pointsman", line);
        assert!(code == Some(0) && words.contains("\nrollout\t") && words.ends_with("\n:4\n"), "{words}");
    }
}

/// Through zsh: at the first completion, zsh has loaded the script as a function of this name.
#[test]
fn zsh_completes_on_first_use() {
    let here = TempDir::new().unwrap();
    fs::write(here.path().join("_pointsman"), pointsman(&["completion", "zsh"]).data()).unwrap();
    // Replacements of zsh functions that register and show completions.
    let shown = r#"compdef() { : }; _describe() { print -r -- ${(P)@[-1]} }"#;
    let script = |load: &str, words: &str| {
        format!("{shown}; fpath=({} $fpath); {load}; words=({words}); CURRENT=${{#words}}; $1", here.path().display())
    };
    let autoload = ("autoload _pointsman", "_pointsman");
    let source = ("source ./_pointsman", "_clap_dynamic_completer_pointsman");
    for (load, called) in [autoload, source] {
        for (words, known) in
            [("pointsman kinds show mat", "materialize"), ("pointsman convert --to v1a", "v1alpha1 v1alpha2")]
        {
            let asked = ["-f", "-c", &script(load, words), "zsh", called];
            let Some(said) = shell_says("zsh", here.path(), &asked) else { return };
            assert_eq!(said.trim_end(), known, "{load}: {words}");
        }
    }
}

#[test]
fn fish_completes_kinds_and_versions() {
    let here = TempDir::new().unwrap();
    let script = "pointsman completion fish | source; complete -C 'pointsman kinds show mat'";
    let Some(said) = shell_says("fish", here.path(), &["--no-config", "-c", script]) else { return };
    assert_eq!(said.split_whitespace().next(), Some("materialize"), "{said}");
}

/// The output of a shell with this program in PATH. Without the shell, reports the skipped test.
fn shell_says(shell: &str, here: &Path, args: &[&str]) -> Option<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_pointsman")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = match Command::new(shell).args(args).current_dir(here).env("PATH", path).env("HOME", here).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            left_out(&format!("no {shell}: its completions are not tried"));
            return None;
        }
        Err(error) => panic!("{shell}: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Every other command has the flag.
#[test]
fn definitions_need_no_flag() {
    let refusal = pointsman(&["kinds", "check", "--kinds", "tests/data/kinds"]).refusal(2);
    assert!(refusal.contains("hint: pass definitions as arguments, without a flag"), "{refusal}");
    assert!(!refusal.contains("-- --kinds"), "{refusal}");
}

/// kubectl needs `-f`, and users often omit the flag.
#[test]
fn missing_file_flag_gets_hint() {
    let file = format!("{}/tests/data/kinds/widgets.yaml", env!("CARGO_MANIFEST_DIR"));
    for command in [&["convert", "--to", "v2"][..], &["validate"], &["hash"]] {
        let refusal = pointsman(&[command, &[&file]].concat()).refusal(2);
        assert!(refusal.contains(&format!("a file is given with '-f {file}'")), "{refusal}");
    }
    // A missing file, and a command without a file argument.
    for args in [&["convert", "--to", "v2", "gone.yaml"][..], &["kinds", "schema", &file]] {
        let refusal = pointsman(args).refusal(2);
        assert!(!refusal.contains("-f "), "{refusal}");
    }
}

#[test]
fn missing_kind_flag_gets_hint() {
    for command in ["crd", "webhooks"] {
        let refusal = pointsman(&[command, "widget"]).refusal(2);
        assert!(refusal.contains("a kind is given with '--kind widget'"), "{refusal}");
        let refusal = pointsman(&[command, "--kidn", "widget"]).refusal(2);
        assert!(refusal.contains("'--kind'") && !refusal.contains("is given with"), "{refusal}");
    }
}

#[test]
fn help_names_every_command() {
    let help = pointsman(&["--help"]).data();
    for command in ["completion", "convert", "crd", "hash", "kinds", "serve"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
}

#[test]
fn format_help_matches_command() {
    assert!(pointsman(&["hash", "--help"]).data().contains("sha256sum"));
    for command in ["mutate", "validate"] {
        assert!(!pointsman(&[command, "--help"]).data().contains("sha256sum"));
    }
}

#[test]
fn version_names_its_build() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(pointsman(&["-V"]).data(), format!("pointsman {version}\n"));
    let long = pointsman(&["--version"]).data();
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("pointsman {version}"));
    assert!(lines[1].starts_with("commit: ") && lines[2].starts_with("build: "), "{long}");
    assert_eq!(lines.len(), 3, "{long}");
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = TempDir::new().unwrap();
    let pages = directory.path().join("man1");
    pointsman(&["man", "--directory", pages.to_str().unwrap()]).data();
    for command in COMMANDS {
        let name = format!("pointsman-{}.1", command.join("-"));
        let page = fs::read_to_string(pages.join(&name)).expect(&name);
        assert!(page.starts_with(".ie") && page.contains(".SH OPTIONS") && page.contains("Examples:"), "{page}");
        assert_eq!(pointsman(&[&["man"], command].concat()).data(), page, "{name}");
    }
    assert!(pages.join("pointsman.1").exists());
    let refusal = pointsman(&["man", "kinds", "chekc"]).refusal(2);
    assert!(refusal.contains("no command \"kinds chekc\", did you mean \"check\"?"), "{refusal}");
}
