//! How a kind stands in a cluster, and what of that needs a person.

mod certificate_end;
mod declared;
mod findings;
mod kind_status;
mod last_errors;
mod looking;
mod reported_errors;

pub(crate) use declared::declared;
pub(crate) use findings::findings;

pub use certificate_end::CertificateEnd;
pub use kind_status::{EndpointStatus, KindStatus, ObjectCounts, StatusFinding, StatusOptions};
pub use last_errors::{AdminPorts, AskedErrors};
pub use looking::status;
pub use reported_errors::{ReportedError, ReportedErrors};
