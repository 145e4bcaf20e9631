//! What a look at a kind is asked, and what it sees.

use std::collections::BTreeMap;

use serde_json::Value;

use super::certificate_end::CertificateEnd;
use super::last_errors::AskedErrors;
use super::reported_errors::ReportedErrors;
use crate::annotations::kept_versions;
use crate::bundle_faults::BundleFault;
use crate::crd_state::CrdState;
use crate::migrate::Mark;
use crate::ownership::VersionCounts;

/// What is looked at, and how.
pub struct StatusOptions<'o> {
    /// The CRD's name: `plural.group`.
    pub name: String,
    /// What the commands that mend something call the kind.
    pub kind: String,
    /// The label that says which controller version manages an object.
    pub version_label: String,
    /// `host:port` to ask, instead of those that the Service leads to.
    pub endpoints: Vec<String>,
    /// Whom to ask for their last errors.
    pub errors: &'o AskedErrors,
    /// What a CRD says otherwise than the one that the definition was checked against.
    pub drift: &'o dyn Fn(&Value) -> Vec<String>,
    /// Objects that are listed at a time.
    pub page: u32,
    /// Seconds since 1970.
    pub now: u64,
}

/// How a kind stands.
#[derive(Clone, Debug, Default)]
pub struct KindStatus {
    /// The CRD.
    pub crd: String,
    /// Whom the API server calls to convert; nobody where it only relabels.
    pub converted_by: Option<String>,
    /// Whether all versions that are served or stored have one schema, so that nothing has to be converted.
    pub one_schema: bool,
    /// Whether a way out was begun, and not ended.
    pub disabling: bool,
    /// Whether the CRD says that its conversion may be taken away.
    pub let_go: bool,
    /// The versions that are served.
    pub served: Vec<String>,
    /// The version that is stored from now on.
    pub storage: String,
    /// The versions that objects may be stored in, as the CRD says.
    pub stored: Vec<String>,
    /// What is there.
    pub objects: ObjectCounts,
    /// Versions that are served and cannot be listed, with what the API server says.
    pub unread: BTreeMap<String, String>,
    /// When the authorities end that the API server is told to trust.
    pub authorities: Vec<CertificateEnd>,
    /// Faults of the `caBundle` in the CRD.
    pub bundle: Vec<BundleFault>,
    /// Those who answer, as far as they can be asked from here.
    pub endpoints: Vec<EndpointStatus>,
    /// What they say that went wrong.
    pub errors: ReportedErrors,
    /// Why it is not known who answers.
    pub no_endpoints: Option<String>,
    /// What the CRD says otherwise than the one that the definition was checked against.
    pub drift: Vec<String>,
    /// What needs a person.
    pub findings: Vec<StatusFinding>,
}

/// Objects, counted by what can be seen of them. In which version one is stored cannot be seen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ObjectCounts {
    /// All of them.
    pub all: u64,
    /// Those that were written since the version is stored that is stored now. Known only while a migration is under
    /// way.
    pub written_since: Option<u64>,
    /// By the label that says which controller version manages them; the empty one for those without.
    pub by_controller: BTreeMap<String, u64>,
    /// Those with an annotation that keeps what only another version can say, by that version.
    pub kept: BTreeMap<String, u64>,
    /// Those that name a version in managedFields, in what client-side apply has noted, or in an owner reference.
    pub named: VersionCounts,
}

impl ObjectCounts {
    /// Counts one more object of a CRD.
    pub(super) fn add(&mut self, item: &Value, mark: Option<&Mark>, label: &str, crd: &CrdState) {
        self.all += 1;
        self.named.add(item, crd.group(), crd.kind());
        let metadata = item.get("metadata");
        let version = metadata.and_then(|metadata| metadata.get("resourceVersion")?.as_str()).unwrap_or_default();
        if let (Some(written), Some(mark)) = (&mut self.written_since, mark) {
            *written += u64::from(mark.covers(version));
        }
        let controller = metadata.and_then(|metadata| metadata.get("labels")?.get(label)?.as_str()).unwrap_or_default();
        *self.by_controller.entry(controller.to_owned()).or_default() += 1;
        for version in kept_versions(item) {
            *self.kept.entry(version.to_owned()).or_default() += 1;
        }
    }
}

/// What an endpoint shows.
#[derive(Clone, Debug)]
pub struct EndpointStatus {
    /// `host:port`.
    pub endpoint: String,
    /// When its certificate ends, which the API server would trust; or why it would not.
    pub certificate: Result<CertificateEnd, String>,
    /// Whether it could be asked from here at all.
    pub reached: bool,
}

/// Something that needs a person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusFinding {
    /// What does not fit, and what comes of it.
    pub problem: String,
    /// The command that mends it, or where it is written.
    pub mend: String,
}
