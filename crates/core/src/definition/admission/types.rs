//! Rules against the types of their fields: what could never hold is refused.

use super::Check;
use super::compile::Compiler;
use crate::definition::Path;
use crate::json::Json;

impl Compiler<'_> {
    /// A rule whose field has another type could never hold.
    pub(super) fn check_type(
        &mut self,
        name: &str,
        at: usize,
        field: &Path,
        check: &Check,
        line: u64,
    ) {
        let Some(schema) = self.versions.get(at).and_then(|version| version.schema.at(field))
        else {
            return;
        };
        let wanted = match check {
            Check::Duration | Check::Upgrade { .. } => "string",
            Check::Range { .. } => "integer",
            Check::Requires { .. } => "object",
            Check::Immutable { unset } => {
                for value in unset.iter().filter(|value| !schema.admits(value)) {
                    self.problems
                        .add(line, format!("{name}: {field} can never be {}", value.to_text()));
                }
                return;
            }
            Check::Warn { is: Some(value), .. } if !schema.admits(value) => {
                self.problems
                    .add(line, format!("{name}: {field} can never be {}", value.to_text()));
                return;
            }
            Check::Deprecated { .. } | Check::Warn { .. } => return,
        };
        self.is_of_type(name, at, field, wanted, line);
    }

    pub(super) fn is_of_type(
        &mut self,
        name: &str,
        at: usize,
        field: &Path,
        wanted: &str,
        line: u64,
    ) {
        let schema = self.versions.get(at).and_then(|version| version.schema.at(field));
        let Some(kind) = schema.and_then(|schema| schema.kind.as_deref()) else {
            return;
        };
        if kind != wanted {
            let problem = format!("{name}: {field} is of type {kind}, not {wanted}");
            self.problems.add(line, problem);
        }
    }

    /// An empty string is no UUID, so it is none that was set.
    pub(super) fn with_empty_uuid(&self, at: usize, field: &Path, check: Check) -> Check {
        let schema = self.versions.get(at).and_then(|version| version.schema.at(field));
        let uuid = schema.is_some_and(|schema| schema.format.as_deref() == Some("uuid"));
        match check {
            Check::Immutable { mut unset } if uuid => {
                unset.push(Json::string(""));
                Check::Immutable { unset }
            }
            check => check,
        }
    }
}
