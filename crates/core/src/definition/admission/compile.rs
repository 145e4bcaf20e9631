//! From the `admission` block as it is written to rules that are checked.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::document::{self, Document};
use super::paths;
use super::{Admission, Check, Rule, UpgradePath};
use crate::apimachinery::is_qualified_name;
use crate::definition::load::{Problems, hint, line};
use crate::definition::{Path, Schema, Version};
use crate::json::Json;
use crate::upgrade::Range;

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
        paths.insert(name.clone(), paths::path(name, path, problems)?);
    }
    let mut compiler = Compiler { versions, paths: &paths, problems };
    let mut rules: Vec<Rule> =
        block.rules.iter().filter_map(|rule| compiler.rule(rule, None)).collect();
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
            Err(error) => compiler.problems.add(line(controllers), format!("controllers: {error}")),
        }
    }
    let version_path = match &block.version_path {
        None => None,
        Some(name) => Some(compiler.named_path(name, line(written))?),
    };
    let version_label = block.version_label.clone().unwrap_or_else(|| default_label(group));
    if !is_qualified_name(&version_label) {
        problems.add(line(written), format!("versionLabel: {version_label:?} is no label key"));
    }
    Some(Admission { version_label, version_path, rules })
}

/// The label of kinds whose definition names none.
pub(crate) fn default_label(group: &str) -> String {
    format!("{group}/controller-version")
}

pub(super) struct Compiler<'a> {
    pub(super) versions: &'a [Version],
    paths: &'a BTreeMap<String, UpgradePath>,
    pub(super) problems: &'a mut Problems,
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
                ("immutable", newest, &immutable.field, Check::Immutable { unset })
            }
            Written::Range(bounds) => {
                let (min, max) = (bounds.min, bounds.max);
                match (min, max) {
                    (None, None) => self
                        .problems
                        .add(at_line, format!("range: {} has neither min nor max", bounds.field)),
                    (Some(min), Some(max)) if min > max => self.problems.add(
                        at_line,
                        format!("range: {} can never be in {min}…{max}", bounds.field),
                    ),
                    _ => {}
                }
                ("range", newest, &bounds.field, Check::Range { min, max })
            }
            Written::Requires(requires) => {
                let base = self.field(newest, &requires.field, at_line)?;
                if requires.needs.is_empty() {
                    self.problems.add(at_line, format!("requires: {base} needs nothing"));
                }
                let mut needs = Vec::new();
                for name in &requires.needs {
                    let path = self.field(newest, &format!("{base}.{name}"), at_line)?;
                    needs.push(path);
                }
                ("requires", newest, &requires.field, Check::Requires { needs })
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

    fn version(&mut self, name: Option<&str>, line: u64) -> Option<usize> {
        let Some(name) = name else {
            return Some(self.versions.len().saturating_sub(1));
        };
        let found = self.versions.iter().position(|version| version.name.as_ref() == name);
        if found.is_none() {
            let known = self
                .versions
                .iter()
                .map(|version| version.name.to_string())
                .collect::<Vec<_>>()
                .join(", ");
            self.problems.add(line, format!("at: the CRD has no version {name:?}; it has {known}"));
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
            let map = here.each.as_deref().filter(|_| here.kind.as_deref() == Some("object"));
            let Some(next) = here.properties.get(name.as_ref()).or(map) else {
                let hint = hint(here, name);
                self.problems
                    .add(line, format!("{path}: {} has no {name:?} there{hint}", version.name));
                return None;
            };
            here = next;
        }
        Some(path)
    }
}

fn jsons(values: &[Value]) -> Vec<Json<'static>> {
    values.iter().map(|value| Json::owned(value.to_string())).collect()
}
