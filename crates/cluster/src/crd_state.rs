//! A CustomResourceDefinition in the cluster.

use std::time::Duration;

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::Cluster;

/// A CRD in the cluster.
#[derive(Clone, Debug)]
pub struct CrdState {
    document: Value,
    group: String,
    plural: String,
    storage: String,
}

impl CrdState {
    /// Parses the API server's response.
    ///
    /// # Errors
    /// [`CallError::BadCrd`]: a required member is missing.
    pub fn new(document: Value) -> Result<Self, CallError> {
        let name = text(&document, "/metadata/name").unwrap_or_default().to_owned();
        let lacks = |field: &'static str| CallError::BadCrd { name: name.clone(), field };
        let field =
            |path: &str, field: &'static str| text(&document, path).map(str::to_owned).ok_or_else(|| lacks(field));
        let group = field("/spec/group", "spec.group")?;
        let plural = field("/spec/names/plural", "spec.names.plural")?;
        let stored = versions(&document).find(|version| flag(version, "storage"));
        let storage = stored.and_then(|version| text(version, "/name"));
        let storage = storage.ok_or_else(|| lacks("storage version"))?.to_owned();
        Ok(Self { document, group, plural, storage })
    }

    /// The CRD of a name, if it exists.
    ///
    /// # Errors
    /// [`CallError::BadCrd`] if a required member is missing, and each error of a call.
    pub async fn find(cluster: &Cluster, name: &str) -> Result<Option<Self>, CallError> {
        cluster.find(&crd_path(name)).await?.map(Self::new).transpose()
    }

    /// The CRD of a name, which must exist.
    pub(crate) async fn fetch(cluster: &Cluster, name: &str) -> Result<Self, CallError> {
        Self::find(cluster, name).await?.ok_or_else(|| CallError::NoCrd { name: name.to_owned() })
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// `plural.group`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    pub(crate) fn plural(&self) -> &str {
        &self.plural
    }

    /// The kind of its objects.
    pub(crate) fn kind(&self) -> &str {
        text(&self.document, "/spec/names/kind").unwrap_or_default()
    }

    /// The schema of a version.
    pub(crate) fn schema(&self, version: &str) -> Option<&Value> {
        let named = versions(&self.document).find(|one| text(one, "/name") == Some(version))?;
        named.pointer("/schema/openAPIV3Schema")
    }

    /// True if these versions have the same schema, so that objects are the same in each.
    pub(crate) fn has_one_schema(&self, versions: &[&str]) -> bool {
        let mut schemas = versions.iter().map(|version| self.schema(version).map(without_descriptions));
        let first = schemas.next().flatten();
        first.is_some() && schemas.all(|schema| schema == first)
    }

    /// The storage version.
    #[must_use]
    pub fn storage(&self) -> &str {
        &self.storage
    }

    /// The versions of stored objects, as recorded by the API server.
    #[must_use]
    pub fn stored_versions(&self) -> Vec<&str> {
        let stored = self.document.pointer("/status/storedVersions").and_then(Value::as_array);
        stored.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Every version, in CRD order.
    #[must_use]
    pub fn versions(&self) -> Vec<&str> {
        versions(&self.document).filter_map(|version| text(version, "/name")).collect()
    }

    /// The served versions.
    #[must_use]
    pub fn served(&self) -> Vec<&str> {
        let served = versions(&self.document).filter(|version| flag(version, "served"));
        served.filter_map(|version| text(version, "/name")).collect()
    }

    /// The version in which to read all objects: the storage version, if served.
    pub(crate) fn readable(&self) -> Option<&str> {
        let served = self.served();
        served.iter().find(|name| **name == self.storage).or_else(|| served.first()).copied()
    }

    /// Whether a webhook converts.
    #[must_use]
    pub fn is_converted(&self) -> bool {
        text(&self.document, "/spec/conversion/strategy") == Some("Webhook")
    }

    /// Increases with each change of the spec.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.document.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default()
    }

    /// Unique to this CRD, unlike its name.
    #[must_use]
    pub fn uid(&self) -> &str {
        text(&self.document, "/metadata/uid").unwrap_or_default()
    }

    pub(crate) fn resource_version(&self) -> &str {
        text(&self.document, "/metadata/resourceVersion").unwrap_or_default()
    }

