//! Rewriting what is stored, so that all of it is in the storage version.

mod target;
mod forget;
mod mark;
mod migration;
mod object_patch;
mod old_policies;
mod options;
mod pace;
mod pass;
mod retry;
mod storage_version_migration;
mod write;

pub(crate) use target::MigrationTarget;
pub(crate) use mark::Mark;
pub(crate) use pass::{RewriteRun, Speed};

pub use forget::forget;
pub use migration::migrate;
pub use options::{
    ForgetOptions, Forgotten, MigrationStrategy, MigrateError, MigrateEvent, MigrateOptions, Migrated, RewrittenObjects, FailedWrite,
};
