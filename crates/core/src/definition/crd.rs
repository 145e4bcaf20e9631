//! The CRD of a definition: its identity, its versions, and their order.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use serde_json::Value;

use super::compare::{AcceptedAbsences, Allowance};
use super::problems::{Problem, Problems};
use super::version::{Version, Versions};
use super::yaml::{self, Node, Spanned, YamlError};
use super::{path::Path, schema::Schema, schema_check::wrong, step::StepSpec};

/// A `CustomResourceDefinition` with the names that the definition needs.
pub(super) struct Crd {
    pub(super) document: Value,
    /// The document without the requirements of fields that objects may lack. `None` if there are no such fields.
    pub(super) lenient: Option<Value>,
    absences: BTreeMap<String, AcceptedAbsences>,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) plural: String,
}

impl Crd {
    /// Reads the CRD in the file that a definition names. `read` returns the text of the file.
    pub(super) fn read(
        file: &Spanned<String>,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let (at_line, file) = (file.line, &file.value);
        let mut problem = |message: String| problems.add(at_line, format!("crd: {message}"));
        let text = match read(file) {
            Ok(text) => text,
            Err(error) => {
                problem(format!("cannot read {file:?}: {error}"));
                return None;
            }
        };
        let all = yaml::parse_all(&text).and_then(|all| all.iter().map(Node::read).collect());
        let mut documents: Vec<Value> = match all {
            Ok(documents) => documents,
            Err(YamlError { line, message }) => {
                problem(Problem::new(file, line, message).to_string());
                return None;
            }
        };
        documents = documents.into_iter().flat_map(items).collect();
        documents.retain(|document| document.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition"));
        let name = |document: &Value| document.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        let names: Vec<String> = documents.iter().filter_map(name).collect();
        let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
            problem(match names.is_empty() {
                true => format!("{file} is not a CustomResourceDefinition"),
                false => {
                    format!("{file} has several CRDs ({}): move the CRD of this kind to its own file", names.join(", "))
                }
            });
            return None;
        };
        let mut text = |pointer: &str| {
            let text = document.pointer(pointer).and_then(Value::as_str);
            let text = text.filter(|text| !text.is_empty()).map(str::to_owned);
            if text.is_none() {
                problem(format!("{file}: no {}", pointer.replace('/', ".")));
            }
            text
        };
        let group = text("/spec/group");
        let kind = text("/spec/names/kind");
        let plural = text("/spec/names/plural");
        if let (Some(group), Some(plural)) = (&group, &plural) {
            misnamed(&document, &format!("{plural}.{group}"))
                .into_iter()
                .for_each(|wrong| problem(format!("{file}: {wrong}. The API server refuses such a CRD")));
        }
        let (group, kind, plural) = (group?, kind?, plural?);
        Some(Self { document, lenient: None, absences: BTreeMap::new(), group, kind, plural })
    }

    /// Treats required fields as optional where the steps accept that objects lack them.
    pub(super) fn allow_absences(&mut self, steps: &[Spanned<StepSpec>]) {
        // An absence continues in each further version that requires the field.
        while steps.iter().any(|step| self.allow_absences_of(&step.value)) {}
    }

    fn allow_absences_of(&mut self, step: &StepSpec) -> bool {
        let mut changed = false;
        for (name, other_name) in [(&step.from, &step.to), (&step.to, &step.from)] {
            let name = &name.value;
            let (Some(own), Some(other)) = (self.schema_of(name), self.schema_of(&other_name.value)) else { continue };
            let continued = self.absences.get(&other_name.value).cloned().unwrap_or_default();
            let allowance = Allowance::new(&step.accept, &continued);
            let Some((own, absences)) = allowance.applied(own, other) else { continue };
            let lenient = self.lenient.get_or_insert_with(|| self.document.clone());
            if let Some(schema) = version_schema_mut(lenient, name) {
                *schema = own;
            }
            self.absences.entry(name.clone()).or_default().extend(absences);
            changed = true;
        }
        changed
    }

    /// The schema of a version, without the requirements removed so far.
    fn schema_of(&self, version: &str) -> Option<&Value> {
        version_schema(self.lenient.as_ref().unwrap_or(&self.document), version)
    }

