//! Objects that a step names in addition to the object of the rollout.

use pointsman_core::apimachinery::{ResourceName, is_dns_subdomain};

/// An object that a step reads or writes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum StepObject {
    /// The object of the rollout.
    Source,
    /// Its replacement of another kind.
    Target,
    /// Another object in its namespace. The name contains placeholders such as `{name}`.
    Named {
        /// The resource of the object.
        resource: ResourceName,
        /// Its name.
        name: String,
    },
}

impl StepObject {
    /// Parses `source`, `target`, or a resource and a name such as `deployments.apps/{name}`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "source" => return Ok(Self::Source),
            "target" => return Ok(Self::Target),
            _ => {}
        }
        let (resource, name) = text.split_once('/').ok_or_else(|| {
            format!(
                "{text:?} is no object: write source, target, or a resource and a name, such as deployments.apps/{{name}}"
            )
        })?;
        Ok(Self::Named { resource: ResourceName::parse(resource)?, name: name_template(name)? })
    }
}

/// The name of an object, with placeholders such as `{name}` for each object of a rollout.
pub(super) fn name_template(text: &str) -> Result<String, String> {
    if !is_dns_subdomain(&filled_name(text)) {
        return Err(format!(
            "{text:?} is no name of an object: use {{name}} for the name of the object of the rollout"
        ));
    }
    Ok(text.to_owned())
}

/// Replaces placeholders by a dummy, for checks.
pub(super) fn filled_name(text: &str) -> String {
    ["{name}", "{namespace}", "{from}", "{to}"].iter().fold(text.to_owned(), |text, it| text.replace(it, "a"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_name_has_resource_and_name() {
        let resource = |text: &str| ResourceName::parse(text).unwrap();
        for (text, object) in [
            ("source", StepObject::Source),
            ("target", StepObject::Target),
            (
                "deployments.apps/{name}-jobs",
                StepObject::Named { resource: resource("deployments.apps"), name: "{name}-jobs".to_owned() },
            ),
            ("services/a", StepObject::Named { resource: resource("services"), name: "a".to_owned() }),
        ] {
            assert_eq!(StepObject::parse(text), Ok(object), "{text}");
        }
        for text in ["", "deployments.apps", "Deployments/a", "services/", "services/{nam}", "services/a/b"] {
            assert!(StepObject::parse(text).is_err(), "{text}");
        }
    }
}
