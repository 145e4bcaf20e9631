//! A fleet, as it is in the cluster.

use pointsman_core::definition::Kind;
use pointsman_core::roll::{FleetObject, FleetRoll};
use serde_json::Value;

use super::error::RollError;
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;
use crate::live::live_at;

/// A fleet that was listed, and of which single objects were read again since.
pub(super) struct Fleet {
    crd: CrdState,
    version: String,
    pub(super) objects: Vec<FleetObject>,
}

impl Fleet {
    /// Lists all of it, page by page, each object given up for the little that a roll looks at. The list is as of now:
    /// no cache is asked for what it may not know yet.
    pub(super) async fn list(cluster: &Cluster, kind: &Kind, roll: &FleetRoll) -> Result<Self, RollError> {
        let mut objects = Vec::new();
        let take = &mut |page: Vec<Value>| {
            objects.extend(page.iter().filter_map(|object| FleetObject::of(object, roll)));
        };
        let read_in = |stored: &str, served: &[&str]| roll.read_in(stored, served).map(str::to_owned);
        let (plural, group) = roll.source().unwrap_or_else(|| (kind.plural(), kind.group()));
        let (crd, version) = list_resource(cluster, (plural, group), kind, &read_in, take).await?;
        Ok(Self { crd, version, objects })
    }

    /// Where an object is.
    pub(super) fn path(&self, namespace: Option<&str>, name: &str) -> String {
        self.crd.object(&self.version, namespace, name)
    }

    /// Reads some objects again, by uid. Returns whether all of them are still there.
    pub(super) async fn refresh(
        &mut self,
        cluster: &Cluster,
        roll: &FleetRoll,
        uids: &[&str],
    ) -> Result<bool, CallError> {
        let mut all_there = true;
        for at in 0..self.objects.len() {
            let Some(object) = self.objects.get(at).filter(|object| uids.contains(&object.uid())) else { continue };
            let path = self.path(object.namespace(), object.name());
            let now = cluster.find(&path).await?.and_then(|now| FleetObject::of(&now, roll));
            let now = now.filter(|now| now.uid() == object.uid());
            match (now, self.objects.get_mut(at)) {
                (Some(now), Some(object)) => *object = now,
                _ => all_there = false,
            }
        }
        Ok(all_there)
    }
}

/// Lists every object of a kind, page by page, as of now, in the version that `read_in` names for the version that is
/// stored and those that are served. Returns the CRD, and that version.
///
/// # Errors
/// [`RollError::NotServed`]: none of those that are served will do; or the cluster cannot be asked.
pub(super) async fn list_objects(
    cluster: &Cluster,
    kind: &Kind,
    read_in: &dyn Fn(&str, &[&str]) -> Option<String>,
    take: &mut dyn FnMut(Vec<Value>),
) -> Result<(CrdState, String), RollError> {
    list_resource(cluster, (kind.plural(), kind.group()), kind, read_in, take).await
}

/// The same of objects of a plural and a group: of the kind, or of one whose objects become of it.
async fn list_resource(
    cluster: &Cluster,
    (plural, group): (&str, &str),
    kind: &Kind,
    read_in: &dyn Fn(&str, &[&str]) -> Option<String>,
    take: &mut dyn FnMut(Vec<Value>),
) -> Result<(CrdState, String), RollError> {
    let crd = CrdState::fetch(cluster, &format!("{plural}.{group}")).await?;
    let Some(version) = read_in(crd.storage(), &crd.served()) else {
        let served = crd.served().into_iter().map(str::to_owned).collect();
        let version = kind.versions().last().unwrap_or_default().to_owned();
        return Err(RollError::NotServed { crd: crd.name(), version, served });
    };
    live_at(cluster, &crd, &version, take).await?;
    Ok((crd, version))
}