    /// Returns whether the objects are namespaced. True also if the CRD has no scope, which no API server accepts.
    pub(super) fn is_namespaced(&self) -> bool {
        self.document.pointer("/spec/scope").and_then(Value::as_str) != Some("Cluster")
    }

    /// Returns the versions in the order of the steps. The steps must reach every version.
    pub(super) fn versions(
        &self,
        at_line: u64,
        steps: &[Spanned<StepSpec>],
        problems: &mut Problems,
    ) -> Option<Versions> {
        Versions::new(order(self.unordered(at_line, problems)?, steps, problems)?)
    }

    /// Returns a version by its name. `at_line` is the line of the name.
    pub(super) fn version(&self, name: &str, at_line: u64, problems: &mut Problems) -> Option<Version> {
        let mut versions = self.unordered(at_line, problems)?;
        let known: Vec<String> = versions.iter().map(|version| version.name.to_string()).collect();
        let Some(at) = versions.iter().position(|version| *version.name == *name) else {
            problems.add(at_line, format!("the CRD has no version {name:?}; known versions: {}", known.join(", ")));
            return None;
        };
        Some(versions.swap_remove(at))
    }

    /// Returns the versions in the order of the CRD.
    pub(super) fn unordered(&self, at_line: u64, problems: &mut Problems) -> Option<Vec<Version>> {
        let list = self.document.pointer("/spec/versions").and_then(Value::as_array);
        let mut versions = Vec::new();
        for version in list.into_iter().flatten() {
            let Some(name) = version.get("name").and_then(Value::as_str) else {
                problems.add(at_line, "crd: a version without a name");
                return None;
            };
            let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
                problems.add(
                    at_line,
                    format!("crd: version {name} has no schema.openAPIV3Schema to check the definition by"),
                );
                return None;
            };
            let written = Schema::read(schema);
            for wrong in wrong(&written) {
                problems.add(at_line, format!("crd: version {name}: {wrong}"));
            }
            let absences = self.absences.get(name).cloned().unwrap_or_default();
            let schema = match absences.is_empty() {
                true => written,
                false => self.schema_of(name).map_or(written, Schema::read),
            };
            let flag = |key: &str| version.get(key).and_then(Value::as_bool) == Some(true);
            versions.push(Version {
                name: Arc::from(name),
                api_version: format!("{}/{name}", self.group),
                kind: Arc::from(self.kind.as_str()),
                schema,
                absences,
                storage: flag("storage"),
                served: flag("served"),
                status_apart: version.pointer("/subresources/status").is_some(),
                replicas: version
                    .pointer("/subresources/scale/specReplicasPath")
                    .and_then(Value::as_str)
                    .and_then(|path| Path::parse(path.trim_start_matches('.')).ok()),
            });
        }
        let schemas = versions.iter_mut().map(|version| &mut version.schema).collect();
        same_metadata(schemas);
        let mut names: Vec<&str> = versions.iter().map(|version| version.name.as_ref()).collect();
        names.sort_unstable();
        if let Some((twice, _)) = names.iter().zip(names.iter().skip(1)).find(|(one, two)| one == two) {
            problems.add(at_line, format!("crd: version {twice} occurs twice"));
            return None;
        }
        if versions.iter().filter(|version| version.storage).count() != 1 {
            problems.add(at_line, "crd: exactly one version must have storage: true");
            return None;
        }
        Some(versions)
    }
}

/// The schema of a version in a CRD.
pub(crate) fn version_schema<'d>(document: &'d Value, version: &str) -> Option<&'d Value> {
    let versions = document.pointer("/spec/versions")?.as_array()?;
    let named = |found: &&Value| found.get("name").and_then(Value::as_str) == Some(version);
    versions.iter().find(named)?.pointer("/schema/openAPIV3Schema")
}

fn version_schema_mut<'d>(document: &'d mut Value, version: &str) -> Option<&'d mut Value> {
    let versions = document.pointer_mut("/spec/versions")?.as_array_mut()?;
    let named = |found: &&mut Value| found.get("name").and_then(Value::as_str) == Some(version);
    versions.iter_mut().find(named)?.pointer_mut("/schema/openAPIV3Schema")
}

/// Returns the objects of a document: the items of a `List`, or the document itself.
fn items(mut document: Value) -> Vec<Value> {
    let is_list = document.get("kind").and_then(Value::as_str) == Some("List");
    match document.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items,
        _ => vec![document],
    }
}

