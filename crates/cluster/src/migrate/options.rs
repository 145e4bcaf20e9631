//! Options, progress events, results and errors of `migrate`.

use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::title;
use crate::ownership::ObjectConversion;

/// Options of `migrate`.
#[derive(Clone, Debug)]
pub struct MigrateOptions {
    /// The storage version to set; the current one if `None`.
    pub to: Option<String>,
    /// Documents that are required before a change of storage version: applied if [`Self::to`] changes it.
    pub before: Vec<Value>,
    /// Translates field names of other versions, for a known kind.
    pub conversion: Option<ObjectConversion>,
    /// Objects per page.
    pub page: u32,
    /// Maximum number of concurrent writes; fewer while the API server is slow.
    pub max_in_flight: u16,
    /// Time for API servers to receive a change of storage version.
    pub settle: Duration,
    /// The writer.
    pub means: MigrationStrategy,
    /// Report only, without changes.
    pub dry_run: bool,
}

/// The writer of objects.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum MigrationStrategy {
    /// pointsman, with as many concurrent writes as the API server handles.
    #[default]
    Loop,
    /// The cluster, with a `StorageVersionMigration` at its own speed. pointsman writes the rest.
    StorageVersionMigration,
    /// The cluster if possible, otherwise pointsman.
    Auto,
}

impl Default for MigrateOptions {
    fn default() -> Self {
        let (to, before, conversion, means, dry_run) = (None, Vec::new(), None, MigrationStrategy::default(), false);
        Self { to, before, conversion, page: PAGE, max_in_flight: MAX_IN_FLIGHT, settle: SETTLE, means, dry_run }
    }
}

/// Same as kubectl (`--chunk-size`) and the API server's own migrator.
const PAGE: u32 = 500;

/// An API server allows a client of low priority about this many requests without queueing.
const MAX_IN_FLIGHT: u16 = 8;

/// An API server receives a CRD change by a watch, and replaces its handlers within a second. It allows five seconds
/// for its replicas before a new CRD counts as established (`apiextensions-apiserver`, `establishing_controller.go`).
const SETTLE: Duration = Duration::from_secs(10);

/// Options of `migrate --forget`.
pub struct ForgetOptions<'o> {
    /// The version of the annotations to remove.
    pub version: String,
    /// The versions of the kind, oldest first, which are converted in sequence.
    pub order: Vec<String>,
    /// True for a kept annotation of pointsman; others are foreign.
    pub is_ours: &'o dyn Fn(&str) -> bool,
    /// Translates field names of the version to the storage version.
    pub conversion: Option<ObjectConversion>,
    /// Objects per page.
    pub page: u32,
    /// Maximum number of concurrent writes.
    pub max_in_flight: u16,
    /// Report only, without changes.
    pub dry_run: bool,
}

/// Progress of a migration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MigrateEvent {
    /// The storage version was changed.
    Flipped {
        /// The earlier storage version.
        from: String,
        /// The new storage version.
        to: String,
    },
    /// A policy of a version that is no longer stored was deleted.
    Deleted {
        /// Kind and name.
        document: String,
    },
    /// Such a policy remains.
    Left {
        /// Kind and name.
        document: String,
        /// The error of the deletion.
        error: CallError,
    },
    /// Waits until every API server has received the change.
    Settling(Duration),
    /// Continues an earlier run.
    Resumed,
    /// The cluster writes the objects.
    Delegated {
        /// The name of the `StorageVersionMigration`.
        name: String,
    },
    /// The migration by the cluster failed; pointsman writes the rest.
    Fallback {
        /// The finding.
        reason: String,
    },
    /// A page was processed.
    Page {
        /// Objects written so far.
        written: u64,
        /// Objects already in the desired state.
        passed_over: u64,
        /// Objects with failed writes.
        failed: u64,
        /// Remaining objects, if in the response.
        remaining: Option<u64>,
        /// Concurrent writes.
        max_in_flight: u16,
    },
    /// The API server is overloaded or down; the call is retried.
    Trying {
        /// The error.
        error: CallError,
        /// The pause.
        pause: Duration,
    },
    /// All objects were listed; a second pass checks for remaining old ones.
    Looking,
}

/// The result of a migration.
#[derive(Clone, Debug, Default)]
pub struct Migrated {
    /// The CRD's name.
    pub crd: String,
    /// The target storage version; empty if stopped before it was known.
    pub storage: String,
    /// `status.storedVersions` at the start.
    pub stored_before: Vec<String>,
    /// `status.storedVersions` at the end.
    pub stored: Vec<String>,
    /// The objects.
    pub objects: RewrittenObjects,
}

impl Migrated {
    /// True if all objects are stored in the storage version.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stored.iter().eq([&self.storage])
    }
}

