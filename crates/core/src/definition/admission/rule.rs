//! The rules of the `admission` block as they are checked.

use super::{rule_spec::Reading, upgrade_path::UpgradePath};
use crate::definition::{path::Path, version::VersionIndex};
use crate::{json::Json, upgrade::Range};

#[derive(Debug)]
pub(crate) struct Rule {
    /// A name for metrics and audit annotations, made of the rule and its field.
    pub(crate) id: String,
    /// The controller versions that have it.
    pub(crate) controllers: Option<Range>,
    /// The version whose fields it names.
    pub(crate) at: VersionIndex,
    /// Only requests in that version are looked at.
    pub(crate) only: bool,
    pub(crate) field: Path,
    pub(crate) check: Check,
}

#[derive(Debug)]
pub(crate) enum Check {
    Deprecated {
        successor: String,
        unless: Vec<Json<'static>>,
    },
    Duration,
    /// With `uuid` two spellings of a UUID are one value.
    Immutable {
        unset: Vec<Json<'static>>,
        uuid: bool,
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
