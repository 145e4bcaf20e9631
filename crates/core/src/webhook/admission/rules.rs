//! The rules of a definition, applied to an object and to what it was before.

use std::cmp::Ordering;

use semver::Version;

use super::compare::{compare, is_duration, is_empty, same_value};
use super::field::FieldError;
use super::field_path::spelled;
use crate::definition::admission::{Check, Reading, Rule, UpgradePath};
use crate::definition::{Kind, Path};
use crate::json::Json;
use crate::upgrade::{self, Refused};
use crate::webhook::convert::{Object, tree};

/// An object in the version that a rule speaks of.
pub(super) struct Subject<'a> {
    pub(super) kind: &'a Kind,
    /// The version of the fields, and that of the request.
    pub(super) at: usize,
    pub(super) request: usize,
    pub(super) new: Object<'a>,
    pub(super) old: Option<Object<'a>>,
    /// The object as it was sent, after and before, where what was before cannot be converted.
    pub(super) sent: Option<[Object<'a>; 2]>,
}

/// What a rule found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) errors: Vec<FieldError>,
    /// What was wrong before, and is left alone.
    pub(super) known: Vec<FieldError>,
    pub(super) warnings: Vec<String>,
}

impl Found {
    /// Lets pass what is wrong already.
    pub(super) fn excuse(&mut self) {
        self.known.append(&mut self.errors);
    }
}

/// Whether a rule belongs to a controller version. A server without one has the rules of all.
pub(super) fn applies(rule: &Rule, controller: Option<&Version>) -> bool {
    match (&rule.controllers, controller) {
        (Some(range), Some(version)) => range.contains(version),
        _ => true,
    }
}

fn value<'a>(object: &mut Object<'a>, path: &Path) -> Option<Json<'a>> {
    let value = tree::get(&mut object.root, "", path).ok().flatten()?;
    (!value.is_null()).then(|| value.clone())
}

