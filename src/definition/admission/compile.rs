//! From the `admission` block as it is written to rules that are checked.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::document::{self, Document};
use super::{Admission, Check, Rule, UpgradePath};
use crate::definition::load::{Problems, hint, line};
use crate::definition::{Path, Schema, Version};
use crate::json::Json;
use crate::upgrade::{self, Exact, Range, Step, Target};

/// Compiles the admission block of a kind.
pub(in crate::definition) fn compile(
    written: &Spanned<Document>,
    group: &str,
    versions: &[Version],
    problems: &mut Problems,
) -> Option<Admission> {
    let block = &written.value;
    let mut paths = BTreeMap::new();
    for (name, path) in &block.paths {
        paths.insert(name.clone(), self::path(name, path, problems)?);
    }
    let mut compiler = Compiler {
        versions,
        paths: &paths,
        problems,
    };
    let mut rules: Vec<Rule> = block
        .rules
        .iter()
        .filter_map(|rule| compiler.rule(rule, None))
        .collect();
    for controllers in &block.controllers {
        match Range::parse(&controllers.value.versions) {
            Ok(range) => {
                let more = controllers
                    .value
                    .rules
                    .iter()
                    .filter_map(|rule| compiler.rule(rule, Some(&range)));
                rules.extend(more.collect::<Vec<_>>());
            }
            Err(error) => compiler
                .problems
                .add(line(controllers), format!("controllers: {error}")),
        }
    }
    let version_path = match &block.version_path {
        None => None,
        Some(name) => Some(compiler.named_path(name, line(written))?),
    };
    let version_label = block
        .version_label
        .clone()
        .unwrap_or_else(|| default_label(group));
    if !is_qualified_name(&version_label) {
        problems.add(
            line(written),
            format!("versionLabel: {version_label:?} is no label key"),
        );
    }
    Some(Admission {
        version_label,
        version_path,
        rules,
    })
}

/// The label of kinds whose definition names none.
pub(crate) fn default_label(group: &str) -> String {
    format!("{group}/controller-version")
}

/// Whether this is a key of a label or an annotation: a name, with or without a DNS subdomain before it
/// (`apimachinery pkg/util/validation/validation.go`, `IsQualifiedName`).
fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').unwrap_or(("a", key));
    let ends = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part = |part: &str| {
        ends(part)
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    prefix.len() <= 253
        && name.len() <= 63
        && prefix.split('.').all(part)
        && ends(name)
        && name.chars().all(named)
}

fn path(
    name: &str,
    written: &Spanned<document::UpgradePath>,
    problems: &mut Problems,
) -> Option<UpgradePath> {
    let at = line(written);
    let mut path = upgrade::Path::default();
    let mut good = true;
    let mut bad = |problems: &mut Problems, message: String| {
        problems.add(at, format!("paths.{name}: {message}"));
        good = false;
    };
    for hop in &written.value.rules {
        let to = match (&hop.to, hop.step) {
            (Some(to), None) => Range::parse(to).map(Target::Range),
            (None, Some(step)) => Ok(Target::Step(match step {
                document::Step::Major => Step::Major,
                document::Step::Minor => Step::Minor,
                document::Step::Patch => Step::Patch,
            })),
            _ => Err(format!(
                "the rule from {:?} needs either `to` or `step`",
                hop.from
            )),
        };
        match (Range::parse(&hop.from), to) {
            (Ok(from), Ok(to)) => path.rules.push(upgrade::Rule { from, to }),
            (from, to) => from
                .err()
                .into_iter()
                .chain(to.err())
                .for_each(|error| bad(problems, error)),
        }
    }
    for neighbours in &written.value.versions {
        let mut read = |text: &String| {
            let version = upgrade::version(text);
            if version.is_none() {
                bad(problems, format!("{text:?} is no version"));
            }
            version
        };
        let version = read(&neighbours.version);
        let upgrade_from = neighbours
            .upgrade_from
            .iter()
            .filter_map(&mut read)
            .collect();
        let downgrade_to = neighbours
            .downgrade_to
            .iter()
            .filter_map(&mut read)
            .collect();
        path.exact.extend(version.map(|version| Exact {
            version,
            upgrade_from,
            downgrade_to,
        }));
    }
    for problem in path.never() {
        bad(problems, problem);
    }
    let annotations = [
        ("optOut", &written.value.opt_out),
        ("downgradeOptOut", &written.value.downgrade_opt_out),
    ];
    for (name, key) in annotations {
        if let Some(key) = key.as_ref().filter(|key| !is_qualified_name(key)) {
            bad(problems, format!("{name}: {key:?} is no annotation key"));
        }
    }
    for version in path.unknown() {
        bad(
            problems,
            format!("{version} is named as a neighbour, but has no entry under versions"),
        );
    }
    for version in path.unreachable() {
        bad(
            problems,
            format!("no other version leads to {version}: it could never be upgraded to"),
        );
    }
    if path.rules.is_empty() && path.exact.is_empty() {
        bad(
            problems,
            "allows nothing: give it rules or versions".to_owned(),
        );
    }
    good.then(|| UpgradePath {
        path,
        opt_out: written.value.opt_out.clone(),
        downgrade_opt_out: written.value.downgrade_opt_out.clone(),
    })
}

