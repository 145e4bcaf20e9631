//! Queries the state of kinds in a cluster.

use pointsman_cluster::{
    AdminPorts, CallError, Cluster, ErrorReports, KindStatus, StatusOptions, UnknownCrd, status, unknown_crds,
};
use pointsman_core::definition::Kind;
use pointsman_core::registration::drift;

use crate::commands::cluster_args::advised;
use crate::commands::crd::converts;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::LoadedKind;
use crate::commands::unix_time::unix_time;

/// The kinds and options of a query.
pub(crate) struct Looking<'l> {
    kinds: Vec<&'l Kind>,
    /// The CRDs of all known kinds, including those without a conversion.
    all: Vec<String>,
    /// Whether the kinds were named, so that a missing CRD is an error.
    are_named: bool,
    endpoints: &'l [String],
    admin_ports: AdminPorts,
    page: u32,
}

impl<'l> Looking<'l> {
    /// The kinds of these names. Defaults to all kinds with several versions.
    pub(crate) fn new(
        all: &'l [LoadedKind],
        named: &[String],
        endpoints: &'l [String],
        page: u32,
    ) -> anyhow::Result<Self> {
        let kinds = match named.is_empty() {
            true => all.iter().map(|known| &known.kind).filter(|kind| converts(kind)).collect(),
            false => named.iter().map(|name| Ok(&find(all, name)?.kind)).collect::<anyhow::Result<_>>()?,
        };
        let all = all.iter().map(|known| format!("{}.{}", known.kind.plural(), known.kind.group())).collect();
        Ok(Self { kinds, all, are_named: !named.is_empty(), endpoints, admin_ports: AdminPorts::Disabled, page })
    }

    /// Sets the source of the last errors.
    pub(super) fn asking(self, admin_ports: AdminPorts) -> Self {
        Self { admin_ports, ..self }
    }

    /// CRDs that seem to convert through pointsman, without a definition here. Empty if kinds are named. An error if
    /// the CRDs cannot be listed.
    pub(crate) async fn unknown(&self, cluster: &Cluster) -> Result<Vec<UnknownCrd>, CallError> {
        if self.are_named {
            return Ok(Vec::new());
        }
        unknown_crds(cluster, &self.all).await
    }

    /// Queries the state of each kind.
    pub(crate) async fn query_all(&self, cluster: &Cluster) -> anyhow::Result<Vec<KindStatus>> {
        let (mut seen, errors) = (Vec::new(), ErrorReports::new(self.admin_ports.clone()));
        for kind in &self.kinds {
            let options = StatusOptions {
                name: format!("{}.{}", kind.plural(), kind.group()),
                kind: kind.name().to_owned(),
                version_label: kind.version_label().to_owned(),
                endpoints: self.endpoints.to_vec(),
                errors: &errors,
                drift: &|crd| drift(kind, crd),
                page: self.page,
                now: unix_time(),
            };
            match status(cluster, &options).await {
                Ok(status) => seen.push(status),
                Err(CallError::NoCrd { .. }) if !self.are_named => {}
                Err(error) => return Err(advised(error, |call| Some(call))),
            }
        }
        Ok(seen)
    }
}
