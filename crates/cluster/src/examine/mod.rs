//! What is registered for admission, who answers there, and how they were started: a look, and nothing is written.

mod agreement;
mod documents;
mod examining;
mod registered_finding;
mod running;
mod webhook_clients;

pub use documents::{DocumentOptions, ExaminedDocuments, examine_documents};
pub use examining::{Examined, examine};
pub use registered_finding::RegisteredFinding;
pub use running::RunningServer;
