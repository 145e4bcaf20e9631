//! What is found out about one object.

use pointsman_core::definition::Kind;
use pointsman_core::laws::{Preview, Value, preview};
use pointsman_core::webhook::Webhook;

use crate::commands::hash::stamped;
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
    /// Its stamp is not its hash: the next write of it calls for a rollout.
    pub(super) rolls: Option<Roll>,
    /// Why the controller version that was asked for would not take it.
    pub(super) denied: Option<String>,
}

/// A stamp that is not the hash of its object.
pub(super) struct Roll {
    pub(super) stamp: Option<String>,
    pub(super) hash: String,
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
        Ok(Assessed {
            name: object.name(),
            kind: format!("{}.{}", kind.kind(), kind.group()),
            version: object.version().to_owned(),
            previews: self.previews(kind, object)?,
            rolls: self.rolls(kind, object),
            denied,
        })
    }

    fn previews(&self, kind: &Kind, object: &InputObject) -> Result<Vec<(String, Preview)>, String> {
        let value = Value::read(&object.text).map_err(|error| format!("{}: {error}", object.label()))?;
        let asked = |version: &&str| *version != object.version() && self.to.is_none_or(|to| to == *version);
        let others = kind.versions().filter(asked);
        let previews = others.filter_map(|to| Some((to.to_owned(), preview(self.webhook, kind, &value, to)?)));
        Ok(previews.collect())
    }

    /// An object that has no stamp yet is stamped by the next write, which calls for nothing.
    fn rolls(&self, kind: &Kind, object: &InputObject) -> Option<Roll> {
        kind.hash_version()?;
        // What cannot be hashed cannot be converted, and is told as that.
        let stamped = stamped(self.webhook, object).ok()?;
        let roll = Roll { stamp: stamped.stamp.clone(), hash: stamped.hashed.preimage.hash() };
        (stamped.is_stale() && stamped.stamp.is_some()).then_some(roll)
    }
}

/// What there is to say about an object.
pub(super) struct Remark {
    /// The version where it is so; none where it is so everywhere.
    pub(super) to: Option<String>,
    pub(super) what: Weight,
    /// In words; values in it are those of the object.
    pub(super) detail: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Weight {
    /// It cannot be read at a version: no list of the kind is answered there.
    Refused,
    /// It comes home without something, or with another value.
    Lost,
    /// What is kept of it is too large: it can be read, and not be written at that version.
    TooLarge,
    /// A version's schema says no to it: it can be read there, and be written once that is mended.
    Invalid,
    /// The controller version that was asked for does not take it.
    Denied,
    /// Its next write calls for a rollout.
    Rolls,
}

impl Weight {
    /// All of them, the worst first.
    pub(super) const ALL: [Self; 6] =
        [Self::Refused, Self::Lost, Self::TooLarge, Self::Invalid, Self::Denied, Self::Rolls];

    /// One word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Lost => "lost",
            Self::TooLarge => "tooLarge",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::Rolls => "rolls",
        }
    }

    /// What it means, behind the number of objects.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Refused => "cannot be converted: no list of the kind is answered while they are there",
            Self::Lost => "come home otherwise than they left",
            Self::TooLarge => "have more to keep than an annotation holds: they can be read there, not written",
            Self::Invalid => "are not valid there: they can be read, and written once that is mended",
            Self::Denied => "would not be taken by the controller version",
            Self::Rolls => "have a stamp that is not their hash: their next write calls for a rollout",
        }
    }

    /// Whether nothing should be done before this is mended.
    pub(super) fn stops(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

impl Assessed {
    /// What there is to say about it.
    pub(super) fn remarks(&self) -> Vec<Remark> {
        let mut remarks = Vec::new();
        for (to, preview) in &self.previews {
            let mut say = |what: Weight, detail: String| remarks.push(Remark { to: Some(to.clone()), what, detail });
            if let Some(why) = &preview.refused {
                say(Weight::Refused, why.clone());
            }
            for place in &preview.differences {
                let absent = || "absent".to_owned();
                let (before, after) = (&place.before, &place.after);
                let (before, after) = (before.clone().unwrap_or_else(absent), after.clone().unwrap_or_else(absent));
                say(Weight::Lost, format!("{}: {before} comes home as {after}", place.path));
            }
            if preview.incomplete {
                say(Weight::TooLarge, "what only this version can say does not fit in an annotation".to_owned());
            }
            if let Some(invalid) = &preview.invalid {
                say(Weight::Invalid, format!("{} {}", invalid.path.trim_start_matches('/'), invalid.message));
            }
        }
        if let Some(denied) = &self.denied {
            remarks.push(Remark { to: None, what: Weight::Denied, detail: denied.clone() });
        }
        if let Some(Roll { stamp, hash }) = &self.rolls {
            let detail = format!("stamped {}, is {hash}", stamp.as_deref().unwrap_or("not at all"));
            remarks.push(Remark { to: None, what: Weight::Rolls, detail });
        }
        remarks
    }

    /// Bytes of its kept annotations at most, over the versions.
    pub(super) fn kept(&self) -> usize {
        self.previews.iter().map(|(_, preview)| preview.kept).max().unwrap_or_default()
    }

    /// For programs.
    pub(super) fn json(&self) -> JsonTree {
        let remarks = self.remarks().into_iter().map(|remark| {
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
