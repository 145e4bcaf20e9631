//! What rewriting is asked, what it says on the way, and what came of it.

use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::title;
use crate::ownership::ObjectConversion;

/// How a kind is migrated.
#[derive(Clone, Debug)]
pub struct MigrateOptions {
    /// The version to store; without one, the version that is the storage version already.
    pub to: Option<String>,
    /// What must be in the cluster before another version is stored: it is applied where [`Self::to`] changes it.
    pub before: Vec<Value>,
    /// What says how fields are called in another version, where the kind is known.
    pub conversion: Option<ObjectConversion>,
    /// Objects that are listed at a time.
    pub page: u32,
    /// Writes under way at a time, at most; fewer while the API server is slow.
    pub max_in_flight: u16,
    /// How long API servers may take to hear of another storage version.
    pub settle: Duration,
    /// Who writes.
    pub means: MigrationStrategy,
    /// Change nothing, and say what would be done.
    pub dry_run: bool,
}

/// Who rewrites the objects.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum MigrationStrategy {
    /// We do, by as many writes at a time as the API server takes.
    #[default]
    Loop,
    /// The cluster, by a `StorageVersionMigration`, at its own speed. What it leaves is ours.
    StorageVersionMigration,
    /// The cluster where it can, we where it cannot.
    Auto,
}

impl Default for MigrateOptions {
    fn default() -> Self {
        let (to, before, conversion, means, dry_run) = (None, Vec::new(), None, MigrationStrategy::default(), false);
        Self { to, before, conversion, page: PAGE, max_in_flight: MAX_IN_FLIGHT, settle: SETTLE, means, dry_run }
    }
}

/// What kubectl lists at a time (`--chunk-size`), and what the API server's own migrator does.
const PAGE: u32 = 500;

/// An API server allows a client of low priority about this many without queueing.
const MAX_IN_FLIGHT: u16 = 8;

/// An API server hears of a CRD by a watch, and replaces its handlers within the second; five is what it allows its
/// own replicas before a new CRD is called established (`apiextensions-apiserver`, `establishing_controller.go`).
const SETTLE: Duration = Duration::from_secs(10);

/// What is forgotten, and how.
pub struct ForgetOptions<'o> {
    /// The version whose annotations go.
    pub version: String,
    /// The versions of the kind, oldest first: to one behind it the way leads through it.
    pub order: Vec<String>,
    /// Whether a text is what we keep. What is not is somebody else's.
    pub is_ours: &'o dyn Fn(&str) -> bool,
    /// What says how fields of the version are called in the one that is stored.
    pub conversion: Option<ObjectConversion>,
    /// Objects that are listed at a time.
    pub page: u32,
    /// Writes under way at a time, at most.
    pub max_in_flight: u16,
    /// Change nothing, and say what would be done.
    pub dry_run: bool,
}

/// What a migration, or forgetting, says on the way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MigrateEvent {
    /// Another version is stored from now on.
    Flipped {
        /// The version that was stored.
        from: String,
        /// The version that is.
        to: String,
    },
    /// A policy of a version that is stored no more is deleted.
    Deleted {
        /// Kind and name.
        document: String,
    },
    /// Such a policy stays.
    Left {
        /// Kind and name.
        document: String,
        /// Why it could not be deleted.
        error: CallError,
    },
    /// Waits until every API server has heard of it.
    Settling(Duration),
    /// Goes on where an earlier run ended.
    GoesOn,
    /// The cluster rewrites the objects.
    Delegated {
        /// Of the `StorageVersionMigration`.
        name: String,
    },
    /// The cluster did not come to a good end, and what is left is done here.
    TakenBack {
        /// What was seen.
        reason: String,
    },
    /// A page was dealt with.
    Page {
        /// Objects that were written so far.
        written: u64,
        /// Objects that were as they should be already.
        passed_over: u64,
        /// Objects that could not be written.
        failed: u64,
        /// Objects behind this page, where the API server says so.
        remaining: Option<u64>,
        /// Writes under way at a time.
        max_in_flight: u16,
    },
    /// The API server is busy or away; the same call is tried again.
    Trying {
        /// What it said.
        error: CallError,
        /// After this long.
        pause: Duration,
    },
    /// Everything was listed; now it is listed once more, to see whether something old is left.
    Looking,
}

/// What came of a migration.
#[derive(Clone, Debug, Default)]
pub struct Migrated {
    /// The CRD's name.
    pub crd: String,
    /// The version that is to be stored; empty where it was stopped before that was known.
    pub storage: String,
    /// `status.storedVersions` at the beginning.
    pub stored_before: Vec<String>,
    /// The same at the end.
    pub stored: Vec<String>,
    /// What was done.
    pub objects: RewrittenObjects,
}

impl Migrated {
    /// Whether everything that is stored is in the storage version.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stored.iter().eq([&self.storage])
    }
}

