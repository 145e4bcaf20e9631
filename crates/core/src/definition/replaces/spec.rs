//! The block of a definition for the conversion from another kind, as written and as compiled.

use std::collections::BTreeMap;
use std::io;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::kind_conversion::{Bridge, KindConversion, KindRefusal, Retirement};
use crate::definition::admission::Admission;
use crate::definition::compare::AcceptSpec;
use crate::definition::crd::{Crd, bare_names};
use crate::definition::gates::{GateCompiler, GateSpec};
use crate::definition::operation::{Compiler, Fact, OperationSpec};
use crate::definition::path::Path;
use crate::definition::problems::Problems;
use crate::definition::rollout_parts::health_schema;
use crate::definition::side::{Side, Sides};
use crate::definition::step::{ChangesSpec, Step};
use crate::definition::version::{Version, Versions};
use crate::definition::yaml::Spanned;

/// How objects of another kind, the source, are replaced by objects of the kind of this definition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Replaces")]
pub(in crate::definition) struct ReplacesSpec {
    /// The source kind.
    from: SourceSpec,
    /// The version of this kind that objects are converted to.
    to: Spanned<String>,
    /// The changes between the kinds. A field without an operation is copied unchanged. For operations, the source kind
    /// is the older version.
    #[serde(default)]
    operations: Vec<Spanned<OperationSpec>>,
    /// Differences between the two schemas that are intended.
    #[serde(default)]
    accept: Vec<Spanned<AcceptSpec>>,
    /// Facts about a source object, read from other objects, by their names in conditions.
    #[serde(default)]
    facts: BTreeMap<String, Spanned<SecretFactSpec>>,
    /// Objects that cannot be converted to this kind.
    #[serde(default)]
    refuse: Vec<Spanned<RefusalSpec>>,
}

/// The source kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ReplacesFrom")]
struct SourceSpec {
    /// The file of the CustomResourceDefinition, relative to this file.
    crd: Spanned<String>,
    /// The version that is converted.
    version: Spanned<String>,
    /// The conditions of a healthy object of the source kind, for rollouts.
    #[expect(dead_code, reason = "read by rollouts")]
    #[schemars(schema_with = "health_schema")]
    health: Option<IgnoredAny>,
    /// The status field that receives the reason of a refusal from a rollout, such as `status.migration.error`.
    error_field: Option<String>,
    /// `warn` or `deny`: how the policies of `pointsman rollout policies` respond to the creation of a source object.
    retire: Option<Spanned<String>>,
}

/// A fact: whether a Secret in the namespace of the object has a key. False if the object names no Secret.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "SecretFact")]
struct SecretFactSpec {
    /// The field of the source kind that contains the name of the Secret.
    secret: String,
    /// The key of the Secret.
    key: String,
}

/// A condition under which an object is not replaced, and the reason.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Refusal")]
struct RefusalSpec {
    /// The condition of a refused object.
    when: GateSpec,
    /// The message for the owner of the object: the reason, and the fix.
    message: String,
}

impl ReplacesSpec {
    /// Compiles the conversion between the two kinds. `target` is the CRD of the kind of this definition.
    pub(in crate::definition) fn compile(
        spec: &Spanned<Self>,
        target: &Crd,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
        problems: &mut Problems,
    ) -> Option<KindConversion<Bridge>> {
        let (at_line, spec) = (spec.line, &spec.value);
        let source = Crd::read(&spec.from.crd, read, problems)?;
        may_become(&source, target, spec.from.crd.line, problems)?;
        let from = &spec.from.version;
        let older = source.version(&from.value, from.line, problems)?;
        let newer = target.version(&spec.to.value, spec.to.line, problems)?;
        let names = Sides { older: name_of(&source, target), newer: name_of(target, &source) };
        kept_names_fit(&[(&source, &names.older), (target, &names.newer)], spec.from.crd.line, problems);
        let retirement = spec.from.retire.as_ref().and_then(|retire| retirement(retire, problems));
        let refusals = spec.refusals(&older, problems);
        let source_schema = older.schema.clone();
        let error_field = spec
            .from
            .error_field
            .as_deref()
            .and_then(|error_field| error_path(error_field, &older, from.line, problems));
        let mut versions = Sides { older: end(older, &names.older), newer: end(newer, &names.newer) };
        versions.newer.storage = true;
        let facts: Vec<String> = spec.facts.keys().cloned().collect();
        let changes =
            ChangesSpec { operations: &spec.operations, accept: &spec.accept, facts: Some(&facts), line: at_line };
        let mut step =
            Step::between(&changes, Sides { older: &versions.older, newer: &versions.newer }, None, problems);
        step.level.facts = spec.facts(&versions, problems);
        let crd = json!({"spec": {"versions": [document(&source, &spec.from.version.value, &versions.older),
            document(target, &spec.to.value, &versions.newer)]}});
        let (source_api_version, source_kind) = (versions.older.api_version.clone(), versions.older.kind.clone());
        let admission = Admission::none(&target.group);
        let facts = step.level.facts.iter().map(|fact| fact.name.clone()).collect();
        let bridge = Bridge {
            name: format!("{} becomes {}", source.kind, target.kind),
            group: target.group.clone(),
            kind: target.kind.clone(),
            plural: target.plural.clone(),
            versions: Versions::new(vec![versions.older, versions.newer])?,
            step,
            is_namespaced: source.is_namespaced(),
            admission,
            crd,
        };
        Some(KindConversion {
            source_names: bare_names(&source.document),
            source_plural: source.plural.clone(),
            kept_names: names,
            source_api_version,
            source_kind,
            from: from.value.clone(),
            to: spec.to.value.clone(),
            facts,
            refusals,
            source_schema,
            error_field,
            retirement,
            bridge,
        })
    }

