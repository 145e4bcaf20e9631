//! The judgement of one write by the rules of one controller version.

use super::field::FieldError;
use super::rules::{Found, Subject, applies};
use super::value::same_value;
use super::{Enforcement, Flip, Judgement, Label, Settings, Verdict, Written};
use crate::definition::{Kind, Path};
use crate::json::Json;
use crate::webhook::convert::{ConvertError, Object};
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
    /// Another version's object, judged only to count.
    Shadow,
}

/// Judges a create or an update.
pub(super) fn judge(kind: &Kind, settings: &Settings, written: &Written<'_>) -> Judgement {
    let mut judging = Judging { kind, settings, judgement: Judgement::default() };
    let part = part(kind, settings, written);
    match &part {
        Part::Nothing => {}
        Part::Own | Part::Shadow => judging.own(written, written.old.is_some()),
        Part::Enter { from } => {
            judging.enter(written, from.as_deref());
            judging.own(written, false);
        }
        Part::Leave { to } => judging.leave(written, to),
    }
    if matches!(part, Part::Shadow) {
        return judging.only_counted();
    }
    let refused =
        !judging.judgement.errors.is_empty() && settings.enforcement == Enforcement::Enforce;
    judging.judgement.flip = match (&part, refused) {
        (Part::Enter { .. }, false) => Some(Flip::Entered),
        (Part::Enter { .. }, true) => Some(Flip::EnterRefused),
        (Part::Leave { .. }, false) => Some(Flip::Left),
        (Part::Leave { .. }, true) => Some(Flip::LeaveRefused),
        (Part::Nothing | Part::Own | Part::Shadow, _) => None,
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
        (_, Label::Other(other))
            if settings.shadowed.iter().any(|version| version.text == other) =>
        {
            Part::Shadow
        }
        // A label that nobody serves is refused by the policy that guards it; kept as it was, it is nobody's business.
        (_, Label::Malformed(_) | Label::None | Label::Other(_)) => Part::Nothing,
    }
}

/// A judgement that is being made.
pub(super) struct Judging<'a> {
    pub(super) kind: &'a Kind,
    pub(super) settings: &'a Settings,
    pub(super) judgement: Judgement,
}

impl Judging<'_> {
    fn controller(&self) -> Option<&semver::Version> {
        self.settings.controller.as_ref().map(|controller| &controller.version)
    }

    /// Applies all rules of this controller version.
    fn own(&mut self, written: &Written<'_>, ratchet: bool) {
        let request = match written.read_new().and_then(|object| object.version(self.kind)) {
            Ok(version) => version,
            Err(error) => return self.unreadable(written, &error, ratchet),
        };
        let kind = self.kind;
        // Metadata and status are written by many who never saw the spec, and must always get through.
        let spared = ratchet && written.leaves_spec_alone();
        for at in 0..kind.versions.len() {
            let newest = at + 1 == kind.versions.len();
            let rules: Vec<_> = kind
                .admission
                .rules
                .iter()
                .filter(|rule| rule.at == at && applies(rule, self.controller()))
                .filter(|rule| at == request || (newest && !rule.only))
                .collect();
            if rules.is_empty() {
                continue;
            }
            let mut subject = match subject(kind, written, at, request) {
                Ok(subject) => subject,
                Err(error) => return self.unreadable(written, &error, ratchet),
            };
            for rule in rules {
                let mut found = subject.apply(rule, ratchet);
                if spared {
                    found.excuse();
                }
                self.add(&rule.id, found);
            }
        }
        self.rollout(written, request);
        self.gone(written, request);
    }

    /// An object that cannot be converted cannot be judged. It may still be repaired, released and deleted.
    fn unreadable(&mut self, written: &Written<'_>, error: &ConvertError, ratchet: bool) {
        let mut found = Found::default();
        found.errors.push(FieldError {
            path: error.path().to_owned(),
            reason: super::Reason::Invalid,
            value: None,
            detail: error.reason(),
        });
        if ratchet && (written.leaves_spec_alone() || written.leaves_alone(error.path())) {
            found.excuse();
        }
        self.add("readable", found);
    }

    pub(super) fn add(&mut self, rule: &str, found: Found) {
        let enforced = self.settings.enforcement == Enforcement::Enforce;
        for error in found.errors {
            self.count(rule, if enforced { "deny" } else { "would_deny" });
            if !self.judgement.errors.contains(&error) {
                self.judgement.errors.push(error);
            }
        }
        for error in found.known {
            // A version that only watches has nothing to say of what it would let pass.
            if self.settings.enforcement != Enforcement::Audit {
                self.count(rule, "warn");
                self.warn(format!("{error} (it was so before, so it may stay)"));
            }
        }
        for warning in found.warnings {
            self.count(rule, "warn");
            self.warn(warning);
        }
    }

    pub(super) fn count(&mut self, rule: &str, effect: &'static str) {
        let verdict = Verdict { kind: self.kind.name.clone(), rule: rule.to_owned(), effect };
        self.judgement.verdicts.push(verdict);
    }

    pub(super) fn warn(&mut self, warning: impl AsRef<str>) {
        let warning: String = bounded(warning.as_ref()).chars().take(WARNING).collect();
        if !self.judgement.warnings.contains(&warning) {
            self.judgement.warnings.push(warning);
        }
    }

    /// What a server that looks on found: for its metrics and the audit log, whatever its mode is.
    fn only_counted(mut self) -> Judgement {
        self.judgement.warnings.clear();
        self.judgement.verdicts.retain(|verdict| verdict.effect != "warn");
        for verdict in &mut self.judgement.verdicts {
            verdict.effect = "would_deny";
        }
        let errors: Vec<String> =
            std::mem::take(&mut self.judgement.errors).iter().map(ToString::to_string).collect();
        if !errors.is_empty() {
            self.judgement.audit.push(("would-deny".to_owned(), bounded(&errors.join("; "))));
        }
        self.judgement
    }

    fn finish(mut self) -> Judgement {
        if self.judgement.errors.is_empty() || self.settings.enforcement == Enforcement::Enforce {
            return self.judgement;
        }
        let errors = std::mem::take(&mut self.judgement.errors);
        let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
        self.judgement.audit.push(("would-deny".to_owned(), bounded(&text.join("; "))));
        if self.settings.enforcement == Enforcement::Warn {
            for error in text {
                self.warn(format!("not enforced yet: {error}"));
            }
        }
        self.judgement
    }
}

