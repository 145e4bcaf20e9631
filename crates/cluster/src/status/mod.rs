//! How a kind stands in a cluster, and what of that needs a person.

mod certificate_end;
mod findings;
mod kind_status;
mod looking;

pub use certificate_end::CertificateEnd;
pub use kind_status::{EndpointStatus, KindStatus, ObjectCounts, StatusFinding, StatusOptions};
pub use looking::status;
