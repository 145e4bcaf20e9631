//! The assessment of one object.

use pointsman_core::definition::Kind;
use pointsman_core::laws::{Preview, Value, preview};
use pointsman_core::webhook::{INCOMPLETE, Webhook};

use crate::commands::hash::stamped;
use crate::commands::schema::{Violation, matches, violation};
use crate::commands::{input::InputObject, json_tree::JsonTree, kinds_dir::kind_of};

/// An object with its assessment.
pub(super) struct Assessed {
    /// `namespace/name`.
    pub(super) name: String,
    /// `Kind.group`.
    pub(super) kind: String,
    /// The version in which it was read.
    pub(super) version: String,
    /// The preview at each other version, in the order of the versions.
    pub(super) previews: Vec<(String, Preview)>,
    /// The findings.
    pub(super) remarks: Vec<Note>,
}

/// The options of an assessment.
pub(super) struct Questions<'q> {
    pub(super) webhook: &'q Webhook,
    /// Only this version. Defaults to every other version.
    pub(super) to: Option<&'q str>,
    /// Whether to check a handover to the controller version of the webhook.
    pub(super) entry: bool,
}

impl Questions<'_> {
    /// Assesses one object.
    pub(super) fn assess(&self, object: &InputObject) -> Result<Assessed, String> {
        let kind = kind_of(self.webhook, object)?;
        if !kind.versions().any(|version| version == object.version()) {
            let known: Vec<&str> = kind.versions().collect();
            return Err(format!("{}: {} has {}", object.label(), kind.kind(), known.join(", ")));
        }
        let denied = match self.entry {
            true => {
                let judged = self.webhook.judge_as_flip(&object.text, None);
                judged.map_err(|error| format!("{}: {error}", object.label()))?.1
            }
            false => None,
        };
        let others = self.others(kind, object)?;
        let mut remarks: Vec<Note> = others.iter().flat_map(|other| remarks(&other.to, &other.preview)).collect();
        remarks.extend(here(kind, object));
        remarks.extend(others.iter().filter_map(|other| self.unfilled(other, object)));
        remarks.extend(denied.map(|detail| Note { to: None, what: Severity::Denied, detail }));
        remarks.extend(self.rollouts(kind, object));
        Ok(Assessed {
            name: object.name(),
            kind: format!("{}.{}", kind.kind(), kind.group()),
            version: object.version().to_owned(),
            previews: others.into_iter().map(|other| (other.to, other.preview)).collect(),
            remarks,
        })
    }

    fn others(&self, kind: &Kind, object: &InputObject) -> Result<Vec<OtherVersion>, String> {
        let value = Value::read(&object.text).map_err(|error| format!("{}: {error}", object.label()))?;
        let is_requested = |version: &&str| *version != object.version() && self.to.is_none_or(|to| to == *version);
        let others = kind.versions().filter(is_requested).filter_map(|to| {
            let mut preview = preview(self.webhook, kind, &value, to, &matches)?;
            // The model prunes fields like the API server. `convert` rejects the object of a file with such fields.
            let of_file = match &preview.refused {
                Some(_) => None,
                None => self
                    .webhook
                    .convert(&object.text, to)
                    .map_err(|error| preview.refused = Some(error.to_string()))
                    .ok(),
            };
            Some(OtherVersion { to: to.to_owned(), preview, of_file: of_file.map(|converted| converted.text) })
        });
        Ok(others.collect())
    }

    /// A finding for an object that is valid at a version only with the defaults of its own version: from a file,
    /// `convert` returns an object that `validate` rejects.
    fn unfilled(&self, other: &OtherVersion, object: &InputObject) -> Option<Note> {
        let of_file = other.of_file.as_ref().filter(|_| other.preview.invalid.is_none())?;
        let result = InputObject::read(object.place.clone(), &JsonTree::from_json(of_file).ok()?).ok()?;
        let breach = violation(kind_of(self.webhook, &result).ok()?, &result).filter(Violation::is_by_schema)?;
        let (field, message, version) = (breach.field, breach.message, object.version());
        let detail = format!("{field} {message} (as a file, without the defaults of {version})");
        Some(Note { to: Some(other.to.clone()), what: Severity::Invalid, detail })
    }

    /// A finding for a stale hash annotation. An object without an annotation gets one at the next write, without a
    /// rollout.
    fn rollouts(&self, kind: &Kind, object: &InputObject) -> Option<Note> {
        kind.hash_version()?;
        // An object that cannot be hashed cannot be converted, which is reported separately.
        let stamped = stamped(self.webhook, object).ok().filter(|stamped| stamped.is_stale())?;
        let detail = format!("stamped {}, is {}", stamped.stamp.as_ref()?, stamped.hashed.preimage.hash());
        Some(Note { to: None, what: Severity::Rollouts, detail })
    }
}

