//! Options and result of `status` for a kind.

use std::collections::BTreeMap;

use serde_json::Value;

use super::certificate_end::CertificateEnd;
use super::last_errors::ErrorReports;
use super::reported_errors::ReportedErrors;
use crate::annotations::kept_versions;
use crate::bundle_faults::BundleFault;
use crate::crd_state::CrdState;
use crate::migrate::Mark;
use crate::ownership::VersionCounts;

/// Options of `status`.
pub struct StatusOptions<'o> {
    /// The CRD's name: `plural.group`.
    pub name: String,
    /// The command line name of the kind.
    pub kind: String,
    /// The controller-version label.
    pub version_label: String,
    /// `host:port` to connect, instead of the Service's endpoints.
    pub endpoints: Vec<String>,
    /// The source of last errors.
    pub errors: &'o ErrorReports,
    /// The differences between a CRD and its definition.
    pub drift: &'o dyn Fn(&Value) -> Vec<String>,
    /// Objects per page.
    pub page: u32,
    /// Seconds since 1970.
    pub now: u64,
}

/// The status of a kind.
#[derive(Clone, Debug, Default)]
pub struct KindStatus {
    /// The CRD.
    pub crd: String,
    /// The conversion server; `None` with strategy None.
    pub converted_by: Option<String>,
    /// True if all served and stored versions have the same schema, so that no conversion is needed.
    pub one_schema: bool,
    /// True after an interrupted disable.
    pub disabling: bool,
    /// True if an annotation allows to remove the conversion.
    pub released: bool,
    /// Served versions.
    pub served: Vec<String>,
    /// The storage version.
    pub storage: String,
    /// Versions of stored objects, by the CRD.
    pub stored: Vec<String>,
    /// Object counts.
    pub objects: ObjectCounts,
    /// Served versions that cannot be listed, with the API server's message.
    pub unread: BTreeMap<String, String>,
    /// Expiry of the authorities that the API server trusts.
    pub authorities: Vec<CertificateEnd>,
    /// Faults of the `caBundle` in the CRD.
    pub bundle: Vec<BundleFault>,
    /// Endpoints, as far as reachable.
    pub endpoints: Vec<EndpointStatus>,
    /// Their last errors.
    pub errors: ReportedErrors,
    /// The reason why endpoints are unknown.
    pub no_endpoints: Option<String>,
    /// Differences between the CRD and its definition.
    pub drift: Vec<String>,
    /// Findings.
    pub findings: Vec<StatusFinding>,
}

/// Object counts by observable properties. The stored version of an object is not observable.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ObjectCounts {
    /// All objects.
    pub all: u64,
    /// Objects written since the change of storage version. Known only during a migration.
    pub written_since: Option<u64>,
    /// By controller-version label; empty text without label.
    pub by_controller: BTreeMap<String, u64>,
    /// Objects with a kept annotation, by its version.
    pub kept: BTreeMap<String, u64>,
    /// Objects that refer to a version in managedFields, the client-side apply annotation, or an owner reference.
    pub named: VersionCounts,
}

impl ObjectCounts {
    /// Counts an object of a CRD.
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

/// The status of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointStatus {
    /// `host:port`.
    pub endpoint: String,
    /// Expiry of its certificate, or the reason why the API server would not trust it.
    pub certificate: Result<CertificateEnd, String>,
    /// True if it was reachable from here.
    pub reached: bool,
}

/// A finding.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StatusFinding {
    /// The problem and its consequence.
    pub problem: String,
    /// The command or document that fixes it.
    pub fix: String,
}
