//! What is found out about one object.

use pointsman_core::definition::Kind;
use pointsman_core::laws::{Preview, Value, preview};
use pointsman_core::webhook::{INCOMPLETE, Webhook};

use crate::commands::hash::stamped;
use crate::commands::schema::{Violation, violation};
use crate::commands::{input::InputObject, json_tree::JsonTree, kinds_dir::kind_of};

/// An object, and what is found out about it.
pub(super) struct Assessed {
    /// `namespace/name`.
    pub(super) name: String,
    /// `Kind.group`.
    pub(super) kind: String,
    /// The version it was read at.
    pub(super) version: String,
    /// What becomes of it at each other version, in the order of the versions.
    pub(super) previews: Vec<(String, Preview)>,
    /// What there is to say about it.
    pub(super) remarks: Vec<Note>,
}

/// What is looked for.
pub(super) struct Questions<'q> {
    pub(super) webhook: &'q Webhook,
    /// Only this version; every other one where none is named.
    pub(super) to: Option<&'q str>,
    /// The webhook is a controller version, and is asked whether it would take the object.
    pub(super) entry: bool,
}

impl Questions<'_> {
    /// Looks at one object.
    pub(super) fn ask(&self, object: &InputObject) -> Result<Assessed, String> {
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
        let asked = |version: &&str| *version != object.version() && self.to.is_none_or(|to| to == *version);
        let others = kind.versions().filter(asked).filter_map(|to| {
            let mut preview = preview(self.webhook, kind, &value, to)?;
            // The model prunes what the API server prunes. `convert` refuses the object of a file as it is.
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

    /// An object that is valid at a version only after the API server has filled in the defaults of its own version: as
    /// a file, `convert` makes an object of it that `validate` refuses.
    fn unfilled(&self, other: &OtherVersion, object: &InputObject) -> Option<Note> {
        let of_file = other.of_file.as_ref().filter(|_| other.preview.invalid.is_none())?;
        let result = InputObject::read(object.place.clone(), &JsonTree::from_json(of_file).ok()?).ok()?;
        let breach = violation(kind_of(self.webhook, &result).ok()?, &result, None).filter(Violation::is_by_schema)?;
        let (field, message, version) = (breach.field, breach.message, object.version());
        let detail = format!("{field} {message} (as a file, without the defaults of {version})");
        Some(Note { to: Some(other.to.clone()), what: Severity::Invalid, detail })
    }

    /// A stamp that is not the hash of its object. An object that has no stamp yet is stamped by the next write, which
    /// calls for nothing.
    fn rollouts(&self, kind: &Kind, object: &InputObject) -> Option<Note> {
        kind.hash_version()?;
        // What cannot be hashed cannot be converted, and is told as that.
        let stamped = stamped(self.webhook, object).ok().filter(|stamped| stamped.is_stale())?;
        let detail = format!("stamped {}, is {}", stamped.stamp.as_ref()?, stamped.hashed.preimage.hash());
        Some(Note { to: None, what: Severity::Rollouts, detail })
    }
}

/// An object at another version.
struct OtherVersion {
    to: String,
    preview: Preview,
    /// As `convert` makes it of the object of a file. None where the object is refused.
    of_file: Option<String>,
}

/// What there is to say about an object.
pub(crate) struct Note {
    /// The version where it is so; none where it is so everywhere.
    pub(super) to: Option<String>,
    pub(crate) what: Severity,
    /// In words; values in it are those of the object.
    pub(crate) detail: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Severity {
    /// It cannot be read at a version: no list of the kind is answered there.
    Refused,
    /// It comes home without something, or with another value.
    Lost,
    /// What is kept of it is too large: it can be read, and not be written at that version.
    TooLarge,
    /// A version's schema says no to a field of it. It can be read there, and the API server lets every write pass that
    /// leaves that field as it is: of labels, of other fields, of the status, and by `migrate`.
    Invalid,
    /// The controller version that was asked for does not take it.
    Denied,
    /// Its next write calls for a rollout.
    Rollouts,
}

impl Severity {
    /// All of them, the worst first.
    pub(super) const ALL: [Self; 6] =
        [Self::Refused, Self::Lost, Self::TooLarge, Self::Invalid, Self::Denied, Self::Rollouts];

    /// One word for it.
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

    /// What it means, behind the number of objects.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Refused => "cannot be converted: every list of the kind fails while they are there",
            Self::Lost => "change in a round trip (data loss)",
            Self::TooLarge => "have too much to keep for an annotation: read there, and not written",
            Self::Invalid => "are not valid there: only a change of the invalid field is refused",
            Self::Denied => "would not be taken by the controller version",
            Self::Rollouts => "have an outdated rollout hash; the next write starts a rollout",
        }
    }

    /// Whether nothing should be done before this is mended.
    pub(super) fn stops(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

/// What there is to say about an object as it is, at whatever version it is read.
fn here(kind: &Kind, object: &InputObject) -> Vec<Note> {
    let bad = violation(kind, object, None);
    let bad = bad.map(|bad| (Severity::Invalid, format!("{} {}", bad.field, bad.message).trim_start().to_owned()));
    let marked = object.is_incomplete().then(|| {
        let said = format!("has the annotation {INCOMPLETE}: what was too large to come along is not in it");
        (Severity::TooLarge, said)
    });
    bad.into_iter().chain(marked).map(|(what, detail)| Note { to: None, what, detail }).collect()
}

/// What there is to say about an object at a version.
pub(crate) fn remarks(to: &str, preview: &Preview) -> Vec<Note> {
    let mut remarks = Vec::new();
    let mut say = |what: Severity, detail: String| remarks.push(Note { to: Some(to.to_owned()), what, detail });
    if let Some(why) = &preview.refused {
        say(Severity::Refused, why.clone());
    }
    for place in &preview.differences {
        let [before, after] = [&place.before, &place.after].map(|text| text.as_deref().unwrap_or("absent"));
        say(Severity::Lost, format!("{}: {before} comes home as {after}", place.path));
    }
    if preview.incomplete {
        say(Severity::TooLarge, "what only this version can say does not fit in an annotation".to_owned());
    }
    if let Some(invalid) = &preview.invalid {
        say(Severity::Invalid, format!("{} {}", invalid.path.trim_start_matches('/'), invalid.message));
    }
    remarks
}

impl Assessed {
    /// Bytes of its kept annotations at most, over the versions.
    pub(super) fn kept(&self) -> usize {
        self.previews.iter().map(|(_, preview)| preview.kept).max().unwrap_or_default()
    }

    /// For programs.
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