    fn refusals(&self, source: &Version, problems: &mut Problems) -> Vec<KindRefusal> {
        let mut refusals = Vec::new();
        for refusal in &self.refuse {
            let at_line = refusal.line;
            let mut compiler = GateCompiler::new(&source.schema);
            let gate = compiler.gate(&refusal.value.when);
            for message in compiler.into_bad() {
                problems
                    .add(at_line, format!("refuse: {}", message.replace("the newest version", "the replaced kind")));
            }
            if refusal.value.message.trim().is_empty() {
                problems.add(at_line, "refuse: give the reason and the next step in `message`");
            }
            refusals.extend(gate.map(|gate| KindRefusal { gate, message: refusal.value.message.clone() }));
        }
        refusals
    }

    fn facts(&self, versions: &Sides<Version>, problems: &mut Problems) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (name, fact) in &self.facts {
            let at_line = fact.line;
            let SecretFactSpec { secret, key } = &fact.value;
            let mut compiler = Compiler::new(problems, &versions.older.schema, &versions.newer.schema, at_line);
            let Some(secret) = compiler.place(Side::Older, secret) else { continue };
            if secret.schema.kind.as_deref().is_some_and(|kind| kind != "string") {
                compiler.problem(format!("facts: {} must be a string, the name of a Secret", secret.path));
            }
            if key.is_empty() {
                compiler.problem(format!("facts: {name}: a key of a Secret has a name"));
            }
            facts.push(Fact { name: name.clone(), secret, key: key.clone() });
        }
        facts
    }
}

/// Checks that one kind can replace the other. `None` stops further checks, such as for two equal kinds.
fn may_become(source: &Crd, target: &Crd, at_line: u64, problems: &mut Problems) -> Option<()> {
    if (&source.group, &source.kind) == (&target.group, &target.kind) {
        let kind = format!("{}.{}", target.kind, target.group);
        problems.add(at_line, format!("replaces: {kind} cannot replace itself: write `steps` for its versions"));
        return None;
    }
    if source.is_namespaced() != target.is_namespaced() {
        let scope = |crd: &Crd| if crd.is_namespaced() { "Namespaced" } else { "Cluster" };
        let (from, to) = (scope(source), scope(target));
        let message = format!("replaces: the replaced kind has the scope {from}, and this kind {to}");
        problems.add(at_line, message);
    }
    Some(())
}

fn retirement(retire: &Spanned<String>, problems: &mut Problems) -> Option<Retirement> {
    match retire.value.as_str() {
        "warn" => Some(Retirement::Warn),
        "deny" => Some(Retirement::Deny),
        other => {
            problems.add(retire.line, format!("replaces.from.retire: {other:?} is unknown: write warn or deny"));
            None
        }
    }
}

/// The status field that receives the reason of a refusal.
fn error_path(text: &str, source: &Version, at_line: u64, problems: &mut Problems) -> Option<Path> {
    let path =
        Path::parse(text).map_err(|why| problems.add(at_line, format!("replaces.from.errorField: {why}"))).ok()?;
    let is_status = path.names().first().is_some_and(|name| **name == *STATUS);
    let kind = source.schema.find(&path).ok().and_then(|found| found.kind.clone());
    if !is_status || kind.as_deref() != Some("string") || !source.status_apart {
        let why = "must be a string in the status subresource of the replaced kind";
        problems.add(at_line, format!("replaces.from.errorField: {path} {why}"));
    }
    Some(path)
}

/// The name of a kind in kept annotations: its plural, with the group if both plurals are equal.
fn name_of(crd: &Crd, other: &Crd) -> String {
    if crd.plural == other.plural { format!("{}.{}", crd.plural, crd.group) } else { crd.plural.clone() }
}

/// Checks the length of the names of kept annotations. Kubernetes allows 63 characters after the prefix.
fn kept_names_fit(named: &[(&Crd, &String)], at_line: u64, problems: &mut Problems) {
    for (crd, kind) in named {
        let versions = crd.document.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        for version in versions.filter_map(|version| version.get("name")?.as_str()) {
            let name = format!("kept-{kind}.{version}");
            if name.len() > LONGEST_NAME {
                problems.add(at_line, format!(
                    "replaces: the annotation pointsman.dev/{name} has {} characters behind the slash, and Kubernetes allows \
                     {LONGEST_NAME}: the plural, the group or the version is too long",
                    name.len()
                ));
            }
        }
    }
}

/// The maximum length of the name of an annotation, without its prefix. Source: `k8s.io/apimachinery
/// pkg/util/validation/validation.go`, `qualifiedNameMaxLength`.
const LONGEST_NAME: usize = 63;

/// A version as one end of the kind conversion. The status is not carried, because a controller observed it on another
/// object.
fn end(mut version: Version, kind: &str) -> Version {
    version.name = format!("{kind}.{}", version.name).into();
    version.schema.properties.remove(STATUS);
    version.schema.required.remove(STATUS);
    // Storage and status are properties of the kinds themselves.
    (version.storage, version.served) = (false, true);
    version
}

/// The version of an end as in a CRD.
fn document(crd: &Crd, version: &str, end: &Version) -> Value {
    let all = crd.document.pointer("/spec/versions").and_then(Value::as_array);
    let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(version);
    let mut document = all.into_iter().flatten().find(named).cloned().unwrap_or_default();
    if let Some(name) = document.get_mut("name") {
        *name = Value::from(&*end.name);
    }
    if let Some(schema) = document.pointer_mut("/schema/openAPIV3Schema") {
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.remove(STATUS);
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name.as_str() != Some(STATUS));
        }
    }
    document
}

/// The field that controllers write.
const STATUS: &str = "status";