impl Written<'_> {
    /// Whether an update changed nothing but metadata and status.
    fn leaves_spec_alone(&self) -> bool {
        let Some(old) = &self.old else {
            return false;
        };
        let members = |json: &Json<'_>| -> Vec<(String, Json<'static>)> {
            let members = json.members().into_iter();
            members
                .filter(|(name, _)| !matches!(name.as_ref(), "metadata" | "status"))
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect()
        };
        let (new, old) = (members(&self.object), members(old));
        let same = |(name, value): &(String, Json<'_>)| {
            old.iter().any(|(other, before)| other == name && before.same(value))
        };
        new.len() == old.len() && new.iter().all(same)
    }

    /// Whether an update left alone what stands at a path; for a path into a list, the member that the list is in.
    fn leaves_alone(&self, path: &str) -> bool {
        let whole = path.split(['.', '[']).next().unwrap_or_default();
        let path = Path::parse(path).unwrap_or_else(|_| Path::default().join(whole));
        let at = |json: &Json<'_>, path: &Path| {
            let mut here = json.view().into_owned();
            for name in path.names() {
                here = here.get(name)?.into_owned();
            }
            Some(here)
        };
        let Some(old) = &self.old else {
            return false;
        };
        let same = |path: &Path| match (at(&self.object, path), at(old, path)) {
            (Some(new), Some(old)) => Some(same_value(&new, &old)),
            (None, None) => None,
            _ => Some(false),
        };
        same(&path).or_else(|| same(&Path::default().join(whole))).unwrap_or(false)
    }
}

/// The object before and after, in the version that a rule speaks of.
fn subject<'w>(
    kind: &'w Kind,
    written: &'w Written<'_>,
    at: usize,
    request: usize,
) -> Result<Subject<'w>, ConvertError> {
    let mut new = written.read_new()?;
    new.convert(kind, at)?;
    let convert = |mut old: Object<'w>| old.convert(kind, at).map(|_| old);
    let old = written.read_old().and_then(|old| old.and_then(convert).ok());
    let sent = match (&old, written.read_old()) {
        (None, Some(Ok(before))) => Some([written.read_new()?, before]),
        _ => None,
    };
    Ok(Subject { kind, at, request, new, old, sent })
}

/// The length of one warning: the API server cuts them at 256 characters once all together exceed 4096
/// (`apiserver pkg/endpoints/filters/warning.go`).
const WARNING: usize = 240;
