//! Storage migration: stores all objects in the storage version.

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
mod target;
mod write;

pub(crate) use mark::Mark;
pub(crate) use pass::{RewriteRun, Speed};
pub(crate) use target::MigrationTarget;

pub use forget::forget;
pub use migration::migrate;
pub use options::{
    FailedWrite, ForgetOptions, Forgotten, MigrateError, MigrateEvent, MigrateOptions, Migrated, MigrationStrategy,
    RewrittenObjects,
};
