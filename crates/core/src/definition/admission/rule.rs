//! The compiled rules of the `admission` block.

use super::{rule_spec::Reading, upgrade_path::UpgradePath};
use crate::definition::{path::Path, version::VersionIndex};
use crate::{definition::upgrade::Range, json::Json};

#[derive(Debug)]
pub(crate) struct Rule {
    /// The identifier in metrics and audit annotations, built from the rule and its field.
    pub(crate) id: String,
    /// The controller versions that the rule applies to.
    pub(crate) controllers: Option<Range>,
    /// The version whose fields the rule uses.
    pub(crate) at: VersionIndex,
    /// Checks only requests in that version.
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
    /// With `uuid`, two spellings of a UUID are equal.
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
