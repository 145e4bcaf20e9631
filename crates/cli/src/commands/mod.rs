//! One file or folder per subcommand, flags in and calls out; and what several of them share.

mod admission;
pub(crate) mod arm;
mod ca_file;
pub(crate) mod completion;
mod connected;
pub(crate) mod convert;
pub(crate) mod crd;
pub(crate) mod disarm;
mod file_stamps;
mod format;
pub(crate) mod hash;
mod input;
mod json_tree;
mod kind_names;
pub(crate) mod kinds;
mod kinds_dir;
pub(crate) mod man;
mod markup;
pub(crate) mod migrate;
pub(crate) mod mutate;
mod output;
pub(crate) mod plan;
mod requests;
mod schema;
pub(crate) mod serve;
pub(crate) mod status;
mod stop;
mod table;
mod usage;
pub(crate) mod validate;
pub(crate) mod webhooks;
mod yaml;

pub use ca_file::AuthorityRemarks;
pub use serve::{LimitArgs, ServeArgs, ServedDefinitions, ServedKinds};
pub use usage::Usage;