/// What came of forgetting.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// The CRD's name.
    pub crd: String,
    /// The version.
    pub version: String,
    /// Objects with an annotation of that name that is none of ours.
    pub foreign: u64,
    /// What was done.
    pub objects: RewrittenObjects,
}

/// What was done to the objects of a kind.
#[derive(Clone, Debug, Default)]
pub struct RewrittenObjects {
    /// Objects that were written by this run, or by somebody else just before it came to them.
    pub written: u64,
    /// Objects that were as they should be already.
    pub passed_over: u64,
    /// Objects that were deleted before they could be written.
    pub gone: u64,
    /// Writes that did not come to pass, since others wrote the same object at the same time; each is seen again.
    pub raced: u64,
    /// Objects that are left: those that would be written, in a dry run; where it was interrupted, those not reached.
    pub left: Option<u64>,
    /// Objects that could not be written.
    pub failures: Vec<FailedWrite>,
    /// Whether somebody asked it to stop.
    pub interrupted: bool,
}

impl RewrittenObjects {
    /// All objects that were seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.written + self.passed_over + self.gone + self.failures.len() as u64
    }
}

/// An object that could not be written.
#[derive(Clone, Debug)]
pub struct FailedWrite {
    /// Its namespace, where it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What the API server said.
    pub reason: String,
}

/// Why a migration, or forgetting, did not come to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// A call failed, and would fail again.
    #[error(transparent)]
    Call(#[from] CallError),
    /// There is no such version.
    #[error("{crd} has no version {version}; it has {known}")]
    NoVersion {
        /// The CRD.
        crd: String,
        /// What was asked for.
        version: String,
        /// What there is.
        known: String,
    },
    /// A version that nobody is offered cannot be read, and so not be rewritten.
    #[error("{crd} does not serve {version}: serve it while objects are rewritten")]
    NotServed {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// Nothing converts.
    #[error(
        "{crd} has {stored} stored and no webhook that converts: rewriting would only put another version on objects, \
         and fields would be lost. Enable the conversion first: pointsman enable"
    )]
    NotConverted {
        /// The CRD.
        crd: String,
        /// The versions.
        stored: String,
    },
    /// The cluster cannot rewrite objects by itself.
    #[error(
        "{address} offers no StorageVersionMigration, which is on by default from Kubernetes 1.37: --means=loop does without"
    )]
    NoMigrator {
        /// Of the API server.
        address: String,
    },
    /// Somebody may still read what is to be forgotten.
    #[error(
        "nothing was changed: {crd} serves {version}: whoever reads it there would miss what is kept for it. First: \
         pointsman disable, or pointsman crd --served"
    )]
    Served {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// It may be needed to read what is stored.
    #[error(
        "nothing was changed: {crd} may have objects stored as {version}, and going back to it takes what is kept for it. \
         First: pointsman migrate {crd}"
    )]
    Stored {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// What is kept for it is part of what a version behind it says.
    #[error(
        "nothing was changed: the way from {storage} to {behind} leads through {version}, and {behind} is still served or \
         stored. First let go of {behind} as well"
    )]
    OnTheWay {
        /// The version.
        version: String,
        /// The one that is stored.
        storage: String,
        /// The one behind it.
        behind: String,
    },
    /// A policy is another one.
    #[error(
        "nothing is stored in another version yet: somebody else says otherwise of {document} ({conflicts}). It is to be \
         as pointsman crd prints it: delete it, or apply what is printed with kubectl apply --server-side \
         --force-conflicts"
    )]
    Policy {
        /// Kind and name.
        document: String,
        /// Who, and which fields.
        conflicts: String,
    },
    /// The CRD was changed while objects were rewritten.
    #[error(
        "{crd} was changed, or made again, by somebody else while objects were rewritten: nothing was written after that, \
         and storedVersions was left as it is. Look at what it is now, and run this again"
    )]
    Changed {
        /// The CRD.
        crd: String,
    },
    /// One write after the other fails.
    #[error(
        "the last {count} writes failed, the last one with: {last}. Nothing is lost; mend that, and run this again"
    )]
    AllFail {
        /// How many in a row.
        count: u16,
        /// What the API server said.
        last: String,
    },
    /// Others write faster than we do.
    #[error(
        "objects of {crd} were not as they should be after all were looked at {rounds} times: who writes them, and through \
         which API server?"
    )]
    NeverEnds {
        /// The CRD.
        crd: String,
        /// How often.
        rounds: u16,
    },
}

impl MigrateError {
    /// Why a policy could not be applied.
    pub(super) fn of_policy(error: CallError, document: &Value) -> Self {
        if error.conflicts().is_empty() {
            return error.into();
        }
        Self::Policy { document: title(document), conflicts: error.conflicts().join(", ") }
    }

    /// The call that failed, where it is one.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }
}
