//! A step: the conversion between two neighbouring versions.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::compare::{AcceptSpec, ComparedSchemas, compare};
use super::completeness::Completeness;
use super::field_change::FieldChange;
use super::frontier::Root;
use super::metadata_field::MetadataField;
use super::operation::{Compiler, Level, Operation, OperationSpec, filled, lists_to_fill, with_schemaless_fields};
use super::path::Path;
use super::problems::Problems;
use super::rollout_hash::{StatusMapping, StatusMappingSpec};
use super::schema::{Schema, properties};
use super::side::Sides;
use super::version::Version;
use super::yaml::Spanned;

/// The conversion between two neighbouring versions. Each operation works in both directions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Step")]
pub(super) struct StepSpec {
    /// The older version.
    pub(super) from: Spanned<String>,
    /// The newer version.
    pub(super) to: Spanned<String>,
    /// The changes between the versions. A field without an operation is copied unchanged.
    #[serde(default)]
    operations: Vec<Spanned<OperationSpec>>,
    /// Differences between the two schemas that are intended.
    #[serde(default)]
    pub(super) accept: Vec<Spanned<AcceptSpec>>,
}

/// The changes between two versions, as written.
pub(super) struct ChangesSpec<'s> {
    pub(super) operations: &'s [Spanned<OperationSpec>],
    pub(super) accept: &'s [Spanned<AcceptSpec>],
    /// The facts that conditions may use. `None` if facts are not available.
    pub(super) facts: Option<&'s [String]>,
    pub(super) line: u64,
}

/// The compiled conversion between two neighbouring versions.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) versions: Sides<Arc<str>>,
    /// The kept annotation of each side. It stores values that only this side can represent, on an object of the other
    /// side.
    pub(crate) kept: Sides<String>,
    pub level: Level,
    /// The required fields of a complete object of each version.
    pub(crate) complete: Sides<Completeness>,
    /// Top-level fields that must be objects where they are present.
    pub(crate) objects: Vec<String>,
    pub(crate) status: Option<StatusMapping>,
    /// Whether the namespace of an object is the value of a field.
    pub(crate) reads_namespace: bool,
    /// The annotations and labels that operations convert.
    pub(crate) metadata_fields: Vec<MetadataField>,
    /// Whether the definition accepts differences between the schemas.
    #[cfg_attr(not(feature = "laws"), expect(dead_code, reason = "asked by the laws"))]
    pub(crate) accepts: bool,
    /// The line of the rollout status in the definition.
    status_line: u64,
}

/// A summary of a step, for people.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StepSummary {
    /// The older version.
    pub from: String,
    /// The newer version.
    pub to: String,
    /// One line for each operation.
    pub operations: Vec<String>,
    /// The line of each operation in the definition, from 1.
    pub lines: Vec<u64>,
    /// The changed fields.
    pub changes: Vec<FieldChange>,
}

/// The prefix of the annotations that hold kept fields.
pub(crate) const KEPT: &str = "pointsman.dev/kept-";

impl Step {
    /// Compiles a step. `status` is the mapping of the rollout status of the two versions, and its line.
    pub(super) fn compile(
        spec: &Spanned<StepSpec>,
        older: &Version,
        newer: &Version,
        status: Option<(&StatusMappingSpec, u64)>,
        problems: &mut Problems,
    ) -> Self {
        let changes = ChangesSpec {
            operations: &spec.value.operations,
            accept: &spec.value.accept,
            facts: None,
            line: spec.line,
        };
        Self::between(&changes, Sides { older, newer }, status, problems)
    }

    /// Compiles a step from the changes alone.
    pub(super) fn between(
        changes: &ChangesSpec<'_>,
        versions: Sides<&Version>,
        status: Option<(&StatusMappingSpec, u64)>,
        problems: &mut Problems,
    ) -> Self {
        let names = versions.map(|version| version.name.clone());
        problems.enter_step(&names.newer);
        let schemas = versions.map(|version| &version.schema);
        let status_line = status.map_or(0, |(_, line)| line);
        let status = status.and_then(|(status, line)| {
            status.compile(&mut Compiler::new(problems, schemas.older, schemas.newer, line))
        });
        let handled: Vec<Path> = status.iter().flat_map(StatusMapping::handled).cloned().collect();
        let written: Vec<_> = changes.operations.iter().collect();
        let mut compiler = Compiler::new(problems, schemas.older, schemas.newer, changes.line);
        if let Some(facts) = changes.facts {
            compiler = compiler.knowing(facts);
        } else {
            compiler = compiler.with_metadata();
        }
        let mut operations = compiler.operations(&written, &handled);
        let completed = with_schemaless_fields(&schemas, &mut operations);
        let schemas = completed.as_ref().map_or(schemas, Sides::as_ref);
        operations.extend(lists_to_fill(schemas.older, schemas.newer, &operations, &handled));
        let compared = ComparedSchemas {
            schemas,
            names: Sides { older: &names.older, newer: &names.newer },
            // A conversion to another kind creates objects, which need all fields.
            absences: changes.facts.is_none().then(|| versions.map(|version| &version.absences)),
        };
        let implied = compare(&compared, &operations, &handled, changes.accept, changes.line, problems);
        operations.extend(implied);
        operations.extend(filled(schemas.older, schemas.newer, &operations));
        let level = Level::new(schemas.older, schemas.newer, operations, Root::Object);
        Self {
            kept: names.clone().map(|name| format!("{KEPT}{name}")),
            versions: names,
            complete: schemas.map(|schema| Completeness::of(schema, &handled)),
            objects: objects(&schemas),
            reads_namespace: level.reads_namespace(),
            metadata_fields: metadata_fields(&level),
            accepts: !changes.accept.is_empty(),
            level,
            status,
            status_line,
        }
    }

    /// Returns whether a field has the same meaning in both versions, for every object.
    pub(super) fn leaves_alone(&self, field: &Path) -> bool {
        let is_of_status = field.names().first().is_some_and(|name| **name == *"status");
        !(is_of_status && self.status.is_some()) && self.level.frontier.leaves_alone(field)
    }

    /// Summarizes the step, for people.
    pub(super) fn summary(&self) -> StepSummary {
        let mut described = self.level.describe(&Sides::default());
        let status = self.status.iter().flat_map(StatusMapping::describe);
        described.extend(status.map(|text| (self.status_line, text)));
        let (lines, operations) = described.into_iter().unzip();
        let Sides { older, newer } = &self.versions;
        let changes = self.level.changes(&Sides::default());
        StepSummary { from: older.to_string(), to: newer.to_string(), operations, lines, changes }
    }
}

/// The annotations and labels at the places of operations.
fn metadata_fields(level: &Level) -> Vec<MetadataField> {
    let mut found: Vec<MetadataField> = Vec::new();
    let places = level.operations.iter().flat_map(Operation::all_places);
    for field in places.filter(|place| place.metadata.is_some()).filter_map(|place| MetadataField::at(&place.path).ok())
    {
        if !found.contains(&field) {
            found.push(field);
        }
    }
    found
}

/// Top-level fields that are objects in both versions.
fn objects(schemas: &Sides<&Schema>) -> Vec<String> {
    let is_object = |schema: Option<&Schema>| schema.is_none_or(|schema| schema.is("object"));
    properties(schemas.older, schemas.newer)
        .filter(|(name, ..)| !matches!(*name, "apiVersion" | "kind" | "metadata"))
        .filter(|(_, older, newer)| is_object(*older) && is_object(*newer))
        .map(|(name, ..)| name.to_owned())
        .collect()
}
