//! `pointsman completion`, and the completions themselves.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, Args, Command};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter, complete};
use clap_complete::env::{CompleteEnv, Shells};

use super::input::is_document;
use super::kinds_dir::{KindsArgs, LoadedKind};
use super::{kind_names, output, shell_word};
use crate::plugin;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// Shell to generate the script for.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a script that makes a shell request completions from this program.
pub(crate) fn run(args: &CompletionArgs) -> anyhow::Result<ExitCode> {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let shell = shells.completer(&name).ok_or_else(|| anyhow::anyhow!("no completions for {name}"))?;
    let mut script = Vec::new();
    shell.write_registration(COMPLETE_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    let mut script = String::from_utf8(script)?;
    if args.shell == Shell::Zsh {
        script.push_str(FIRST_TIME);
    }
    output::data(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Responds to a completion request of kubectl, and returns the result. Responds to a request of a shell and exits.
/// `None` if there is no request.
pub(crate) fn answer(command: impl Fn() -> Command) -> Option<anyhow::Result<ExitCode>> {
    if plugin::is_completion_request() {
        return Some(answer_kubectl(command()));
    }
    CompleteEnv::with_factory(|| completed(command()))
        .var(COMPLETE_VARIABLE)
        .bin(PROGRAM)
        .completer(PROGRAM)
        .complete();
    None
}

/// Prints a line for each candidate, with a tab before its description, and a last line with directives.
fn answer_kubectl(command: Command) -> anyhow::Result<ExitCode> {
    let mut words: Vec<OsString> = env::args_os().collect();
    if words.len() < 2 {
        words.push(OsString::new());
    }
    let begun = words.len() - 1;
    let found = complete(&mut completed(command), words, begun, env::current_dir().ok().as_deref())?;
    let mut output_text = String::new();
    for word in &found {
        let help = word.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().map(|line| format!("\t{line}")).unwrap_or_default();
        output_text += &format!("{}{help}\n", word.get_value().to_string_lossy());
    }
    // A directory can be completed further.
    let continues = found.iter().any(|word| word.get_value().to_string_lossy().ends_with('/'));
    let then = NO_FILES | if continues { NO_SPACE } else { 0 };
    output::data(&format!("{output_text}:{then}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Adds completers to arguments by the names of their values in help.
fn completed(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let name = arg.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
        let add = |arg: Arg, completer: ArgValueCompleter| arg.add(completer);
        match (arg.get_id().as_str(), name.as_deref()) {
            ("kind", _) | (_, Some("KIND")) => add(arg, ArgValueCompleter::new(kinds)),
            (_, Some("VERSION" | "VERSION|KIND")) => add(arg, ArgValueCompleter::new(versions)),
            ("files" | "old", _) => add(arg, ArgValueCompleter::new(objects)),
            (_, Some("DIR")) => add(arg, ArgValueCompleter::new(PathCompleter::dir())),
            _ => arg,
        }
    });
    command.mut_subcommands(completed)
}

fn kinds(begun: &OsStr) -> Vec<CompletionCandidate> {
    let known = known();
    beginning(begun, known.iter().map(|known| known.kind.name()))
}

/// Versions of the kind on the line, or of all kinds.
fn versions(begun: &OsStr) -> Vec<CompletionCandidate> {
    let (known, words) = (known(), words());
    let named = words.iter().skip(1).find_map(|word| kind_names::find(&known, word).ok());
    match named {
        Some(named) => beginning(begun, named.kind.versions()),
        None => beginning(begun, known.iter().flat_map(|known| known.kind.versions())),
    }
}

/// Files that may contain objects, and directories.
fn objects(begun: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().stdio().filter(|path: &Path| path.is_dir() || is_document(path)).complete(begun)
}

fn beginning<'n>(begun: &OsStr, names: impl Iterator<Item = &'n str>) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let mut names: Vec<&str> = names.filter(|name| name.starts_with(&*begun)).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The known kinds of the line. Falls back to the built-in kinds.
fn known() -> Vec<LoadedKind> {
    let (words, home) = (words(), env::var("HOME").ok());
    let mut paths: Vec<PathBuf> = env::var_os("POINTSMAN_KINDS").into_iter().map(PathBuf::from).collect();
    for (at, word) in words.iter().enumerate() {
        // Bash splits words at `=`.
        let next = || words.iter().skip(at + 1).find(|next| *next != "=").map(String::as_str);
        let given = match word.strip_prefix("--kinds") {
            Some("") => next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        paths.extend(given.map(|word| shell_word::read(word, home.as_deref()).into()));
    }
    let no_built_in = words.iter().any(|word| word == "--no-built-in");
    let built_in = || KindsArgs { paths: Vec::new(), no_built_in: false }.load();
    KindsArgs { paths, no_built_in }.load().or_else(|_| built_in()).unwrap_or_default()
}

/// The words of the line. A shell passes them after `--`.
fn words() -> Vec<String> {
    let words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    if plugin::is_completion_request() {
        return words.collect();
    }
    words.skip_while(|word| word != "--").skip(1).collect()
}

/// No file completion after these candidates. Source: `ShellCompDirectiveNoFileComp` in `cobra completions.go`, as the
/// next constant.
const NO_FILES: u8 = 4;

/// No space after the word: `ShellCompDirectiveNoSpace`.
const NO_SPACE: u8 = 2;

/// The variable of a completion request. A distinct name, because other programs use the default one.
const COMPLETE_VARIABLE: &str = "POINTSMAN_COMPLETE";

const PROGRAM: &str = "pointsman";

/// zsh loads the script as a function and calls it for the first completion: the new function must then respond
/// immediately, but not when the script is sourced.
const FIRST_TIME: &str = "
if [[ ${funcstack[1]} == _pointsman ]]; then
    _clap_dynamic_completer_pointsman \"$@\"
fi
";

const EXAMPLES: &str = "\
The shell calls pointsman from your PATH to complete the names of kinds and
versions: the built-in ones, and those of --kinds.

Examples:
  In this shell:
    source <(pointsman completion bash)

  In every new zsh, in a directory of your fpath:
    pointsman completion zsh > _pointsman

  In every new fish:
    pointsman completion fish > ~/.config/fish/completions/pointsman.fish

  For `kubectl pointsman`, in the directory of pointsman in your PATH:
    ln -s pointsman kubectl_complete-pointsman";
