//! Places that contain a running version, as written and as compiled.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::others_spec::OthersSpec;
use super::rule_spec::Reading;
use crate::apimachinery::excerpt;
use crate::definition::path::Path;
use crate::definition::upgrade;

/// The place of the running version of an object or of a part: a label or a field, of the object itself or of other
/// objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Observed")]
pub(super) struct ObservedSpec {
    /// The part of the object that runs this version, such as `kubelet`. Either every place has a part, or none.
    pub(super) part: Option<String>,
    /// A label that contains the version.
    pub(super) label: Option<String>,
    /// A field of the newest version. With `from`, a field of the other objects as the API server returns them.
    pub(super) field: Option<String>,
    /// Other objects that contain the version, such as the Pods of a host, instead of the object itself.
    pub(super) from: Option<OthersSpec>,
    /// How the version is read from the field. By default, the field is the version.
    #[serde(rename = "as")]
    pub(super) reading: Option<Reading>,
    /// The place may be absent; the part then does not run. If all places are absent, the version is unknown.
    #[serde(default)]
    pub(super) optional: bool,
}

/// A place of an object that contains a running version.
#[derive(Clone, Debug)]
pub(crate) struct VersionSource {
    pub(super) at: Path,
    /// The name of the place in messages.
    pub(super) name: String,
    pub(super) reading: Reading,
    pub(super) optional: bool,
    /// A text that is no version is an error, because the upgrade path contains only versions.
    pub(super) strict: bool,
}

impl VersionSource {
    /// A label as the place.
    pub(super) fn label(key: &str, optional: bool, strict: bool) -> Self {
        let at = Path::default().join("metadata").join("labels").join(key);
        Self { at, name: format!("label {key}"), reading: Reading::Version, optional, strict }
    }

    /// The field that is read.
    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    /// Reads the version from an object in the newest version of its kind. `None` if it is absent and optional.
    /// Otherwise, returns why the version is unknown.
    pub(crate) fn read(&self, object: &Value) -> Result<Option<String>, String> {
        let found = self.at.names().iter().try_fold(object, |value, name| value.get(name.as_ref()));
        let found = found.filter(|value| !value.is_null());
        let Some(value) = found.filter(|value| value.as_str() != Some("")) else {
            return if self.optional { Ok(None) } else { Err(format!("{} is not set", self.name)) };
        };
        let is = || format!("{} is {}", self.name, excerpt(&value.to_string()));
        let text = value.as_str().ok_or_else(|| format!("{}, and no text", is()))?;
        match self.reading {
            Reading::ImageTag => {
                // An image tag cannot contain `+`, so `--` stands for it.
                let tag = upgrade::tag(text).map(|tag| tag.replace("--", "+"));
                let version = tag.filter(|tag| upgrade::version(tag).is_some());
                version.map(Some).ok_or_else(|| format!("{}, but its tag is not a version", is()))
            }
            Reading::Version if self.strict && upgrade::version(text).is_none() => {
                Err(format!("{}, which is no version", is()))
            }
            Reading::Version => Ok(Some(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_from_labels_fields_tags() {
        let image = |optional| VersionSource {
            at: Path::parse("spec.image").unwrap(),
            name: "spec.image".to_owned(),
            reading: Reading::ImageTag,
            optional,
            strict: true,
        };
        let label = |strict| VersionSource::label("example.com/version", false, strict);
        let labelled = |text: &str| json!({"metadata": {"labels": {"example.com/version": text}}});
        let runs = |text: &str| json!({"spec": {"image": text}});
        let found = |text: &str| Ok(Some(text.to_owned()));
        let unknown = |why: &str| Err(why.to_owned());
        for (source, object, read) in [
            (label(true), labelled("v1.16.4"), found("v1.16.4")),
            (label(false), labelled("blue"), found("blue")),
            (label(true), labelled("blue"), unknown("label example.com/version is \"blue\", which is no version")),
            (label(true), json!({"metadata": {}}), unknown("label example.com/version is not set")),
            (label(true), labelled(""), unknown("label example.com/version is not set")),
            (image(false), runs("registry:5000/k8s/api:v1.16.4"), found("v1.16.4")),
            (image(false), runs("api:1.16.4@sha256:0123"), found("1.16.4")),
            (image(false), runs("api:v1.16.4--k3s1"), found("v1.16.4+k3s1")),
            (
                image(false),
                runs("registry:5000/api"),
                unknown("spec.image is \"registry:5000/api\", but its tag is not a version"),
            ),
            (image(false), runs("api:latest"), unknown("spec.image is \"api:latest\", but its tag is not a version")),
            (
                image(false),
                runs("api@sha256:01"),
                unknown("spec.image is \"api@sha256:01\", but its tag is not a version"),
            ),
            (image(false), json!({"spec": {"image": 5}}), unknown("spec.image is 5, and no text")),
            (image(false), json!({"spec": {"image": null}}), unknown("spec.image is not set")),
            (image(true), json!({}), Ok(None)),
            (image(true), runs("api:latest"), unknown("spec.image is \"api:latest\", but its tag is not a version")),
        ] {
            assert_eq!(source.read(&object), read, "{object}");
        }
    }
}
