//! The location of the objects of a step: namespace and cluster.

use schemars::JsonSchema;
use serde::Deserialize;

use super::step_object::{filled_name, name_template};
use pointsman_core::apimachinery::is_dns_label;

/// The location of the objects of a step. In its texts, placeholders such as `{name}` stand for the object of the
/// rollout.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct StepPlace {
    /// The Secret for access to another cluster. `None` for the cluster of the rollout.
    pub(crate) cluster: Option<ClusterSecret>,
    /// The namespace. `None` for cluster-scoped objects.
    pub(crate) namespace: Option<String>,
}

/// A Secret in the cluster of the rollout with the kubeconfig of another cluster.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClusterSecret {
    /// The namespace of the Secret.
    pub(crate) namespace: String,
    /// The name of the Secret.
    pub(crate) name: String,
    /// The key in its data.
    pub(crate) key: String,
}

/// The object of a step, or the cluster of its objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "takes source, target, an object such as deployments.apps/{name}, or {cluster: {secret: …, namespace: …}}",
    rename = "StepOn"
)]
pub(super) enum StepOnSpec {
    /// `source`, `target`, or a resource and a name such as `deployments.apps/{name}`.
    Object(String),
    /// Objects of another cluster.
    Elsewhere(ElsewhereSpec),
}

/// Another cluster.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Elsewhere")]
pub(super) struct ElsewhereSpec {
    /// The access to the cluster.
    cluster: ClusterSecretSpec,
}

/// A Secret with a kubeconfig.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ClusterSecret")]
pub(super) struct ClusterSecretSpec {
    /// The name, such as `{name}-kubeconfig`.
    secret: String,
    /// The namespace, such as `{name}`.
    namespace: String,
    /// The key in its data with the kubeconfig. Defaults to `kubeconfig`.
    key: Option<String>,
}

impl StepPlace {
    /// The texts with placeholders for each object.
    pub(super) fn texts(&self) -> Vec<&str> {
        let of_cluster = self.cluster.iter().flat_map(|secret| [secret.namespace.as_str(), secret.name.as_str()]);
        of_cluster.chain(self.namespace.as_deref()).collect()
    }

    /// Parses a location. Reports problems with the name of the member.
    pub(super) fn compile(
        on: Option<&ElsewhereSpec>,
        namespace: Option<&str>,
        mut report: impl FnMut(String),
    ) -> Option<Self> {
        let namespace =
            namespace.map(|text| namespace_template(text).map_err(|why| report(format!("namespace: {why}"))));
        let cluster = on.map(|on| on.cluster.compile().map_err(|why| report(format!("on.cluster: {why}"))));
        Some(Self { cluster: cluster.transpose().ok()?, namespace: namespace.transpose().ok()? })
    }
}

impl StepOnSpec {
    /// The named object.
    pub(super) fn object(&self) -> Option<&str> {
        match self {
            Self::Object(text) => Some(text),
            Self::Elsewhere(_) => None,
        }
    }

    /// The named cluster.
    pub(super) fn elsewhere(&self) -> Option<&ElsewhereSpec> {
        match self {
            Self::Object(_) => None,
            Self::Elsewhere(elsewhere) => Some(elsewhere),
        }
    }
}

impl ClusterSecretSpec {
    fn compile(&self) -> Result<ClusterSecret, String> {
        let key = self.key.clone().unwrap_or_else(|| KEY.to_owned());
        let is_key = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
        if key.is_empty() || !key.chars().all(is_key) {
            return Err(format!("{key:?} is no key of a Secret"));
        }
        let namespace = namespace_template(&self.namespace)?;
        Ok(ClusterSecret { namespace, name: name_template(&self.secret)?, key })
    }
}

/// The name of a namespace, with placeholders such as `{name}` for each object of a rollout.
pub(super) fn namespace_template(text: &str) -> Result<String, String> {
    if !is_dns_label(&filled_name(text)) {
        return Err(format!(
            "{text:?} is no name of a namespace: use {{name}} for the name of the object of the rollout"
        ));
    }
    Ok(text.to_owned())
}

/// The usual key in such Secrets.
const KEY: &str = "kubeconfig";
