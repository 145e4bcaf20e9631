//! Where it is read which version of something runs, as it is written and as it is checked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::others_spec::OthersSpec;
use super::rule_spec::Reading;
use crate::apimachinery::excerpt;
use crate::definition::path::Path;
use crate::upgrade;

/// Where the version is read that runs of an object, or of a part of it: a label or a field, its own or of others.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "Observed")]
pub(super) struct ObservedSpec {
    /// The part of the object whose version it is, such as `kubelet`. Either each place names one, or none does.
    pub(super) part: Option<String>,
    /// A label, whose value is the version.
    pub(super) label: Option<String>,
    /// A field, as the newest version names it; with `from` one of those objects, as the API server answers them.
    pub(super) field: Option<String>,
    /// Other objects that say it, such as the Pods of a host, instead of the object itself.
    pub(super) from: Option<OthersSpec>,
    /// How the field is read. Without it, the field is the version.
    #[serde(rename = "as")]
    pub(super) reading: Option<Reading>,
    /// An object may be without it: then that part does not run there. Nothing is known of an object without any.
    #[serde(default)]
    pub(super) optional: bool,
}

/// A place of an object that says which version runs.
#[derive(Clone, Debug)]
pub(crate) struct VersionSource {
    pub(super) at: Path,
    /// What it is called by whoever is told.
    pub(super) name: String,
    pub(super) reading: Reading,
    pub(super) optional: bool,
    /// What is no version says nothing: the definition has a path, which knows versions only.
    pub(super) strict: bool,
}

impl VersionSource {
    /// A label.
    pub(super) fn label(key: &str, optional: bool, strict: bool) -> Self {
        let at = Path::default().join("metadata").join("labels").join(key);
        Self { at, name: format!("label {key}"), reading: Reading::Version, optional, strict }
    }

    /// The field that is looked at.
    pub(crate) fn path(&self) -> &Path {
        &self.at
    }

    /// The version that an object says there, in the newest version of its kind; nothing where it may be without. Else
    /// why nobody knows.
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
                // A tag cannot have the sign before what does not count of a version.
                let tag = upgrade::tag(text).map(|tag| tag.replace("--", "+"));
                let version = tag.filter(|tag| upgrade::version(tag).is_some());
                version.map(Some).ok_or_else(|| format!("{}, whose tag is no version", is()))
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
    fn versions_come_from_labels_fields_tags() {
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
                unknown("spec.image is \"registry:5000/api\", whose tag is no version"),
            ),
            (image(false), runs("api:latest"), unknown("spec.image is \"api:latest\", whose tag is no version")),
            (image(false), runs("api@sha256:01"), unknown("spec.image is \"api@sha256:01\", whose tag is no version")),
            (image(false), json!({"spec": {"image": 5}}), unknown("spec.image is 5, and no text")),
            (image(false), json!({"spec": {"image": null}}), unknown("spec.image is not set")),
            (image(true), json!({}), Ok(None)),
            (image(true), runs("api:latest"), unknown("spec.image is \"api:latest\", whose tag is no version")),
        ] {
            assert_eq!(source.read(&object), read, "{object}");
        }
    }
}
