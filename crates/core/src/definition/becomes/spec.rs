//! The `becomes` block of a definition, as it is written and as it is checked.

use std::collections::BTreeMap;
use std::io;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use serde_saphyr::Spanned;

use super::kind_conversion::{KindConversion, Bridge, KindRefusal, Retirement};
use crate::definition::admission::Admission;
use crate::definition::checks::ChecksSpec;
use crate::definition::compare::AcceptSpec;
use crate::definition::crd::{Crd, bare_names};
use crate::definition::gates::{GateCompiler, GateSpec};
use crate::definition::healthy::HealthySpec;
use crate::definition::operation::{Compiler, Fact, OperationSpec};
use crate::definition::path::Path;
use crate::definition::problems::{Problems, line};
use crate::definition::side::{Side, Sides};
use crate::definition::step::{ChangesSpec, Step};
use crate::definition::version::{Version, Versions};

/// How objects of another kind, that goes, become objects of the kind of this definition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Becomes")]
pub(in crate::definition) struct BecomesSpec {
    /// The kind that goes.
    from: SourceSpec,
    /// The version of this kind that its objects become.
    #[schemars(with = "String")]
    to: Spanned<String>,
    /// What changed. A field that no operation names is carried as it is. For operations, the kind that goes is the
    /// older version.
    #[serde(default)]
    #[schemars(with = "Vec<OperationSpec>")]
    operations: Vec<Spanned<OperationSpec>>,
    /// Differences between the two schemas that are meant as they are.
    #[serde(default)]
    #[schemars(with = "Vec<AcceptSpec>")]
    accept: Vec<Spanned<AcceptSpec>>,
    /// What is looked up beside an object of the kind that goes, by the names that conditions ask for.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, SecretFactSpec>")]
    facts: BTreeMap<String, Spanned<SecretFactSpec>>,
    /// Objects that cannot become one of this kind.
    #[serde(default)]
    #[schemars(with = "Vec<RefusalSpec>")]
    refuse: Vec<Spanned<RefusalSpec>>,
}

/// The kind that goes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "BecomesFrom")]
struct SourceSpec {
    /// The file of its CustomResourceDefinition, relative to this one.
    #[schemars(with = "String")]
    crd: Spanned<String>,
    /// The version of it that is converted.
    #[schemars(with = "String")]
    version: Spanned<String>,
    /// What a healthy object of it looks like, for rollouts.
    #[schemars(with = "Option<HealthySpec>")]
    healthy: Option<Spanned<HealthySpec>>,
    /// The field of its status that a rollout writes it to why an object is refused, such as `status.migration.error`.
    told: Option<String>,
    /// `warn` or `deny`: what `pointsman rollout policies` has the API server say to whoever makes a new object of it.
    #[schemars(with = "Option<String>")]
    retire: Option<Spanned<String>>,
}

/// A fact: whether a Secret in the namespace of the object has a key. It is false where the object names none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "SecretFact")]
struct SecretFactSpec {
    /// The field of the kind that goes that names the Secret.
    secret: String,
    /// The key of the Secret.
    key: String,
}

/// A condition under which an object does not become another one, and why.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Refusal")]
struct RefusalSpec {
    /// What holds of an object that is refused.
    when: GateSpec,
    /// What its owner is told: why, and what to do.
    message: String,
}