/// The result of `migrate --forget`.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// The CRD's name.
    pub crd: String,
    /// The version.
    pub version: String,
    /// Objects with a foreign annotation of that name.
    pub foreign: u64,
    /// The objects.
    pub objects: RewrittenObjects,
}

/// Numbers of objects by outcome.
#[derive(Clone, Debug, Default)]
pub struct RewrittenObjects {
    /// Objects written by this run, or by another client just before.
    pub written: u64,
    /// Objects already in the desired state.
    pub passed_over: u64,
    /// Objects deleted before their write.
    pub deleted: u64,
    /// Writes that conflicted with other writers; the next pass observes these objects again.
    pub raced: u64,
    /// Remaining objects: pending writes in a dry run, or unprocessed ones after an interruption.
    pub left: Option<u64>,
    /// Objects with failed writes.
    pub failures: Vec<FailedWrite>,
    /// True if stopped on request.
    pub interrupted: bool,
}

impl RewrittenObjects {
    /// All observed objects.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.written + self.passed_over + self.deleted + self.failures.len() as u64
    }
}

/// An object with a failed write.
#[derive(Clone, Debug)]
pub struct FailedWrite {
    /// Its namespace, if namespaced.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The API server's message.
    pub reason: String,
}

/// An error of a migration.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// A call failed permanently.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The version does not exist.
    #[error("{crd} has no version {version}; known versions: {known}")]
    NoVersion {
        /// The CRD.
        crd: String,
        /// The requested version.
        version: String,
        /// Existing versions.
        known: String,
    },
    /// The version is not served, so objects cannot be read and written in it.
    #[error("{crd} does not serve {version}: serve this version during the migration")]
    NotServed {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// No conversion webhook is set.
    #[error(
        "{crd} has {stored} stored and no conversion webhook: a rewrite would only change apiVersion, and \
             fields would be lost. Enable the conversion first: pointsman enable"
    )]
    NotConverted {
        /// The CRD.
        crd: String,
        /// The versions.
        stored: String,
    },
    /// The cluster lacks StorageVersionMigration.
    #[error("{address} has no StorageVersionMigration (on by default from Kubernetes 1.37): use --means=loop")]
    NoMigrator {
        /// Address of the API server.
        address: String,
    },
    /// The version to forget is still served.
    #[error(
        "the cluster is unchanged: {crd} serves {version}: its clients would lose the kept values of this version. First run pointsman disable, or pointsman crd --served"
    )]
    Served {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// The version to forget may still be stored.
    #[error(
        "the cluster is unchanged: {crd} may have objects stored as {version}, and a downgrade needs the kept \
             values of this version. First run pointsman migrate {crd}"
    )]
    Stored {
        /// The CRD.
        crd: String,
        /// The version.
        version: String,
    },
    /// Another used version is converted through the one to forget.
    #[error(
        "the cluster is unchanged: the path from {storage} to {behind} includes {version}, and {behind} is \
             still served or stored. First remove {behind} as well"
    )]
    OnTheWay {
        /// The version.
        version: String,
        /// The storage version.
        storage: String,
        /// The other version.
        behind: String,
    },
    /// A required policy differs.
    #[error(
        "no object is stored in another version yet: another field manager owns fields of {document} \
             ({conflicts}). Delete the document, or run kubectl apply --server-side --force-conflicts with the \
             output of pointsman crd"
    )]
    Policy {
        /// Kind and name.
        document: String,
        /// The field managers and fields.
        conflicts: String,
    },
    /// The CRD was changed during the migration.
    #[error(
        "{crd} was changed or recreated by another client during the migration: the migration stopped, and \
             storedVersions is unchanged. Check the CRD, then run this command again"
    )]
    Changed {
        /// The CRD.
        crd: String,
    },
    /// Consecutive writes fail.
    #[error(
        "the last {count} writes failed, the last one with: {last}. No data is lost. Fix the cause, then run \
             this command again"
    )]
    AllFail {
        /// The number of consecutive failures.
        count: u16,
        /// The API server's message.
        last: String,
    },
    /// Other clients write objects faster than the migration.
    #[error(
        "objects of {crd} still had the wrong version after {rounds} rounds: find the client and the API server \
             that write these objects"
    )]
    NeverEnds {
        /// The CRD.
        crd: String,
        /// The number of passes.
        rounds: u16,
    },
}

impl MigrateError {
    /// The error of a policy apply.
    pub(super) fn of_policy(error: CallError, document: &Value) -> Self {
        if error.conflicts().is_empty() {
            return error.into();
        }
        Self::Policy { document: title(document), conflicts: error.conflicts().join(", ") }
    }

    /// The failed call, if any.
    #[must_use]
    pub fn call(&self) -> Option<&CallError> {
        match self {
            Self::Call(error) => Some(error),
            _ => None,
        }
    }
}
