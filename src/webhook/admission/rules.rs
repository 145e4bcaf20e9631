//! The rules of a definition, applied to an object and to what it was before.

use semver::Version;

use super::field::FieldError;
use crate::definition::admission::{Check, Reading, Rule, UpgradePath};
use crate::definition::{Kind, Path};
use crate::json::Json;
use crate::upgrade::{self, Refused};
use crate::webhook::convert::{Object, tree};

/// An object in the version that a rule speaks of.
pub(super) struct Subject<'a> {
    pub(super) new: Object<'a>,
    pub(super) old: Option<Object<'a>>,
}

/// What a rule found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) errors: Vec<FieldError>,
    pub(super) warnings: Vec<String>,
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

    /// Whether an update left a field as it was.
    fn untouched(&mut self, path: &Path) -> bool {
        match (self.new_value(path), self.old_value(path)) {
            (None, None) => self.old.is_some(),
            (Some(new), Some(old)) => new.same(&old),
            _ => false,
        }
    }

    /// Applies a rule. What an update found already there and left alone is a warning: an object that a rule came too
    /// late for must not become one that nobody can change.
    pub(super) fn apply(&mut self, rule: &Rule, ratchet: bool) -> Found {
        let mut found = self.check(rule);
        if ratchet && self.untouched(&rule.field) {
            let known = found
                .errors
                .drain(..)
                .map(|error| format!("{error} (it was so before, so it may stay)"));
            found.warnings.extend(known);
        }
        found
    }

    fn check(&mut self, rule: &Rule) -> Found {
        let mut found = Found::default();
        let field = &rule.field;
        let new = self.new_value(field);
        match (&rule.check, new) {
            (Check::Deprecated { successor, unless }, Some(new)) => {
                if !unless.iter().any(|value| value.same(&new)) {
                    found
                        .warnings
                        .push(format!("{field} is deprecated: use {successor}"));
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
                if let Some(old) = self.old_value(field).filter(is_set) {
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
                let number = new.scalar().and_then(|text| text.parse::<i128>().ok());
                let low = min.filter(|min| number.is_some_and(|number| number < i128::from(*min)));
                let high = max.filter(|max| number.is_some_and(|number| number > i128::from(*max)));
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
                        found.errors.push(FieldError::required(
                            need,
                            format!("must be set where {field} is"),
                        ));
                    }
                }
            }
            (
                Check::Upgrade {
                    running,
                    reading,
                    path,
                    no_downgrade,
                },
                Some(new),
            ) => {
                found = self.check_upgrade(
                    field,
                    &new,
                    running.as_ref(),
                    *reading,
                    path,
                    *no_downgrade,
                );
            }
            (
                Check::Warn {
                    is,
                    unlike,
                    message,
                },
                Some(new),
            ) => {
                let is = is.as_ref().is_none_or(|value| value.same(&new));
                let unlike = match unlike {
                    Some(other) => {
                        self.new_value(other).is_none_or(|other| !other.same(&new))
                            && !is_empty(&new)
                    }
                    None => true,
                };
                if is && unlike {
                    found.warnings.push(format!("{field}: {message}"));
                }
            }
            (_, None) => {}
        }
        found
    }

    fn check_upgrade(
        &mut self,
        field: &Path,
        new: &Json<'_>,
        running: Option<&Path>,
        reading: Reading,
        path: &UpgradePath,
        no_downgrade: bool,
    ) -> Found {
        let mut found = Found::default();
        let before = self.old_value(field);
        let runs = running
            .and_then(|running| self.new_value(running))
            .or_else(|| before.clone());
        let version = |value: &Json<'_>| value.as_str().and_then(|text| read(&text, reading));
        let Some(wanted) = version(new) else {
            return found;
        };
        let mut refused = runs
            .as_ref()
            .and_then(version)
            .and_then(|running| path.path.allow(&running, &wanted).err());
        let before = before
            .as_ref()
            .and_then(version)
            .filter(|before| no_downgrade && wanted.cmp_precedence(before).is_lt());
        refused =
            refused.or_else(|| before.and_then(|before| path.path.allow(&before, &wanted).err()));
        if let Some(refused) = refused {
            match opted_out(&self.new, path, &refused) {
                Some(annotation) => found.warnings.push(format!(
                    "{field}: {refused}; not enforced because of annotation {annotation}"
                )),
                None => found
                    .errors
                    .push(FieldError::invalid(field, new, refused.to_string())),
            }
        }
        found
    }
}

/// The annotation of an object that turns a check of an upgrade path off.
pub(super) fn opted_out<'p>(
    object: &Object<'_>,
    path: &'p UpgradePath,
    refused: &Refused,
) -> Option<&'p str> {
    let downgrade = refused.wanted.cmp_precedence(&refused.running).is_lt();
    let names = [
        path.opt_out.as_deref(),
        path.downgrade_opt_out.as_deref().filter(|_| downgrade),
    ];
    let mut names = names.into_iter().flatten();
    names.find(|name| {
        object
            .annotations
            .text(name)
            .is_some_and(|value| value != "false")
    })
}

fn read(text: &str, reading: Reading) -> Option<Version> {
    match reading {
        Reading::ImageTag => upgrade::image_tag(text),
        Reading::Version => upgrade::version(text),
    }
}

fn is_empty(value: &Json<'_>) -> bool {
    matches!(value.to_text().as_str(), "\"\"" | "[]" | "{}" | "null")
}

/// The same value, or two spellings of one UUID.
fn same_value(one: &Json<'_>, two: &Json<'_>) -> bool {
    let uuid = |value: &Json<'_>| {
        value
            .as_str()
            .and_then(|text| uuid::Uuid::try_parse(&text).ok())
    };
    one.same(two) || matches!((uuid(one), uuid(two)), (Some(one), Some(two)) if one == two)
}

/// A duration as Go's `time.ParseDuration` takes it.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (digits, unit) = rest.split_at(number);
        if !digits.contains(|c: char| c.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let Some(tail) = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"]
            .iter()
            .find_map(|known| unit.strip_prefix(known))
        else {
            return false;
        };
        rest = tail;
    }
    true
}

/// How a field of the rules' version is spelled in the version of the request.
pub(crate) fn spelled(kind: &Kind, path: &str, from: usize, to: usize) -> String {
    let Ok(mut path) = Path::parse(path) else {
        return path.to_owned();
    };
    let mut at = from;
    while at != to {
        let (side, next) = if at < to {
            (crate::definition::Side::Newer, at + 1)
        } else {
            (crate::definition::Side::Older, at - 1)
        };
        let Some(step) = kind.steps.get(at.min(next)) else {
            break;
        };
        let moved = step.level.operations.iter().find_map(|operation| {
            let from = operation.places.of(side.other()).first()?;
            let to = operation.places.of(side).first()?;
            (path.starts_with(&from.path)).then(|| path.moved(&from.path, &to.path))
        });
        path = moved.unwrap_or(path);
        at = next;
    }
    path.to_string()
}
