//! Certificate files: read consistently, checked, and turned into TLS configurations.

mod authorities;
mod dev;
mod error;
mod expiry;
mod file_events;
mod files;
mod key_pair;
mod leaf;
mod pem;
mod short_chains;
mod subject;
mod tls;
mod volume;

pub use self::authorities::{AuthorityRemark, NoCertificate, authority_remarks};
pub use self::dev::{DevError, DevPair, prepare};
pub use self::error::CertificateError;
pub use self::expiry::ExpiryWarnings;
pub use self::file_events::FileEvents;
pub use self::files::{CertificateFiles, FileReader, LoadedFiles};
pub use self::key_pair::{CertPaths, ServingKeyPair};
pub use self::leaf::{Leaf, RejectionReason};
pub use self::subject::{ends, is_allowed};
pub(crate) use self::tls::HTTP2;
pub use self::tls::{ClientCa, server_config};
