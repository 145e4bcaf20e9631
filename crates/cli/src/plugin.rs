//! The names by which kubectl finds a plugin: it runs `kubectl-pointsman` where `kubectl pointsman` is typed, and asks
//! `kubectl_complete-pointsman` how such a line may go on. Both are links to this program.
//!
//! Source: `kubectl pkg/cmd/cmd.go`, `HandlePluginCommand`, and `pkg/cmd/plugin/plugin_completion.go`.

use std::env;
use std::path::Path;

/// What help calls this program where kubectl runs it. Nothing where somebody else does.
pub(crate) fn name_for_help() -> Option<&'static str> {
    is_called("kubectl-pointsman").then_some("kubectl pointsman")
}

/// Whether kubectl asks how a line may go on. Its words are the arguments, the last of which is begun.
pub(crate) fn is_asked_to_complete() -> bool {
    is_called("kubectl_complete-pointsman")
}

fn is_called(name: &str) -> bool {
    let called = env::args_os().next().unwrap_or_default();
    Path::new(&called).file_stem().is_some_and(|stem| stem == name)
}