impl BecomesSpec {
    /// What happens between the two kinds. `target` is the CRD of the kind of this definition.
    pub(in crate::definition) fn compile(
        spec: &Spanned<Self>,
        target: &Crd,
        read: &mut dyn FnMut(&str) -> io::Result<String>,
        problems: &mut Problems,
    ) -> Option<KindConversion<Bridge>> {
        let (at_line, spec) = (line(spec), &spec.value);
        let source = Crd::read(&spec.from.crd, read, problems)?;
        may_become(&source, target, line(&spec.from.crd), problems)?;
        let from = &spec.from.version;
        let older = source.version(&from.value, line(from), problems)?;
        let newer = target.version(&spec.to.value, line(&spec.to), problems)?;
        let names = Sides { older: name_of(&source, target), newer: name_of(target, &source) };
        kept_names_fit(&[(&source, &names.older), (target, &names.newer)], line(&spec.from.crd), problems);
        let retirement = spec.from.retire.as_ref().and_then(|said| retirement(said, problems));
        let refusals = spec.refusals(&older, problems);
        let source_schema = older.schema.clone();
        let health = spec.from.healthy.as_ref().and_then(|one| HealthySpec::compile(one, &source_schema, problems));
        let told = spec.from.told.as_deref().and_then(|told| told_at(told, &older, line(from), problems));
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
            checks: ChecksSpec::compile(None, &admission, problems),
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
            is_namespaced: source.is_namespaced(),
            health,
            told,
            retirement,
            bridge,
        })
    }

    fn refusals(&self, source: &Version, problems: &mut Problems) -> Vec<KindRefusal> {
        let mut refusals = Vec::new();
        for refusal in &self.refuse {
            let at_line = line(refusal);
            let mut compiler = GateCompiler::new(&source.schema);
            let gate = compiler.gate(&refusal.value.when);
            for message in compiler.into_bad() {
                problems
                    .add(at_line, format!("refuse: {}", message.replace("the newest version", "the kind that goes")));
            }
            if refusal.value.message.trim().is_empty() {
                problems.add(at_line, "refuse: say in `message` why, and what to do");
            }
            refusals.extend(gate.map(|gate| KindRefusal { gate, message: refusal.value.message.clone() }));
        }
        refusals
    }

    fn facts(&self, versions: &Sides<Version>, problems: &mut Problems) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (name, fact) in &self.facts {
            let at_line = line(fact);
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

/// Whether one kind may become another one at all: nothing is looked at further where both are the same one.
fn may_become(source: &Crd, target: &Crd, at_line: u64, problems: &mut Problems) -> Option<()> {
    if (&source.group, &source.kind) == (&target.group, &target.kind) {
        let kind = format!("{}.{}", target.kind, target.group);
        problems.add(at_line, format!("becomes: {kind} cannot become itself: between its versions write `steps`"));
        return None;
    }
    if source.is_namespaced() != target.is_namespaced() {
        let scope = |crd: &Crd| if crd.is_namespaced() { "Namespaced" } else { "Cluster" };
        let (from, to) = (scope(source), scope(target));
        let message = format!(
            "becomes: the kind that goes has the scope {from}, and this one {to}: its objects have no place there"
        );
        problems.add(at_line, message);
    }
    Some(())
}

fn retirement(said: &Spanned<String>, problems: &mut Problems) -> Option<Retirement> {
    match said.value.as_str() {
        "warn" => Some(Retirement::Warn),
        "deny" => Some(Retirement::Deny),
        other => {
            problems.add(line(said), format!("becomes.from.retire: {other:?} is not known: write warn or deny"));
            None
        }
    }
}

/// The field of a status that is told why an object is refused.
fn told_at(text: &str, source: &Version, at_line: u64, problems: &mut Problems) -> Option<Path> {
    let path = Path::parse(text).map_err(|why| problems.add(at_line, format!("becomes.from.told: {why}"))).ok()?;
    let is_status = path.names().first().is_some_and(|name| **name == *STATUS);
    let kind = source.schema.find(&path).ok().and_then(|found| found.kind.clone());
    if !is_status || kind.as_deref() != Some("string") || !source.status_apart {
        let why = "has to be a text in the status of the kind that goes, which is a subresource";
        problems.add(at_line, format!("becomes.from.told: {path} {why}"));
    }
    Some(path)
}

/// What a kind is called in the names of what is kept for its versions: as its plural, unless the other kind has the
/// same one in another group.
fn name_of(crd: &Crd, other: &Crd) -> String {
    if crd.plural == other.plural { format!("{}.{}", crd.plural, crd.group) } else { crd.plural.clone() }
}

/// What is kept for each version of both kinds has a name, which Kubernetes allows 63 characters behind its prefix.
fn kept_names_fit(named: &[(&Crd, &String)], at_line: u64, problems: &mut Problems) {
    for (crd, kind) in named {
        let versions = crd.document.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        for version in versions.filter_map(|version| version.get("name")?.as_str()) {
            let name = format!("kept-{kind}.{version}");
            if name.len() > LONGEST_NAME {
                problems.add(at_line, format!(
                    "becomes: the annotation pointsman.dev/{name} has {} characters behind the slash, and Kubernetes allows \
                     {LONGEST_NAME}: the plural, the group or the version is too long",
                    name.len()
                ));
            }
        }
    }
}

/// Characters of the name of an annotation, without its prefix.
/// Source: `k8s.io/apimachinery pkg/util/validation/validation.go`, `qualifiedNameMaxLength`.
const LONGEST_NAME: usize = 63;

/// A version as one end of the way between two kinds. What stands in the status is not carried: it is what a controller
/// saw of another object.
fn end(mut version: Version, kind: &str) -> Version {
    version.name = format!("{kind}.{}", version.name).into();
    version.schema.properties.remove(STATUS);
    version.schema.required.remove(STATUS);
    // Which of them is stored, and who writes their status, is for the kinds themselves.
    (version.storage, version.served) = (false, true);
    version
}

/// What an API server would be told of an end.
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
