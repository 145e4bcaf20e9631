//! The judgement of one write by the rules of one controller version.

use super::field::FieldError;
use super::rules::{Found, Subject, applies, opted_out, spelled};
use super::{Enforcement, Flip, Judgement, Label, Settings, Verdict, Written};
use crate::definition::Kind;
use crate::json::Json;
use crate::upgrade;
use crate::webhook::convert::{ConvertError, tree};
use crate::webhook::review::bounded;

/// Who judges, and how.
enum Part {
    /// The whole object, as if it were new here.
    Enter { from: Option<String> },
    /// Only whether it may be left.
    Leave { to: String },
    /// Another version's object, or nobody's.
    Nothing,
    /// Its own object, before and after.
    Own,
}

/// Judges a create or an update.
pub(super) fn judge(kind: &Kind, settings: &Settings, written: &Written<'_>) -> Judgement {
    let mut judging = Judging {
        kind,
        settings,
        judgement: Judgement::default(),
    };
    let part = part(kind, settings, written);
    match &part {
        Part::Nothing => {}
        Part::Own => judging.own(written, written.old.is_some()),
        Part::Enter { from } => {
            judging.enter(written, from.as_deref());
            judging.own(written, false);
        }
        Part::Leave { to } => judging.leave(written, to),
    }
    let refused = !judging.judgement.errors.is_empty();
    judging.judgement.flip = match (&part, refused) {
        (Part::Enter { .. }, false) => Some(Flip::Entered),
        (Part::Enter { .. }, true) => Some(Flip::EnterRefused),
        (Part::Leave { .. }, false) => Some(Flip::Left),
        (Part::Leave { .. }, true) => Some(Flip::LeaveRefused),
        (Part::Nothing | Part::Own, _) => None,
    };
    judging.finish()
}

fn part(kind: &Kind, settings: &Settings, written: &Written<'_>) -> Part {
    let new = written.label(settings, kind);
    match (written.old_label(settings, kind), new) {
        (None, Label::Own(_)) | (Some(Label::Own(_)), Label::Own(_)) => Part::Own,
        (None | Some(Label::None), Label::None) if settings.default => Part::Own,
        (Some(Label::Other(from)), Label::Own(_)) => Part::Enter { from: Some(from) },
        (Some(Label::None | Label::Malformed(_)), Label::Own(_)) => Part::Enter { from: None },
        (Some(Label::Own(_)), Label::Other(to)) => Part::Leave { to },
        // A label that nobody serves is refused by the policy that guards it; kept as it was, it is nobody's business.
        (_, Label::Malformed(_) | Label::None | Label::Other(_)) => Part::Nothing,
    }
}

pub(super) struct Judging<'a> {
    pub(super) kind: &'a Kind,
    settings: &'a Settings,
    judgement: Judgement,
}

