//! Read-only examination of admission documents, their servers, and how these were started.

mod agreement;
mod documents;
mod examination;
mod processes;
mod registration_problem;
mod webhook_clients;

pub use documents::{DocumentOptions, ExaminedDocuments, examine_documents};
pub use examination::{Examined, examine};
pub use processes::RunningServer;
pub use registration_problem::RegisteredFinding;