/// An object at another version.
struct OtherVersion {
    to: String,
    preview: Preview,
    /// The result of `convert` for the object of a file. `None` if the object is rejected.
    of_file: Option<String>,
}

/// A finding about an object.
pub(crate) struct Note {
    /// The version. `None` if it applies to all versions.
    pub(super) to: Option<String>,
    pub(crate) what: Severity,
    /// The details, including values of the object.
    pub(crate) detail: String,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Severity {
    /// The object cannot be read at a version, so every list of the kind fails there.
    Refused,
    /// A round trip loses or changes a value.
    Lost,
    /// The kept values are too large: the object can be read, but not written at that version.
    TooLarge,
    /// A field violates the schema of a version. The object can be read there, and the API server allows every write
    /// that leaves the field unchanged: of labels, other fields, the status, and by `migrate`.
    Invalid,
    /// The given controller version rejects the object.
    Denied,
    /// The next write starts a rollout.
    Rollouts,
}

impl Severity {
    /// All severities, worst first.
    pub(super) const ALL: [Self; 6] =
        [Self::Refused, Self::Lost, Self::TooLarge, Self::Invalid, Self::Denied, Self::Rollouts];

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Lost => "lost",
            Self::TooLarge => "tooLarge",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Rollouts => "rollouts",
        }
    }

    /// The meaning, printed after the number of objects.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Refused => "cannot be converted: lists of the kind fail while these objects exist",
            Self::Lost => "change in a round trip (data loss)",
            Self::TooLarge => "exceed the annotation limit: readable in this version, but not writable",
            Self::Invalid => "are invalid in this version: only changes of invalid fields are refused",
            Self::Denied => "would not be taken by the controller version",
            Self::Rollouts => "have an outdated rollout hash; the next write starts a rollout",
        }
    }

    /// Returns whether the finding must be fixed first.
    pub(super) fn stops(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

/// The findings about an object in its own version.
fn here(kind: &Kind, object: &InputObject) -> Vec<Note> {
    let bad = violation(kind, object);
    let bad = bad.map(|bad| (Severity::Invalid, format!("{} {}", bad.field, bad.message).trim_start().to_owned()));
    let marked = object.is_incomplete().then(|| {
        let incomplete_text =
            format!("the annotation {INCOMPLETE} marks missing values that exceeded the annotation limit");
        (Severity::TooLarge, incomplete_text)
    });
    bad.into_iter().chain(marked).map(|(what, detail)| Note { to: None, what, detail }).collect()
}

/// The findings about an object at a version.
pub(crate) fn remarks(to: &str, preview: &Preview) -> Vec<Note> {
    let mut remarks = Vec::new();
    let mut note = |what: Severity, detail: String| remarks.push(Note { to: Some(to.to_owned()), what, detail });
    if let Some(why) = &preview.refused {
        note(Severity::Refused, why.clone());
    }
    for place in &preview.differences {
        let [before, after] = [&place.before, &place.after].map(|text| text.as_deref().unwrap_or("absent"));
        note(Severity::Lost, format!("{}: {before} returns as {after}", place.path));
    }
    if preview.incomplete {
        note(Severity::TooLarge, "values that exist only in this version exceed the annotation limit".to_owned());
    }
    if let Some(invalid) = &preview.invalid {
        note(Severity::Invalid, format!("{} {}", invalid.path.trim_start_matches('/'), invalid.message));
    }
    remarks
}

impl Assessed {
    /// The maximum size of its kept annotations over all versions, in bytes.
    pub(super) fn kept(&self) -> usize {
        self.previews.iter().map(|(_, preview)| preview.kept).max().unwrap_or_default()
    }

    /// The assessment, for programs.
    pub(super) fn json(&self) -> JsonTree {
        let remarks = self.remarks.iter().map(|remark| {
            JsonTree::object([
                ("to", remark.to.as_ref().map_or(JsonTree::Null, JsonTree::string)),
                ("what", JsonTree::string(remark.what.name())),
                ("detail", JsonTree::string(&remark.detail)),
            ])
        });
        JsonTree::object([
            ("kind", JsonTree::string(&self.kind)),
            ("name", JsonTree::string(&self.name)),
            ("version", JsonTree::string(&self.version)),
            ("keptBytes", JsonTree::Number(self.kept().to_string())),
            ("findings", JsonTree::Array(remarks.collect())),
        ])
    }
}