impl Judging<'_> {
    fn controller(&self) -> Option<&semver::Version> {
        self.settings
            .controller
            .as_ref()
            .map(|controller| &controller.version)
    }

    /// Applies all rules of this controller version.
    fn own(&mut self, written: &Written<'_>, ratchet: bool) {
        let request = match written
            .read_new()
            .and_then(|object| object.version(self.kind))
        {
            Ok(version) => version,
            Err(error) => return self.unreadable(written, &error, ratchet),
        };
        let kind = self.kind;
        for at in 0..kind.versions.len() {
            let rules: Vec<_> = kind
                .admission
                .rules
                .iter()
                .filter(|rule| rule.at == at && applies(rule, self.controller()))
                .collect();
            let newest = at + 1 == kind.versions.len();
            if rules.is_empty() || !(newest || at == request) {
                continue;
            }
            let mut subject = match subject(kind, written, at) {
                Ok(subject) => subject,
                Err(error) => return self.unreadable(written, &error, ratchet),
            };
            for rule in rules {
                let found = subject.apply(rule, ratchet);
                self.add(&rule.id, found, at, request);
            }
        }
        self.rollout(written);
        self.gone(written, request);
    }

    /// An object that cannot be converted cannot be judged. It may still be repaired, released and deleted.
    fn unreadable(&mut self, written: &Written<'_>, error: &ConvertError, ratchet: bool) {
        let same = |name: &str| match (
            written.object.get(name),
            written
                .old
                .as_ref()
                .and_then(|old| old.get(name).map(|v| v.into_owned())),
        ) {
            (None, None) => true,
            (Some(new), Some(old)) => new.same(&old),
            _ => false,
        };
        let found = FieldError {
            path: error.path.clone(),
            reason: super::Reason::Invalid,
            value: None,
            detail: error.reason.clone(),
        };
        let mut result = Found::default();
        if ratchet && same("spec") {
            result
                .warnings
                .push(format!("{found} (it was so before, so it may stay)"));
        } else {
            result.errors.push(found);
        }
        let at = self.kind.versions.len().saturating_sub(1);
        self.add("readable", result, at, at);
    }

    fn add(&mut self, rule: &str, found: Found, at: usize, request: usize) {
        let spell = |path: &str| spelled(self.kind, path, at, request);
        for mut error in found.errors {
            error.path = spell(&error.path);
            self.count(
                rule,
                if self.settings.enforcement == Enforcement::Enforce {
                    "deny"
                } else {
                    "would_deny"
                },
            );
            self.judgement.errors.push(error);
        }
        for warning in found.warnings {
            self.count(rule, "warn");
            self.warn(warning);
        }
    }

    pub(super) fn count(&mut self, rule: &str, effect: &'static str) {
        let verdict = Verdict {
            kind: self.kind.name.clone(),
            rule: rule.to_owned(),
            effect,
        };
        self.judgement.verdicts.push(verdict);
    }

    pub(super) fn warn(&mut self, warning: impl AsRef<str>) {
        let warning: String = bounded(warning.as_ref()).chars().take(WARNING).collect();
        if !self.judgement.warnings.contains(&warning) {
            self.judgement.warnings.push(warning);
        }
    }

    /// The way into this version.
    fn enter(&mut self, written: &Written<'_>, from: Option<&str>) {
        let (Some(path), Some(own)) =
            (&self.kind.admission.version_path, &self.settings.controller)
        else {
            return;
        };
        let Some(refused) = from
            .and_then(upgrade::version)
            .and_then(|from| path.path.allow(&from, &own.version).err())
        else {
            return;
        };
        let field = format!("metadata.labels[{}]", self.kind.admission.version_label);
        let mut found = Found::default();
        let object = written.read_new().ok();
        match object.and_then(|object| opted_out(&object, path, &refused)) {
            Some(annotation) => found.warnings.push(format!(
                "{field}: {refused}; not enforced because of annotation {annotation}"
            )),
            None => found.errors.push(FieldError::invalid(
                field,
                &Json::string(&own.text),
                refused.to_string(),
            )),
        }
        self.add("version-path", found, 0, 0);
    }

    /// An object in the middle of a promotion is not handed over: two controllers would act on it.
    fn leave(&mut self, written: &Written<'_>, to: &str) {
        let field = format!("metadata.labels[{}]", self.kind.admission.version_label);
        let mut found = Found::default();
        if self.is_promoting(written) {
            let own = self
                .settings
                .controller
                .as_ref()
                .map(|own| own.text.as_str())
                .unwrap_or_default();
            found.errors.push(FieldError::forbidden(
                &field,
                format!("{own} is promoting this object: wait until the rollout is completed"),
            ));
        }
        let served = &self.settings.served;
        if !served.is_empty() && !served.iter().any(|version| version.text == to) {
            let known: Vec<&str> = served.iter().map(|version| version.text.as_str()).collect();
            found.warnings.push(format!(
                "{field}: no server serves {to:?}; served are {}",
                known.join(", ")
            ));
        }
        self.add("handover", found, 0, 0);
    }

    fn is_promoting(&self, written: &Written<'_>) -> bool {
        let Some(status) = self.kind.steps.iter().find_map(|step| step.status.as_ref()) else {
            return false;
        };
        let Some(Ok(mut old)) = written.read_old() else {
            return false;
        };
        let conditions = tree::get(&mut old.root, "", &status.reasons).ok().flatten();
        let reasons = conditions
            .into_iter()
            .flat_map(|conditions| conditions.elements())
            .filter_map(|condition| {
                condition
                    .get("reason")
                    .and_then(|reason| reason.as_str().map(|text| text.into_owned()))
            });
        reasons.into_iter().any(|reason| reason == status.promoting)
    }

    fn finish(mut self) -> Judgement {
        if self.judgement.errors.is_empty() || self.settings.enforcement == Enforcement::Enforce {
            return self.judgement;
        }
        let errors = std::mem::take(&mut self.judgement.errors);
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        self.judgement
            .audit
            .push(("would-deny".to_owned(), bounded(&text.join("; "))));
        if self.settings.enforcement == Enforcement::Warn {
            for error in text {
                self.warn(format!("not enforced yet: {error}"));
            }
        }
        self.judgement
    }
}

/// The object before and after, in the version that a rule speaks of.
fn subject<'w>(
    kind: &Kind,
    written: &'w Written<'_>,
    at: usize,
) -> Result<Subject<'w>, ConvertError> {
    let mut new = written.read_new()?;
    new.convert(kind, at, None)?;
    let old = written.read_old().and_then(|old| {
        let mut old = old.ok()?;
        old.convert(kind, at, None).ok()?;
        Some(old)
    });
    Ok(Subject { new, old })
}

/// The length of one warning: the API server cuts them at 256 characters once all together exceed 4096
/// (`apiserver pkg/endpoints/filters/warning.go`).
const WARNING: usize = 240;
