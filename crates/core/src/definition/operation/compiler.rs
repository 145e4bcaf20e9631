//! Compiles operations between two schemas: paths become places, and each field has one operation at most.

use serde_saphyr::Spanned;

use super::mapping::{Mapping, Operation};
use crate::definition::problems::{Problems, line};
use crate::definition::side::{Side, Sides};
use crate::definition::{path::Path, place::Place, schema::Schema};

/// An operation as it is written.
pub(crate) trait Compile {
    /// The operation that runs. `None` if it cannot be; the compiler then has the problem.
    fn compile(&self, compiler: &mut Compiler<'_>) -> Option<Operation>;
}

/// Compiles what happens between two schemas: of two versions, or of their items in a list.
pub(crate) struct Compiler<'a> {
    problems: &'a mut Problems,
    pub(crate) older: &'a Schema,
    pub(crate) newer: &'a Schema,
    /// Where problems are.
    line: u64,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(problems: &'a mut Problems, older: &'a Schema, newer: &'a Schema, line: u64) -> Self {
        Self { problems, older, newer, line }
    }

    /// The same, for what is inside a list or map.
    pub(super) fn inside<'i>(&'i mut self, older: &'i Schema, newer: &'i Schema) -> Compiler<'i> {
        Compiler::new(self.problems, older, newer, self.line)
    }

    pub(crate) fn problem(&mut self, message: impl Into<String>) {
        self.problems.add(self.line, message);
    }

    /// Compiles operations. `handled` are older fields that the rollout's status takes care of.
    pub(crate) fn operations<O: Compile>(&mut self, specs: &[Spanned<O>], handled: &[Path]) -> Vec<Operation> {
        let outside = self.line;
        let mut compiled: Vec<Operation> = Vec::new();
        for spec in specs {
            self.line = line(spec);
            let Some(mut operation) = spec.value.compile(self) else {
                continue;
            };
            operation.line = self.line;
            // What the rollout's status handles may be listed as dropped for the reader: it says so itself.
            let dropped = operation.places.newer.is_empty();
            if dropped && operation.places.older.iter().any(|place| handled.contains(&place.path)) {
                continue;
            }
            self.is_first(&operation, &compiled, handled);
            compiled.push(operation);
        }
        self.line = outside;
        compiled
    }

    /// Two operations on one field are refused.
    fn is_first(&mut self, operation: &Operation, earlier: &[Operation], handled: &[Path]) {
        for side in [Side::Older, Side::Newer] {
            for Place { path, .. } in operation.places.of(side) {
                let earlier =
                    earlier.iter().flat_map(|other| other.places.of(side).iter().map(move |place| (place, other.line)));
                for (other, first) in earlier {
                    if path.starts_with(&other.path) || other.path.starts_with(path) {
                        let other = &other.path;
                        self.problem(format!("two operations on one field: {path} here and {other} in line {first}"));
                    }
                }
                if side == Side::Older && handled.contains(path) {
                    self.problem(format!("two operations on one field: {path} is handled by rollout.status"));
                }
            }
        }
    }

    /// A path that must be in the schema of a side.
    pub(crate) fn place(&mut self, side: Side, text: &str) -> Option<Place> {
        let (root, version) = match side {
            Side::Newer => (self.newer, "newer"),
            Side::Older => (self.older, "older"),
        };
        let path = match Path::parse(text) {
            Ok(path) => path,
            Err(error) => {
                self.problem(error);
                return None;
            }
        };
        let first = path.names().first().map(AsRef::as_ref);
        if matches!(first, Some("apiVersion" | "kind" | "metadata")) {
            self.problem(format!("{path}: the API server itself takes care of metadata, apiVersion and kind"));
            return None;
        }
        match root.find(&path) {
            Ok(schema) => {
                let (required, schema) = (root.requires(&path), schema.clone());
                Some(Place { required, ..Place::new(path, schema) })
            }
            Err(missing) => {
                let (name, hint) = (missing.name, missing.did_you_mean());
                self.problem(format!("{path}: the {version} version has no {name:?} there{hint}"));
                None
            }
        }
    }

    pub(super) fn places(&mut self, from: &str, to: &str) -> Option<Sides<Place>> {
        let older = self.place(Side::Older, from);
        let newer = self.place(Side::Newer, to);
        Some(Sides { older: older?, newer: newer? })
    }

    /// The places of an operation that takes either one path for both versions, in `key`, or `from` and `to`.
    pub(super) fn one_or_two(
        &mut self,
        operation: &str,
        (key, path): (&str, &Option<String>),
        from: &Option<String>,
        to: &Option<String>,
    ) -> Option<Sides<Place>> {
        match (path, from, to) {
            (Some(path), None, None) => self.places(path, path),
            (None, Some(from), Some(to)) => self.places(from, to),
            _ => {
                self.problem(format!("{operation}: needs either `{key}`, or `from` and `to`"));
                None
            }
        }
    }

    /// An operation with a value on each side.
    pub(super) fn between(
        &mut self,
        name: &'static str,
        from: &str,
        to: &str,
        mapping: impl Mapping + 'static,
    ) -> Option<Operation> {
        Some(Operation::between(name, self.places(from, to)?, mapping))
    }
}