struct Compiler<'a> {
    versions: &'a [Version],
    paths: &'a BTreeMap<String, UpgradePath>,
    problems: &'a mut Problems,
}

impl Compiler<'_> {
    fn rule(
        &mut self,
        rule: &Spanned<document::Rule>,
        controllers: Option<&Range>,
    ) -> Option<Rule> {
        use document::Rule as Written;
        let at_line = line(rule);
        let newest = self.versions.len().saturating_sub(1);
        let (name, at, field, check) = match &rule.value {
            Written::Deprecated(deprecated) => {
                let at = self.version(deprecated.at.as_deref(), at_line)?;
                let check = Check::Deprecated {
                    successor: deprecated.successor.clone(),
                    unless: jsons(&deprecated.unless),
                };
                ("deprecated", at, &deprecated.field, check)
            }
            Written::Duration(field) => ("duration", newest, &field.field, Check::Duration),
            Written::Immutable(immutable) => {
                let unset = jsons(&immutable.unset);
                (
                    "immutable",
                    newest,
                    &immutable.field,
                    Check::Immutable { unset },
                )
            }
            Written::Range(bounds) => {
                let (min, max) = (bounds.min, bounds.max);
                if min.is_none() && max.is_none() {
                    self.problems.add(
                        at_line,
                        format!("range: {} has neither min nor max", bounds.field),
                    );
                }
                if let (Some(min), Some(max)) = (min, max) {
                    if min > max {
                        self.problems.add(
                            at_line,
                            format!("range: {} can never be in {min}…{max}", bounds.field),
                        );
                    }
                }
                ("range", newest, &bounds.field, Check::Range { min, max })
            }
            Written::Requires(requires) => {
                let base = self.field(newest, &requires.field, at_line)?;
                if requires.needs.is_empty() {
                    self.problems
                        .add(at_line, format!("requires: {base} needs nothing"));
                }
                let mut needs = Vec::new();
                for name in &requires.needs {
                    let path = self.field(newest, &format!("{base}.{name}"), at_line)?;
                    needs.push(path);
                }
                (
                    "requires",
                    newest,
                    &requires.field,
                    Check::Requires { needs },
                )
            }
            Written::Upgrade(upgrade) => {
                let path = self.named_path(&upgrade.path, at_line)?;
                let running = match &upgrade.running {
                    Some(running) => Some(self.field(newest, running, at_line)?),
                    None => None,
                };
                if let Some(running) = &running {
                    self.is_of_type("upgrade", newest, running, "string", at_line);
                }
                let check = Check::Upgrade {
                    or_wanted: upgrade.or_wanted || running.is_none(),
                    running,
                    reading: upgrade.reading,
                    path,
                    no_downgrade: upgrade.no_downgrade,
                };
                ("upgrade", newest, &upgrade.wanted, check)
            }
            Written::Warn(warn) => {
                let at = self.version(warn.at.as_deref(), at_line)?;
                let mut unlike = Vec::new();
                for other in warn.unlike.iter() {
                    unlike.push(self.field(at, other, at_line)?);
                }
                let is = warn.is.as_ref().map(|value| Json::owned(value.to_string()));
                (
                    "warn",
                    at,
                    &warn.field,
                    Check::Warn {
                        is,
                        unless: jsons(&warn.unless),
                        unlike,
                        message: warn.message.clone(),
                    },
                )
            }
        };
        let only = matches!(
            &rule.value,
            Written::Deprecated(document::Deprecated { at: Some(_), .. })
                | Written::Warn(document::Warn { at: Some(_), .. })
        );
        let field = self.field(at, field, at_line)?;
        self.check_type(name, at, &field, &check, at_line);
        let check = self.with_empty_uuid(at, &field, check);
        Some(Rule {
            only,
            id: format!("{name}:{field}"),
            controllers: controllers.cloned(),
            at,
            field,
            check,
        })
    }

    /// A rule whose field has another type could never hold.
    fn check_type(&mut self, name: &str, at: usize, field: &Path, check: &Check, line: u64) {
        let Some(schema) = self
            .versions
            .get(at)
            .and_then(|version| version.schema.at(field))
        else {
            return;
        };
        let wanted = match check {
            Check::Duration | Check::Upgrade { .. } => "string",
            Check::Range { .. } => "integer",
            Check::Requires { .. } => "object",
            Check::Immutable { unset } => {
                for value in unset.iter().filter(|value| !schema.admits(value)) {
                    self.problems.add(
                        line,
                        format!("{name}: {field} can never be {}", value.to_text()),
                    );
                }
                return;
            }
            Check::Warn {
                is: Some(value), ..
            } if !schema.admits(value) => {
                self.problems.add(
                    line,
                    format!("{name}: {field} can never be {}", value.to_text()),
                );
                return;
            }
            Check::Deprecated { .. } | Check::Warn { .. } => return,
        };
        self.is_of_type(name, at, field, wanted, line);
    }

    fn is_of_type(&mut self, name: &str, at: usize, field: &Path, wanted: &str, line: u64) {
        let schema = self
            .versions
            .get(at)
            .and_then(|version| version.schema.at(field));
        let Some(kind) = schema.and_then(|schema| schema.kind.as_deref()) else {
            return;
        };
        if kind != wanted {
            let problem = format!("{name}: {field} is of type {kind}, not {wanted}");
            self.problems.add(line, problem);
        }
    }

    /// An empty string is no UUID, so it is none that was set.
    fn with_empty_uuid(&self, at: usize, field: &Path, check: Check) -> Check {
        let schema = self
            .versions
            .get(at)
            .and_then(|version| version.schema.at(field));
        let uuid = schema.is_some_and(|schema| schema.format.as_deref() == Some("uuid"));
        match check {
            Check::Immutable { mut unset } if uuid => {
                unset.push(Json::string(""));
                Check::Immutable { unset }
            }
            check => check,
        }
    }

    fn version(&mut self, name: Option<&str>, line: u64) -> Option<usize> {
        let Some(name) = name else {
            return Some(self.versions.len().saturating_sub(1));
        };
        let found = self
            .versions
            .iter()
            .position(|version| version.name.as_ref() == name);
        if found.is_none() {
            let known = self
                .versions
                .iter()
                .map(|version| version.name.to_string())
                .collect::<Vec<_>>()
                .join(", ");
            self.problems.add(
                line,
                format!("at: the CRD has no version {name:?}; it has {known}"),
            );
        }
        found
    }

    fn named_path(&mut self, name: &str, line: u64) -> Option<UpgradePath> {
        let found = self.paths.get(name).cloned();
        if found.is_none() {
            let known = self.paths.keys().cloned().collect::<Vec<_>>().join(", ");
            self.problems.add(
                line,
                format!("there is no upgrade path {name:?} under paths; there is {known}"),
            );
        }
        found
    }

    fn field(&mut self, at: usize, text: &str, line: u64) -> Option<Path> {
        let path = match Path::parse(text) {
            Ok(path) => path,
            Err(error) => {
                self.problems.add(line, error);
                return None;
            }
        };
        let version = self.versions.get(at)?;
        let mut here: &Schema = &version.schema;
        for name in path.names() {
            let map = here
                .each
                .as_deref()
                .filter(|_| here.kind.as_deref() == Some("object"));
            let Some(next) = here.properties.get(name.as_ref()).or(map) else {
                let hint = hint(here, name);
                self.problems.add(
                    line,
                    format!("{path}: {} has no {name:?} there{hint}", version.name),
                );
                return None;
            };
            here = next;
        }
        Some(path)
    }
}

fn jsons(values: &[Value]) -> Vec<Json<'static>> {
    values
        .iter()
        .map(|value| Json::owned(value.to_string()))
        .collect()
}
