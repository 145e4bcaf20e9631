//! The names of kubectl plugins: kubectl runs `kubectl-pointsman` for `kubectl pointsman`, and
//! `kubectl_complete-pointsman` for completions. Both are links to this program.
//!
//! Source: `kubectl pkg/cmd/cmd.go`, `HandlePluginCommand`, and `pkg/cmd/plugin/plugin_completion.go`.

use std::env;
use std::path::Path;

/// The program name in help if kubectl runs it. `None` otherwise.
pub(crate) fn name_for_help() -> Option<&'static str> {
    is_called("kubectl-pointsman").then_some("kubectl pointsman")
}

/// Returns whether kubectl requests completions. The arguments are the words of the line, the last one incomplete.
pub(crate) fn is_completion_request() -> bool {
    is_called("kubectl_complete-pointsman")
}

fn is_called(name: &str) -> bool {
    let called = env::args_os().next().unwrap_or_default();
    Path::new(&called).file_stem().is_some_and(|stem| stem == name)
}
