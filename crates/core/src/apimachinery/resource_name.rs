//! Resource names, in the syntax of kubectl.

use std::fmt;

use super::names::{is_dns_label, is_dns_subdomain};

/// The plural of a kind with its group: `deployments.apps`. The core group is empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceName {
    /// The plural, such as `deployments`.
    pub plural: String,
    /// The group. Empty for the core group.
    pub group: String,
}

impl ResourceName {
    /// Parses a name, or returns the error message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (plural, group) = text.split_once('.').unwrap_or((text, ""));
        if !is_dns_label(plural) || !(group.is_empty() || is_dns_subdomain(group)) || text.ends_with('.') {
            return Err(format!("{text:?} is no resource: write the plural and the group, such as deployments.apps"));
        }
        Ok(Self { plural: plural.to_owned(), group: group.to_owned() })
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.plural),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_name_is_plural_and_group() {
        for (text, plural, group) in
            [("nodes", "nodes", ""), ("helmreleases.helm.toolkit.fluxcd.io", "helmreleases", "helm.toolkit.fluxcd.io")]
        {
            let name = ResourceName::parse(text).unwrap();
            assert_eq!((name.plural.as_str(), name.group.as_str(), name.to_string().as_str()), (plural, group, text));
        }
        for text in ["", "Nodes", "nodes.", ".apps", "a b", "nodes.Apps", "nodes/status"] {
            assert!(ResourceName::parse(text).unwrap_err().contains("is no resource"), "{text}");
        }
    }
}
