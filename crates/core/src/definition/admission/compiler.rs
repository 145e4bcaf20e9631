//! Compiles rules against the schemas of the versions. Rejects a field that does not exist, and a rule that can never
//! hold for the type of its field.

use std::collections::BTreeMap;

use serde_json::Value;

use super::observe::{ObservedSpec, VersionSource};
use super::observed_part::VersionPlace;
use super::other_source::OtherSource;
use super::others_spec::OthersSpec;
use super::role::{RoleSource, RoleSpec};
use super::rule::{Check, Rule};
use super::rule_spec::{DeprecatedSpec, RangeSpec, Reading, RequiresSpec, RuleSpec, UpgradeSpec, WarnSpec};
use super::upgrade_path::UpgradePath;
use crate::definition::gates::{Gate, GateCompiler, GateSpec};
use crate::definition::problems::Problems;
use crate::definition::version::{VersionIndex, Versions};
use crate::definition::yaml::Spanned;
use crate::definition::{path::Path, schema::Schema};
use crate::{
    apimachinery::{is_dns_label, is_qualified_name},
    definition::upgrade::Range,
    json::Json,
};

/// Compiles rules one by one.
pub(super) struct RuleCompiler<'a> {
    versions: &'a Versions,
    paths: &'a BTreeMap<String, UpgradePath>,
    /// Group and kind of the objects.
    of: (&'a str, &'a str),
    problems: &'a mut Problems,
    /// The line of reported problems.
    line: u64,
}

impl<'a> RuleCompiler<'a> {
    pub(super) fn new(
        versions: &'a Versions,
        paths: &'a BTreeMap<String, UpgradePath>,
        of: (&'a str, &'a str),
        problems: &'a mut Problems,
    ) -> Self {
        Self { versions, paths, of, problems, line: 0 }
    }

    /// Sets the line of the next items.
    pub(super) fn at(&mut self, line: u64) -> &mut Self {
        self.line = line;
        self
    }

    pub(super) fn problem(&mut self, message: impl Into<String>) {
        self.problems.add(self.line, message);
    }

    /// Compiles a rule for all or some controller versions.
    pub(super) fn rule(&mut self, rule: &Spanned<RuleSpec>, controllers: Option<&Range>) -> Option<Rule> {
        self.line = rule.line;
        let spec = &rule.value;
        let newest = self.versions.newest();
        let (name, at, field, check) = match spec {
            RuleSpec::Deprecated(DeprecatedSpec { field, at, successor, unless }) => {
                let at = self.version(at.as_deref())?;
                let (successor, unless) = (successor.clone(), jsons(unless));
                ("deprecated", at, field, Check::Deprecated { successor, unless })
            }
            RuleSpec::Duration(duration) => ("duration", newest, &duration.field, Check::Duration),
            RuleSpec::Immutable(immutable) => {
                let unset = jsons(&immutable.unset);
                ("immutable", newest, &immutable.field, Check::Immutable { unset, uuid: false })
            }
            RuleSpec::Range(range) => ("range", newest, &range.field, self.range(range)),
            RuleSpec::Requires(requires) => ("requires", newest, &requires.field, self.requires(requires)?),
            RuleSpec::Upgrade(upgrade) => ("upgrade", newest, &upgrade.wanted, self.upgrade(upgrade)?),
            RuleSpec::Warn(warn) => {
                let at = self.version(warn.at.as_deref())?;
                ("warn", at, &warn.field, self.warn(warn, at)?)
            }
        };
        let only = matches!(
            spec,
            RuleSpec::Deprecated(DeprecatedSpec { at: Some(_), .. }) | RuleSpec::Warn(WarnSpec { at: Some(_), .. })
        );
        let (field, schema) = self.field(at, field)?;
        self.can_hold(name, &field, schema, &check);
        let check = with_empty_uuid(schema, check);
        let id = format!("{name}:{field}");
        Some(Rule { only, id, controllers: controllers.cloned(), at, field, check })
    }

    /// Compiles a gate that must pass before a handover.
    pub(super) fn handover(&mut self, gate: &Spanned<GateSpec>) -> Option<Gate> {
        self.line = gate.line;
        let schema = &self.versions.at(self.versions.newest()).schema;
        let mut compiler = GateCompiler::new(schema);
        let compiled = compiler.gate(&gate.value);
        for message in compiler.into_bad() {
            self.problem(format!("handover: {message}"));
        }
        compiled
    }

