//! The `CustomResourceDefinition` of a kind, ready to be applied.

use serde_json::{Value, json};

use super::{client_config::ClientConfig, document::set, schema_rules::add_rules};
use crate::apimachinery::did_you_mean;
use crate::definition::Kind;

/// Options of the printed CRD, in addition to the definition.
#[derive(Clone, Debug, Default)]
pub struct CrdOptions {
    /// The conversion webhook. Without it, the API server only changes `apiVersion`, and fields are lost.
    pub conversion: Option<ClientConfig>,
    /// Whether the CRD contains the admission rules that a schema can express.
    pub rules: SchemaRules,
    /// The storage version. Defaults to that of the CRD of the definition.
    pub storage: Option<String>,
}

/// Whether a CRD contains admission rules, as `x-kubernetes-validations`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SchemaRules {
    /// The API server enforces them, in every controller version and while no server runs.
    #[default]
    Included,
    /// Only `/validate` enforces them.
    LeftOut,
}

/// A storage version that the kind does not have.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("{version}: {kind} has {known}")]
pub struct NoSuchVersion {
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The versions of the kind.
    pub known: String,
}

/// Returns the CRD of a kind.
///
/// # Errors
/// The kind has no version with the name of the storage version.
///
/// # Examples
/// ```
/// use pointsman_core::definition::Kind;
/// use pointsman_core::registration::{Address, ClientConfig, CrdOptions, Trust, crd};
///
/// let kinds = Kind::embedded()?;
/// let kind = kinds.iter().find(|kind| kind.name() == "materialize").ok_or("not built in")?;
/// let client = ClientConfig {
///     address: Address::Service("pointsman-system/pointsman".parse()?),
///     trust: Trust::CertManager("pointsman-system/pointsman".parse()?),
/// };
/// let options = CrdOptions {
///     conversion: Some(client),
///     storage: Some("v1alpha1".to_owned()), // so that the older controller can come back
///     ..CrdOptions::default()
/// };
/// let crd = crd(kind, &options)?;
/// assert_eq!(crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"], "/convert");
/// let annotations = &crd["metadata"]["annotations"];
/// assert_eq!(annotations["cert-manager.io/inject-ca-from"], "pointsman-system/pointsman");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn crd(kind: &Kind, options: &CrdOptions) -> Result<Value, NoSuchVersion> {
    let mut crd = kind.crd().clone();
    if options.rules == SchemaRules::Included {
        add_rules(kind, &mut crd);
    }
    if let Some(storage) = &options.storage {
        store(kind, &mut crd, storage)?;
    }
    match (&options.conversion, crd.get_mut("spec")) {
        (Some(client), Some(spec)) => {
            let config = client.for_conversion();
            let webhook = json!({"clientConfig": config, "conversionReviewVersions": ["v1"]});
            set(spec, "conversion", json!({"strategy": "Webhook", "webhook": webhook}));
        }
        (None, Some(Value::Object(spec))) => {
            spec.remove("conversion");
        }
        (_, _) => {}
    }
    if let (Some(client), Some(metadata)) = (&options.conversion, crd.get_mut("metadata")) {
        client.annotate(metadata);
    }
    Ok(crd)
}

fn store(kind: &Kind, crd: &mut Value, storage: &str) -> Result<(), NoSuchVersion> {
    let known: Vec<&str> = kind.versions().collect();
    if !known.contains(&storage) {
        let (version, kind) = (storage.to_owned(), kind.kind().to_owned());
        let meant = did_you_mean(&version, known.iter().copied());
        return Err(NoSuchVersion { version, kind, known: known.join(", ") + &meant });
    }
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let is_stored = version.get("name").and_then(Value::as_str) == Some(storage);
        set(version, "storage", is_stored.into());
    }
    Ok(())
}
