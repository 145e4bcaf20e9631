//! What is checked when an object is written: rules and upgrade paths, as data.

mod compile;
pub(super) mod document;
mod paths;
mod types;

pub(crate) use document::Reading;

use super::Path;
use crate::json::Json;
use crate::upgrade::{Graph, Range};

pub(super) use compile::{compile, default_label};

/// The admission rules of a kind.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) version_label: String,
    pub(crate) version_path: Option<UpgradePath>,
    pub(crate) rules: Vec<Rule>,
}

impl Admission {
    /// What holds for a kind whose definition says nothing of admission.
    pub(super) fn none(group: &str) -> Self {
        Self { version_label: default_label(group), version_path: None, rules: Vec::new() }
    }
}

/// An upgrade path with the annotation that turns it off.
#[derive(Clone, Debug)]
pub(crate) struct UpgradePath {
    pub(crate) path: Graph,
    pub(crate) opt_out: Option<String>,
    pub(crate) downgrade_opt_out: Option<String>,
}

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// A name for metrics and audit annotations, made of the rule and its field.
    pub(crate) id: String,
    /// The controller versions that have it.
    pub(crate) controllers: Option<Range>,
    /// The index of the version whose fields it names.
    pub(crate) at: usize,
    /// Only requests in that version are looked at.
    pub(crate) only: bool,
    pub(crate) field: Path,
    pub(crate) check: Check,
}

/// What a rule checks.
#[derive(Debug)]
pub(crate) enum Check {
    Deprecated {
        successor: String,
        unless: Vec<Json<'static>>,
    },
    Duration,
    Immutable {
        unset: Vec<Json<'static>>,
    },
    Range {
        min: Option<i64>,
        max: Option<i64>,
    },
    Requires {
        needs: Vec<Path>,
    },
    Upgrade {
        running: Option<Path>,
        or_wanted: bool,
        reading: Reading,
        path: UpgradePath,
        no_downgrade: bool,
    },
    Warn {
        is: Option<Json<'static>>,
        unless: Vec<Json<'static>>,
        unlike: Vec<Path>,
        message: String,
    },
}
