//! What is registered for admission, who answers there, and how they were started: a look, and nothing is written.

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