impl<'a> Subject<'a> {
    fn new_value(&mut self, path: &Path) -> Option<Json<'a>> {
        value(&mut self.new, path)
    }

    fn old_value(&mut self, path: &Path) -> Option<Json<'a>> {
        self.old.as_mut().and_then(|old| value(old, path))
    }

    /// A field as the version of the request spells it.
    fn name(&self, path: &Path) -> String {
        spelled(self.kind, path, self.at, self.request).to_string()
    }

    /// Whether an update left a field as it was.
    fn untouched(&mut self, path: &Path) -> bool {
        let values = match &mut self.sent {
            Some([new, old]) => {
                let path = spelled(self.kind, path, self.at, self.request);
                [value(new, &path), value(old, &path)]
            }
            None if self.old.is_none() => return false,
            None => [self.new_value(path), self.old_value(path)],
        };
        match values {
            [None, None] => true,
            [Some(new), Some(old)] => same_value(&new, &old),
            _ => false,
        }
    }

    /// What a field was before, even where all of the object cannot be converted.
    fn was(&mut self, path: &Path) -> Option<Json<'a>> {
        match &mut self.sent {
            Some([_, old]) => value(old, &spelled(self.kind, path, self.at, self.request)),
            None => self.old_value(path),
        }
    }

    /// Applies a rule. What an update found already there and left alone is a warning: an object that a rule came too
    /// late for must not become one that nobody can change.
    pub(super) fn apply(&mut self, rule: &Rule, ratchet: bool) -> Found {
        let mut found = self.check(rule, ratchet);
        if ratchet && !found.errors.is_empty() && self.untouched(&rule.field) {
            found.excuse();
        }
        found
    }

    fn check(&mut self, rule: &Rule, ratchet: bool) -> Found {
        let mut found = Found::default();
        let new = self.new_value(&rule.field);
        let field = &self.name(&rule.field);
        match (&rule.check, new) {
            (Check::Deprecated { successor, unless }, Some(new)) => {
                if !unless.iter().any(|value| value.same(&new)) {
                    found.warnings.push(format!("{field} is deprecated: use {successor}"));
                }
            }
            (Check::Duration, Some(new)) => {
                if new.as_str().is_none_or(|text| !is_duration(&text)) {
                    found.errors.push(FieldError::invalid(
                        field,
                        &new,
                        "must be a duration such as 2160h or 1h30m",
                    ));
                }
            }
            (Check::Immutable { unset }, new) => {
                let is_set = |value: &Json<'_>| !unset.iter().any(|unset| same_value(unset, value));
                if let Some(old) = self.old_value(&rule.field).filter(is_set) {
                    match new {
                        Some(new) if same_value(&new, &old) => {}
                        Some(new) => found.errors.push(FieldError::invalid(
                            field,
                            &new,
                            "field is immutable",
                        )),
                        None => found.errors.push(FieldError::required(
                            field,
                            "field is immutable, it cannot be removed",
                        )),
                    }
                }
            }
            (Check::Range { min, max }, Some(new)) => {
                let low = min.filter(|min| compare(&new, *min) == Some(Ordering::Less));
                let high = max.filter(|max| compare(&new, *max) == Some(Ordering::Greater));
                if let Some(min) = low {
                    found.errors.push(FieldError::invalid(
                        field,
                        &new,
                        format!("must be greater than or equal to {min}"),
                    ));
                }
                if let Some(max) = high {
                    found.errors.push(FieldError::invalid(
                        field,
                        &new,
                        format!("must be less than or equal to {max}"),
                    ));
                }
            }
            (Check::Requires { needs }, Some(_)) => {
                for need in needs {
                    if self.new_value(need).is_none_or(|value| is_empty(&value)) {
                        let why = format!("must be set where {field} is");
                        let error = FieldError::required(self.name(need), why);
                        // Each need by itself: one that was missed before may be the next to be repaired.
                        if ratchet
                            && self.was(&rule.field).is_some()
                            && self.was(need).is_none_or(|value| is_empty(&value))
                        {
                            found.known.push(error);
                        } else {
                            found.errors.push(error);
                        }
                    }
                }
            }
            (Check::Upgrade { .. }, Some(new)) => self.check_upgrade(rule, &new, &mut found),
            (Check::Warn { is, unless, unlike, message }, Some(new)) => {
                let is = is.as_ref().is_none_or(|value| value.same(&new));
                let none = unless.iter().any(|value| same_value(value, &new));
                let mut others = unlike.iter().filter_map(|other| self.new_value(other));
                let alone = unlike.is_empty()
                    || !is_empty(&new) && !others.any(|other| same_value(&other, &new));
                if is && !none && alone {
                    found.warnings.push(format!("{field}: {message}"));
                }
            }
            (_, None) => {}
        }
        found
    }

    /// Nothing runs before an object is there. What runs is what the status said before this write.
    fn check_upgrade(&mut self, rule: &Rule, new: &Json<'_>, found: &mut Found) {
        let Check::Upgrade { running, or_wanted, reading, path, no_downgrade } = &rule.check else {
            return;
        };
        let version = |value: Json<'_>| value.as_str().and_then(|text| read(&text, *reading));
        let Some(wanted) = version(new.clone()) else {
            return;
        };
        let before = self.old_value(&rule.field).and_then(version);
        let runs = running.as_ref().and_then(|running| self.old_value(running));
        let runs = runs.and_then(version).or_else(|| before.clone().filter(|_| *or_wanted));
        let before = before.filter(|before| *no_downgrade && wanted.cmp_precedence(before).is_lt());
        for from in [runs, before].into_iter().flatten() {
            let Err(refused) = path.path.allow(&from, &wanted) else {
                continue;
            };
            let field = self.name(&rule.field);
            let Some(annotation) = opted_out(&self.new, path, &refused) else {
                let error = FieldError::invalid(field, new, refused.to_string());
                found.errors.push(error);
                return;
            };
            if !self.untouched(&rule.field) {
                found.warnings.push(format!(
                    "{field}: {refused}; not enforced because of annotation {annotation}"
                ));
            }
        }
    }
}

/// The annotation of an object that turns a check of an upgrade path off.
pub(super) fn opted_out<'p>(
    object: &Object<'_>,
    path: &'p UpgradePath,
    refused: &Refused,
) -> Option<&'p str> {
    let downgrade = refused.wanted.cmp_precedence(&refused.running).is_lt();
    let names = [path.opt_out.as_deref(), path.downgrade_opt_out.as_deref().filter(|_| downgrade)];
    let mut names = names.into_iter().flatten();
    names.find(|name| object.annotations.text(name).is_some_and(|value| value != "false"))
}

fn read(text: &str, reading: Reading) -> Option<Version> {
    match reading {
        Reading::ImageTag => upgrade::image_tag(text),
        Reading::Version => upgrade::version(text),
    }
}
