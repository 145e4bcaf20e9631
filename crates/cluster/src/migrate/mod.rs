//! Rewriting what is stored, so that all of it is in the storage version.

mod aim;
mod delegated;
mod forget;
mod mark;
mod migration;
mod options;
mod pace;
mod pass;
mod patiently;
mod write;

pub(crate) use mark::Mark;

pub use forget::forget;
pub use migration::migrate;
pub use options::{
    ForgetOptions, Forgotten, Means, MigrateError, MigrateEvent, MigrateOptions, Migrated, RewrittenObjects, Unwritten,
};
