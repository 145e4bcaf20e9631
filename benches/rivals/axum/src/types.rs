//! Both versions as structs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

pub(crate) type Map = BTreeMap<String, String>;

/// The fields of both specs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommonSpec {
    pub(crate) environmentd_image_ref: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_extra_args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_extra_env: Option<Vec<EnvVar>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_connection_role_arn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_resource_requirements: Option<ResourceRequirements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_scratch_volume_storage_requirement: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) balancerd_resource_requirements: Option<ResourceRequirements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) console_resource_requirements: Option<ResourceRequirements>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) balancerd_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) console_replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_account_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_account_annotations: Option<Map>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) service_account_labels: Option<Map>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pod_annotations: Option<Map>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pod_labels: Option<Map>,
    pub(crate) force_rollout: String,
    pub(crate) rollout_strategy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollout_request_timeout: Option<String>,
    pub(crate) backend_secret_name: String,
    pub(crate) authenticator_kind: String,
    pub(crate) enable_rbac: bool,
    pub(crate) environment_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system_parameter_configmap_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) balancerd_external_certificate_spec: Option<CertificateSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) console_external_certificate_spec: Option<CertificateSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) internal_certificate_spec: Option<CertificateSpec>,
}

/// The options of a certificate request to cert-manager.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CertificateSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    dns_names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renew_before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer_ref: Option<Map>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_template: Option<SecretTemplate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_key_algorithm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_key_size: Option<i64>,
}

/// The labels of a Secret.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SecretTemplate {
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Map>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Map>,
}

/// The fields of both statuses.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommonStatus {
    pub(crate) active_generation: u64,
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_completed_rollout_environmentd_image_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_completed_rollout_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requested_rollout_hash: Option<String>,
    pub(crate) resource_id: String,
}

/// The older spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpecV1alpha1 {
    #[serde(flatten)]
    pub(crate) common: CommonSpec,
    pub(crate) request_rollout: String,
    pub(crate) in_place_rollout: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_iam_role_arn: Option<String>,
    pub(crate) force_promote: String,
}

/// The older status.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StatusV1alpha1 {
    #[serde(flatten)]
    pub(crate) common: CommonStatus,
    pub(crate) last_completed_rollout_request: String,
    pub(crate) resources_hash: String,
}

/// The newer spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpecV1alpha2 {
    #[serde(flatten)]
    pub(crate) common: CommonSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) force_promote: Option<String>,
}

/// An object of a version.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[serde(bound(deserialize = "Spec: Default + Deserialize<'de>, Status: Deserialize<'de>"))]
pub(crate) struct Object<Spec, Status> {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    // Objects of the API server during a server-side apply may lack both metadata and spec.
    #[serde(default)]
    pub(crate) metadata: ObjectMeta,
    #[serde(default = "Spec::default")]
    pub(crate) spec: Spec,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
}

/// The values that the newer version cannot represent.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Kept {
    pub(crate) request_rollout: String,
    pub(crate) in_place_rollout: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environmentd_iam_role_arn: Option<String>,
    pub(crate) force_promote: String,
    pub(crate) last_completed_rollout_request: String,
    pub(crate) resources_hash: String,
}