    /// Compiles a place of the running version, and returns its part. With `has_path`, a text that is no version is an
    /// error at run time.
    pub(super) fn observed(
        &mut self,
        place: &Spanned<ObservedSpec>,
        has_path: bool,
    ) -> Option<(Option<String>, VersionPlace)> {
        self.line = place.line;
        let part = &place.value.part;
        if let Some(part) = part.as_ref().filter(|part| !is_dns_label(part)) {
            self.problem(format!("observe: {part:?} is no name of a part: use lower case letters, digits and hyphens"));
            return None;
        }
        let place = match &place.value.from {
            None => VersionPlace::Own(self.own_place(&place.value, has_path)?),
            Some(others) => VersionPlace::Others(Box::new(self.others(others, &place.value, has_path)?)),
        };
        Some((part.clone(), place))
    }

    fn own_place(&mut self, spec: &ObservedSpec, has_path: bool) -> Option<VersionSource> {
        let ObservedSpec { label, field, reading, optional, .. } = spec;
        match (label, field, reading) {
            (Some(key), None, None) => {
                self.label_key("observe", key)?;
                Some(VersionSource::label(key, *optional, has_path))
            }
            (None, Some(field), reading) => {
                let at = self.text_field("observe", field)?;
                let (name, reading) = (at.to_string(), reading.unwrap_or(Reading::Version));
                Some(VersionSource { at, name, reading, optional: *optional, strict: has_path })
            }
            _ => {
                self.problem(
                    "observe: a place is either {label: KEY} or {field: FIELD}, a field also with `as: imageTag`",
                );
                None
            }
        }
    }

    fn others(&mut self, others: &OthersSpec, spec: &ObservedSpec, has_path: bool) -> Option<OtherSource> {
        let (None, Some(field)) = (&spec.label, &spec.field) else {
            self.problem("observe: `from` others needs a `field` of these objects");
            return None;
        };
        let compiled = Path::parse(field).and_then(|at| {
            let (name, reading) = (at.to_string(), spec.reading.unwrap_or(Reading::Version));
            let version = VersionSource { at, name, reading, optional: false, strict: has_path };
            OtherSource::compile(others, self.of, version, spec.optional)
        });
        compiled.map_err(|why| self.problem(format!("observe: {why}"))).ok()
    }

    /// Compiles a place that contains the role of an object.
    pub(super) fn role(&mut self, role: &Spanned<RoleSpec>) -> Option<RoleSource> {
        self.line = role.line;
        match (&role.value.label, &role.value.field) {
            (Some(key), None) => {
                self.label_key("role", key)?;
                Some(RoleSource::label(key))
            }
            (None, Some(field)) => self.text_field("role", field).map(RoleSource::field),
            _ => {
                self.problem("role: must be {label: KEY} or {field: FIELD}");
                None
            }
        }
    }

    fn label_key(&mut self, what: &str, key: &str) -> Option<()> {
        let is_key = is_qualified_name(key);
        if !is_key {
            self.problem(format!("{what}: {key:?} is no label key"));
        }
        is_key.then_some(())
    }

    /// A string field of the newest version.
    fn text_field(&mut self, what: &str, field: &str) -> Option<Path> {
        let (at, schema) = self.field(self.versions.newest(), field)?;
        self.is_of_type(what, &at, schema, "string");
        Some(at)
    }

    fn range(&mut self, &RangeSpec { ref field, min, max }: &RangeSpec) -> Check {
        match (min, max) {
            (None, None) => {
                self.problem(format!("range: {field} has neither min nor max"));
            }
            (Some(min), Some(max)) if min > max => {
                self.problem(format!("range: {field} can never be in {min}…{max}"));
            }
            _ => {}
        }
        Check::Range { min, max }
    }

    fn requires(&mut self, requires: &RequiresSpec) -> Option<Check> {
        let newest = self.versions.newest();
        let (base, _) = self.field(newest, &requires.field)?;
        if requires.needs.is_empty() {
            self.problem(format!("requires: {base} has no needs"));
        }
        let needs = requires.needs.iter();
        let needs = needs.map(|name| self.field(newest, &format!("{base}.{name}")).map(|(path, _)| path));
        Some(Check::Requires { needs: needs.collect::<Option<_>>()? })
    }