/// Returns the head fields of a CRD that no API server accepts. Absent fields are no problem, because the document may
/// be a partial CRD. Source: `apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go`.
fn misnamed(document: &Value, name: &str) -> Vec<String> {
    let head = [
        ("/apiVersion", &["apiextensions.k8s.io/v1"][..]),
        ("/metadata/name", &[name][..]),
        ("/spec/scope", &["Namespaced", "Cluster"][..]),
    ];
    let wrong = head.into_iter().filter_map(|(pointer, known)| {
        let actual =
            document.pointer(pointer).filter(|actual| actual.as_str().is_none_or(|actual| !known.contains(&actual)))?;
        let field = pointer.trim_start_matches('/').replace('/', ".");
        Some(format!("{field} is {actual}, and has to be {}", known.join(" or ")))
    });
    wrong.collect()
}

fn order(mut versions: Vec<Version>, steps: &[Spanned<StepSpec>], problems: &mut Problems) -> Option<Vec<Version>> {
    let names: Vec<&str> = versions.iter().map(|version| version.name.as_ref()).collect();
    let known = names.join(", ");
    let mut ordered: Vec<Version> = Vec::new();
    let mut good = true;
    for (index, step) in steps.iter().enumerate() {
        let StepSpec { from, to, .. } = &step.value;
        let before = ordered.last().filter(|last| index > 0 && *last.name != *from.value);
        if let Some(Version { name: last, .. }) = before {
            let (at_line, from) = (from.line, &from.value);
            problems.add(at_line, format!("this step starts at {from:?}, but the previous step ends at {last:?}"));
            return None;
        }
        for name in Some(from).filter(|_| index == 0).into_iter().chain([to]) {
            let is_it = |version: &Version| *version.name == *name.value;
            if let Some(index) = versions.iter().position(is_it) {
                ordered.push(versions.remove(index));
                continue;
            }
            good = false;
            let (at_line, name) = (name.line, &name.value);
            problems.add(
                at_line,
                match ordered.iter().any(is_it) {
                    true => {
                        format!("version {name:?} occurs twice: list steps from oldest to newest")
                    }
                    false => format!("the CRD has no version {name:?}; known versions: {known}"),
                },
            );
        }
    }
    if !good {
        return None;
    }
    if steps.is_empty() && versions.len() == 1 {
        return Some(versions);
    }
    if let Some(Version { name, .. }) = versions.first() {
        problems.add(
            0,
            format!(
                "no step leads to version {name:?} of the CRD: add a step, without operations if the schemas \
                     are equal"
            ),
        );
        return None;
    }
    Some(ordered)
}

/// Returns the names of a CRD's kind without the group, as kubectl accepts them, in lower case.
pub(super) fn bare_names(crd: &Value) -> Vec<String> {
    let names = crd.pointer("/spec/names");
    let text = |name: &str| names.and_then(|names| names.get(name)).and_then(Value::as_str);
    let short = names.and_then(|names| names.get("shortNames")).and_then(Value::as_array);
    let short = short.into_iter().flatten().filter_map(Value::as_str);
    let kind = text("kind").map(str::to_lowercase);
    kind.into_iter()
        .chain([text("plural"), text("singular")].into_iter().flatten().chain(short).map(str::to_owned))
        .collect()
}

/// Adds the fields of the metadata that only some versions describe. Every object has them. A schema can only bound the
/// name and the prefix of a generated name (`apiextensions-apiserver pkg/apiserver/schema/validation.go`,
/// `ValidateStructural`).
fn same_metadata(schemas: Vec<&mut Schema>) {
    let described = schemas.iter().filter_map(|schema| schema.properties.get(METADATA));
    let names: BTreeSet<String> = described.flat_map(|metadata| metadata.properties.keys().cloned()).collect();
    if names.is_empty() {
        return;
    }
    for schema in schemas {
        let of_kind = |kind: &str| Schema { kind: Some(kind.to_owned()), ..Schema::default() };
        let metadata = schema.properties.entry(METADATA.to_owned()).or_insert_with(|| of_kind("object"));
        for name in &names {
            metadata.properties.entry(name.clone()).or_insert_with(|| of_kind("string"));
        }
    }
}

const METADATA: &str = "metadata";
