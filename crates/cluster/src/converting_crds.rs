//! CRDs that convert through a webhook, of known kinds or not.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::conversion::{ClientStanza, WebhookPlace};
use crate::crd_state::{CRDS, CrdState};
use crate::disable::leads_nowhere;
use crate::pages::{Pages, items};

/// A CRD that converts through a webhook, without a definition in this run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownCrd {
    /// `plural.group`.
    pub name: String,
    /// Its webhook, such as `Service pointsman-system/pointsman:443/convert`.
    pub converted_by: String,
    /// True if a CRD of a known kind uses the same server. Otherwise only the path matches, which other programs use
    /// too.
    pub shares_server: bool,
}

/// CRDs that may convert through pointsman and are missing in `known`, a list of `plural.group`.
///
/// # Errors
/// The CRDs cannot be listed.
pub async fn unknown_crds(cluster: &Cluster, known: &[String]) -> Result<Vec<UnknownCrd>, CallError> {
    let mut found: Vec<(String, ClientStanza)> = Vec::new();
    let mut take = |list: Value| {
        let all = items(&list).filter_map(|item| CrdState::new(item.clone()).ok());
        let converted = all.filter(|crd| crd.is_converted() && !leads_nowhere(crd));
        found.extend(converted.filter_map(|crd| Some((crd.name(), ClientStanza::of(crd.document())?))));
    };
    Pages::new(cluster, CRDS.to_owned(), Extent::Objects, PAGE).all(&mut |_, _| {}, &mut take).await?;
    Ok(unknown_of(&found, known))
}

fn unknown_of(found: &[(String, ClientStanza)], known: &[String]) -> Vec<UnknownCrd> {
    let (ours, others): (Vec<_>, Vec<_>) = found.iter().partition(|(name, _)| known.contains(name));
    let ours: Vec<&WebhookPlace> = ours.into_iter().map(|(_, stanza)| &stanza.place).collect();
    let unknown = others.into_iter().filter_map(|(name, stanza)| {
        let shares_server = ours.iter().any(|place| stanza.place.is_of(place));
        (shares_server || stanza.path.ends_with(PATH)).then(|| UnknownCrd {
            name: name.clone(),
            converted_by: format!("{}{}", stanza.place, stanza.path),
            shares_server,
        })
    });
    unknown.collect()
}

/// The path printed by `pointsman crd`.
const PATH: &str = "/convert";

/// CRDs are large: a page has some MiB.
const PAGE: u32 = 50;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_crd_is_named() {
        let stanza = |service: &str, path: &str| {
            let service = json!({"namespace": "n", "name": service, "path": path});
            ClientStanza::of_config(&json!({"service": service})).unwrap()
        };
        let found = [
            ("known.e.com".to_owned(), stanza("s", "/convert")),
            ("same.e.com".to_owned(), stanza("s", "/other")),
            ("like.e.com".to_owned(), stanza("t", "/convert")),
            ("else.e.com".to_owned(), stanza("t", "/crdconvert2")),
        ];
        let unknown = unknown_of(&found, &["known.e.com".to_owned()]);
        let named: Vec<(&str, bool)> = unknown.iter().map(|one| (one.name.as_str(), one.shares_server)).collect();
        assert_eq!(named, [("same.e.com", true), ("like.e.com", false)]);
        assert_eq!(unknown[1].converted_by, "Service n/t:443/convert");
        let named: Vec<bool> = unknown_of(&found, &[]).iter().map(|one| one.shares_server).collect();
        assert_eq!(named, [false, false]);
    }
}
