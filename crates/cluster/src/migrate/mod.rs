//! Rewriting what is stored, so that all of it is in the storage version.

mod forget;
mod mark;
mod migration;
mod options;
mod pace;
mod pass;

pub(crate) use mark::Mark;

pub use forget::{ForgetError, ForgetEvent, ForgetOptions, Forgotten, forget};
pub use migration::migrate;
pub use options::{MigrateError, MigrateEvent, MigrateOptions, Migrated, Unwritten};