    pub(crate) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = self.document.pointer("/metadata/annotations");
        annotations.and_then(|annotations| annotations.get(name)).and_then(Value::as_str)
    }

    /// True if its objects are namespaced.
    pub(crate) fn is_namespaced(&self) -> bool {
        text(&self.document, "/spec/scope") != Some("Cluster")
    }

    /// The index of a version.
    pub(crate) fn position(&self, version: &str) -> Option<usize> {
        self.versions().iter().position(|name| *name == version)
    }

    /// The path of the CRD.
    pub(crate) fn path(&self) -> String {
        crd_path(&self.name())
    }

    /// The path of its objects in a version, across namespaces.
    pub(crate) fn collection(&self, version: &str) -> String {
        format!("/apis/{}/{version}/{}", self.group, self.plural)
    }

    /// The path of one object.
    pub(crate) fn object(&self, version: &str, namespace: Option<&str>, name: &str) -> String {
        let (group, plural) = (&self.group, &self.plural);
        match namespace {
            Some(namespace) => format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}"),
            None => format!("/apis/{group}/{version}/{plural}/{name}"),
        }
    }
}

/// The path of a CRD.
fn crd_path(name: &str) -> String {
    format!("{CRDS}/{name}")
}

/// An API server replaces the handlers of a CRD when its informer receives the change (apiextensions-apiserver
/// pkg/apiserver/customresource_handler.go): in milliseconds, or up to a second on a busy machine.
pub(crate) const REPLACED_WITHIN: Duration = Duration::from_secs(2);

/// The path of all CRDs.
pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn versions(document: &Value) -> impl Iterator<Item = &Value> {
    document.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten()
}

/// A schema without parts that do not affect validation. A property named `description` is an object, and stays.
fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let decides = |(name, value): &(&String, &Value)| *name != "description" || !value.is_string();
            members
                .iter()
                .filter(decides)
                .map(|(name, value)| {
                    let is_value = matches!(name.as_str(), "default" | "enum" | "example");
                    (name.clone(), if is_value { value.clone() } else { without_descriptions(value) })
                })
                .collect()
        }
        Value::Array(items) => items.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}

fn text<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    value.pointer(path).and_then(Value::as_str)
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn crd_parses_as_sent() {
        let version = |name: &str, storage: bool| json!({"name": name, "served": storage, "storage": storage});
        let document = json!({
            "metadata": {"name": "widgets.example.com", "generation": 3, "resourceVersion": "17"},
            "spec": {
                "group": "example.com", "names": {"plural": "widgets"},
                "conversion": {"strategy": "Webhook"},
                "versions": [version("v1", false), version("v2", true)],
            },
            "status": {"storedVersions": ["v1", "v2"]},
        });
        let crd = CrdState::new(document.clone()).unwrap();
        assert_eq!((crd.name().as_str(), crd.storage(), crd.generation()), ("widgets.example.com", "v2", 3));
        assert_eq!(
            (crd.versions(), crd.served(), crd.stored_versions()),
            (vec!["v1", "v2"], vec!["v2"], vec!["v1", "v2"])
        );
        assert!(crd.is_converted());
        assert_eq!(crd.object("v1", Some("n"), "a"), "/apis/example.com/v1/namespaces/n/widgets/a");
        assert_eq!(crd.object("v1", None, "a"), "/apis/example.com/v1/widgets/a");
        assert!(!crd.has_one_schema(&["v1", "v2"]), "versions without a schema");
        let mut same = document.clone();
        for (at, description) in ["old", "new"].into_iter().enumerate() {
            let schema = json!({"description": description, "properties": {"description": {"type": "string"}}});
            same["spec"]["versions"][at]["schema"] = json!({"openAPIV3Schema": schema});
        }
        assert!(CrdState::new(same.clone()).unwrap().has_one_schema(&["v1", "v2"]));
        same["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["description"] = json!({});
        assert!(!CrdState::new(same).unwrap().has_one_schema(&["v1", "v2"]));
        let mut nothing_stored = document;
        nothing_stored["spec"]["versions"] = json!([]);
        let message = CrdState::new(nothing_stored).unwrap_err().to_string();
        assert_eq!(message, "CRD widgets.example.com has no storage version, according to the API server");
    }
}
