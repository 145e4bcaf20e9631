//! Where the objects of a step are: in which namespace, and of which cluster.

use schemars::JsonSchema;
use serde::Deserialize;

use super::step_object::{filled_name, name_template};
use crate::apimachinery::is_dns_label;

/// Where objects of a step are. In its texts, `{name}` and the like stand for the object of the rollout.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct StepPlace {
    /// The Secret that says how another cluster is reached; nothing for the cluster of the rollout.
    pub(crate) cluster: Option<ClusterSecret>,
    /// Their namespace; nothing where they are in none.
    pub(crate) namespace: Option<String>,
}

/// A Secret of the cluster of the rollout that holds a kubeconfig of another one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ClusterSecret {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The key of its data.
    pub(crate) key: String,
}

/// Which object a step is about, or in which cluster its objects are.
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
    /// How it is reached.
    cluster: ClusterSecretSpec,
}

/// A Secret with a kubeconfig.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "ClusterSecret")]
pub(super) struct ClusterSecretSpec {
    /// Its name, such as `{name}-kubeconfig`.
    secret: String,
    /// Its namespace, such as `{name}`.
    namespace: String,
    /// The key of its data that holds the kubeconfig. Defaults to `kubeconfig`.
    key: Option<String>,
}

impl StepPlace {
    /// Texts that are filled in for each object.
    pub(super) fn texts(&self) -> Vec<&str> {
        let of_cluster = self.cluster.iter().flat_map(|secret| [secret.namespace.as_str(), secret.name.as_str()]);
        of_cluster.chain(self.namespace.as_deref()).collect()
    }

    /// Reads where objects are. What is wrong is told with its member.
    pub(super) fn compile(
        on: Option<&ElsewhereSpec>,
        namespace: Option<&str>,
        mut say: impl FnMut(String),
    ) -> Option<Self> {
        let namespace = namespace.map(|text| namespace_template(text).map_err(|why| say(format!("namespace: {why}"))));
        let cluster = on.map(|on| on.cluster.compile().map_err(|why| say(format!("on.cluster: {why}"))));
        Some(Self { cluster: cluster.transpose().ok()?, namespace: namespace.transpose().ok()? })
    }
}

impl StepOnSpec {
    /// The object that is named.
    pub(super) fn object(&self) -> Option<&str> {
        match self {
            Self::Object(text) => Some(text),
            Self::Elsewhere(_) => None,
        }
    }

    /// The other cluster that is named.
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

/// A name of a namespace, in which `{name}` and the like are filled in for each object of a rollout.
pub(super) fn namespace_template(text: &str) -> Result<String, String> {
    if !is_dns_label(&filled_name(text)) {
        return Err(format!(
            "{text:?} is no name of a namespace: {{name}} stands for that of the object of the rollout"
        ));
    }
    Ok(text.to_owned())
}

/// What most who make such Secrets call it.
const KEY: &str = "kubeconfig";
