//! The verdict on one write.

use std::sync::Arc;

use super::{findings::Findings, override_reason::OVERRIDE, settings::Enforcement};
use crate::apimachinery::{FieldError, ObjectName, Status, excerpt};
use crate::{definition::Kind, json::Json};

/// The result of a change of the version label.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Flip {
    /// This version refused to take over the object.
    EnterRefused,
    /// This version took the object over.
    Entered,
    /// This version released the object.
    Left,
    /// This version refused to release the object.
    LeaveRefused,
}

impl Flip {
    /// The name for metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EnterRefused => "enter_refused",
            Self::Entered => "entered",
            // The new version may still refuse.
            Self::Left => "let_go",
            Self::LeaveRefused => "leave_refused",
        }
    }
}

/// The result of a rule, for metrics. Names are those of definitions, never of objects.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The kind, as its definition names it.
    pub kind: Arc<str>,
    /// The rule, as `rule:field`.
    pub rule: String,
    /// `deny`, `warn`, `would_deny`, or `overridden`.
    pub effect: &'static str,
}

/// The verdict on one write.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Judgement {
    /// The errors of a denial. Empty in every mode except [`Enforcement::Enforce`].
    pub errors: Vec<FieldError>,
    /// The warnings for the client: at most 240 characters each, without control characters.
    pub warnings: Vec<String>,
    /// The entries for the audit log: key without a slash, value of at most 401 characters.
    pub audit: Vec<(String, String)>,
    /// The results of rules for metrics.
    pub verdicts: Vec<Verdict>,
    /// The result of a change of the label.
    pub flip: Option<Flip>,
    /// The object was not judged: it belongs to another version, or to none.
    pub unjudged: bool,
}

impl Judgement {
    /// The denial of a write of this object, if any.
    pub(crate) fn status(&self, kind: &Kind, object: &Json<'_>) -> Option<Status> {
        let name = || ObjectName::of(object);
        let errors = || self.errors.clone();
        let denied = !self.errors.is_empty();
        denied.then(|| Status::invalid(&kind.group, &kind.kind, name(), errors()))
    }

    /// Moves the errors to the audit log, and returns their texts.
    fn audit_errors(&mut self) -> Vec<String> {
        let errors = std::mem::take(&mut self.errors);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        if !texts.is_empty() {
            self.audit.push(("would-deny".to_owned(), excerpt(&texts.join("; "))));
        }
        texts
    }
}

/// A judgement under construction.
pub(super) struct Judging<'k> {
    kind: &'k Kind,
    enforcement: Enforcement,
    judgement: Judgement,
}

impl<'k> Judging<'k> {
    pub(super) fn new(kind: &'k Kind, enforcement: Enforcement) -> Self {
        Self { kind, enforcement, judgement: Judgement::default() }
    }

    pub(super) fn add(&mut self, rule: &str, found: Findings) {
        let enforced = self.enforcement == Enforcement::Enforce;
        for error in found.errors {
            self.count(rule, if enforced { "deny" } else { "would_deny" });
            if !self.judgement.errors.contains(&error) {
                self.judgement.errors.push(error);
            }
        }
        for error in found.known {
            // In audit mode, accepted errors are not reported.
            if self.enforcement != Enforcement::Audit {
                self.warn(rule, &format!("{error} (existed before, so the value may stay)"));
            }
        }
        for warning in found.warnings {
            self.warn(rule, &warning);
        }
    }

    /// Adds findings. With a reason for an override, the errors do not deny the write, and are reported and counted.
    pub(super) fn add_unless(&mut self, rule: &str, mut found: Findings, reason: Option<&str>) {
        if let Some(reason) = reason.filter(|_| !found.errors.is_empty()) {
            let errors = std::mem::take(&mut found.errors);
            let passed = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            self.count(rule, "overridden");
            self.judgement.audit.push(("overridden".to_owned(), excerpt(&format!("{reason}: {passed}"))));
            self.add_warning(&format!("handed over because of annotation {OVERRIDE}: {passed}"));
        }
        self.add(rule, found);
    }

    /// Adds and counts a warning.
    pub(super) fn warn(&mut self, rule: &str, warning: &str) {
        self.count(rule, "warn");
        self.add_warning(warning);
    }

    fn count(&mut self, rule: &str, effect: &'static str) {
        let verdict = Verdict { kind: self.kind.name.clone(), rule: rule.to_owned(), effect };
        self.judgement.verdicts.push(verdict);
    }

    fn add_warning(&mut self, warning: &str) {
        let warning = shortened(warning);
        if !self.judgement.warnings.contains(&warning) {
            self.judgement.warnings.push(warning);
        }
    }

    /// Finishes the judgement in the mode of the server. `passed` and `stopped` are the results of a label change if
    /// the write is allowed or denied.
    pub(super) fn finish(mut self, [passed, stopped]: [Option<Flip>; 2]) -> Judgement {
        let refused = !self.judgement.errors.is_empty() && self.enforcement == Enforcement::Enforce;
        if self.enforcement == Enforcement::Audit {
            self.judgement.warnings.clear();
        }
        self.judgement.flip = if refused { stopped } else { passed };
        if !refused {
            for error in self.judgement.audit_errors() {
                if self.enforcement == Enforcement::Warn {
                    self.add_warning(&format!("not enforced yet: {error}"));
                }
            }
        }
        self.judgement
    }

    /// Finishes without a judgement.
    pub(super) fn unjudged(mut self) -> Judgement {
        self.judgement.unjudged = true;
        self.judgement
    }

    /// Finishes the judgement of a server in shadow mode: only for metrics and the audit log.
    pub(super) fn only_counted(mut self) -> Judgement {
        self.judgement.warnings.clear();
        self.judgement.verdicts.retain(|verdict| verdict.effect != "warn");
        for verdict in &mut self.judgement.verdicts {
            verdict.effect = "would_deny";
        }
        self.judgement.audit_errors();
        self.judgement
    }
}

/// A warning of the maximum length.
pub(super) fn shortened(warning: &str) -> String {
    let mut short = excerpt(warning);
    if short.len() > WARNING
        && let Some((end, _)) = short.char_indices().nth(WARNING)
    {
        short.truncate(end);
    }
    short
}

/// The maximum length of a warning, in characters: the API server cuts warnings at 256 characters once all together
/// exceed 4096 (`apiserver pkg/endpoints/filters/warning.go`).
const WARNING: usize = 240;
