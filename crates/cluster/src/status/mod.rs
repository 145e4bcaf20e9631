//! The status of a kind in a cluster, and findings about it.

mod certificate_end;
mod findings;
mod kind_status;
mod known_kinds;
mod last_errors;
mod reported_errors;
mod survey;

pub(crate) use findings::findings;
pub(crate) use known_kinds::declared;

pub use certificate_end::CertificateEnd;
pub use kind_status::{EndpointStatus, KindStatus, ObjectCounts, StatusFinding, StatusOptions};
pub use last_errors::{AdminPorts, ErrorReports};
pub use reported_errors::{ReportedError, ReportedErrors};
pub use survey::status;