    fn upgrade(&mut self, upgrade: &UpgradeSpec) -> Option<Check> {
        let path = self.upgrade_path(&upgrade.path)?;
        let running = match &upgrade.running {
            Some(running) => Some(self.field(self.versions.newest(), running)?),
            None => None,
        };
        if let Some((running, schema)) = &running {
            self.is_of_type("upgrade", running, schema, "string");
        }
        Some(Check::Upgrade {
            or_wanted: upgrade.or_wanted || running.is_none(),
            running: running.map(|(path, _)| path),
            reading: upgrade.reading,
            path,
            no_downgrade: upgrade.no_downgrade,
        })
    }

    fn warn(&mut self, warn: &WarnSpec, at: VersionIndex) -> Option<Check> {
        let unlike = warn.unlike.iter();
        let unlike = unlike.map(|other| self.field(at, other).map(|(path, _)| path));
        Some(Check::Warn {
            unlike: unlike.collect::<Option<_>>()?,
            is: warn.is.as_ref().map(|value| Json::owned(value.to_string())),
            unless: jsons(&warn.unless),
            message: warn.message.clone(),
        })
    }

    /// The version of this name, or the newest version without a name.
    fn version(&mut self, name: Option<&str>) -> Option<VersionIndex> {
        let Some(name) = name else {
            return Some(self.versions.newest());
        };
        let found = self.versions.named(name);
        if found.is_none() {
            let known = self.versions.names();
            self.problem(format!("at: the CRD has no version {name:?}; known versions: {known}"));
        }
        found
    }

    pub(super) fn upgrade_path(&mut self, name: &str) -> Option<UpgradePath> {
        let found = self.paths.get(name).cloned();
        if found.is_none() {
            let known = self.paths.keys().cloned().collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none" } else { known.as_str() };
            self.problem(format!("paths has no upgrade path {name:?}; known paths: {known}"));
        }
        found
    }

    /// A field that must exist in the schema of a version.
    fn field(&mut self, at: VersionIndex, text: &str) -> Option<(Path, &'a Schema)> {
        let version = self.versions.at(at);
        let problem = match Path::parse(text) {
            Ok(path) => match version.schema.find(&path) {
                Ok(schema) => return Some((path, schema)),
                Err(missing) => {
                    let (name, hint) = (missing.name, missing.did_you_mean());
                    format!("{path}: {} has no {name:?} there{hint}", version.name)
                }
            },
            Err(error) => error,
        };
        self.problem(problem);
        None
    }

    /// Reports a rule that can never hold because its field has another type.
    fn can_hold(&mut self, name: &str, field: &Path, schema: &Schema, check: &Check) {
        let (wanted, values) = match check {
            Check::Duration | Check::Upgrade { .. } => (Some("string"), &[][..]),
            Check::Range { .. } => (Some("integer"), &[][..]),
            Check::Requires { .. } => (Some("object"), &[][..]),
            Check::Immutable { unset, .. } => (None, unset.as_slice()),
            Check::Warn { is, .. } => (None, is.as_slice()),
            Check::Deprecated { .. } => (None, &[][..]),
        };
        for value in values.iter().filter(|value| !schema.admits(value)) {
            self.problem(format!("{name}: {field} can never be {}", value.to_text()));
        }
        if let Some(wanted) = wanted {
            self.is_of_type(name, field, schema, wanted);
        }
    }

    fn is_of_type(&mut self, name: &str, field: &Path, schema: &Schema, wanted: &str) {
        if let Some(kind) = schema.kind.as_deref().filter(|kind| *kind != wanted) {
            self.problem(format!("{name}: {field} is of type {kind}, not {wanted}"));
        }
    }
}

fn jsons(values: &[Value]) -> Vec<Json<'static>> {
    values.iter().map(|value| Json::owned(value.to_string())).collect()
}

/// Adds the empty string to the unset values of a UUID field.
fn with_empty_uuid(schema: &Schema, check: Check) -> Check {
    match check {
        Check::Immutable { mut unset, .. } if schema.format.as_deref() == Some("uuid") => {
            unset.push(Json::string(""));
            Check::Immutable { unset, uuid: true }
        }
        check => check,
    }
}
