//! Migration by the cluster: Kubernetes' StorageVersionMigration (KEP-4192).
//!
//! Its controller ignores the load of the API server and reports no progress. At the first object that cannot be
//! written it gives up, and still removes old versions from `storedVersions` (observed in 1.36.3, `migrationrunner.go`,
//! `finishCRDMigration`). So pointsman checks all objects afterwards, writes the rest, reports failures, and sets
//! `storedVersions`. If the controller does not start, pointsman does everything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::options::{MigrateError, MigrateEvent, MigrationStrategy};
use super::retry::patiently;
use crate::call_error::CallError;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;
use crate::retry_budget::RetryBudget;

/// Delegates the migration of a CRD to the cluster, if possible and requested. Returns true if attempted.
pub(super) async fn delegated(
    cluster: &Cluster,
    crd: &CrdState,
    means: MigrationStrategy,
    report: &mut dyn FnMut(MigrateEvent),
) -> Result<bool, MigrateError> {
    if means == MigrationStrategy::Loop {
        return Ok(false);
    }
    let Some(version) = patiently(report, async || offered(cluster).await).await? else {
        return match means {
            MigrationStrategy::StorageVersionMigration => {
                Err(MigrateError::NoMigrator { address: cluster.address().to_owned() })
            }
            _ => Ok(false),
        };
    };
    let collection = format!("/apis/{GROUP}/{version}/{PLURAL}");
    let delegation = Delegation { cluster, crd, path: format!("{collection}/{}", name(crd)) };
    delegation.begin(&collection, &version, report).await?;
    report(MigrateEvent::Delegated { name: name(crd) });
    let ended = delegation.ended(report).await;
    // Removes the migration in any case: pointsman writes the rest.
    patiently(report, async || delegation.take_back().await).await?;
    if let Some(reason) = ended? {
        report(MigrateEvent::Fallback { reason });
    }
    Ok(true)
}

/// The API version in which it is served; `None` if unavailable.
async fn offered(cluster: &Cluster) -> Result<Option<String>, CallError> {
    let Some(group) = cluster.find(&format!("/apis/{GROUP}")).await? else { return Ok(None) };
    let versions = group.get("versions").and_then(Value::as_array).into_iter().flatten();
    let mut names = versions.filter_map(|version| version.get("version")?.as_str());
    Ok(names.find(|name| KNOWN.contains(name)).map(str::to_owned))
}

/// A fixed name per CRD, so that a later run finds it.
fn name(crd: &CrdState) -> String {
    format!("pointsman.{}", crd.name())
}

/// A migration by the cluster.
struct Delegation<'d> {
    cluster: &'d Cluster,
    crd: &'d CrdState,
    path: String,
}

impl Delegation<'_> {
    /// Creates it, unless one of an earlier run is active.
    async fn begin(
        &self,
        collection: &str,
        version: &str,
        report: &mut dyn FnMut(MigrateEvent),
    ) -> Result<(), MigrateError> {
        match patiently(report, async || self.cluster.find(&self.path).await).await? {
            Some(there) if !has(&there, "Succeeded") && !has(&there, "Failed") => return Ok(()),
            // It applied to the earlier stored objects.
            Some(_) => patiently(report, async || self.take_back().await).await?,
            None => {}
        }
        let resource = json!({"group": self.crd.group(), "resource": self.crd.plural()});
        let document = json!({
            "apiVersion": format!("{GROUP}/{version}"), "kind": "StorageVersionMigration",
            "metadata": {"name": name(self.crd)}, "spec": {"resource": resource},
        });
        match patiently(report, async || self.cluster.post(collection, &document).await).await {
            // Another run created it, or an earlier request without received response.
            Err(error) if error.code() == Some(409) => Ok(()),
            made => Ok(made.map(drop)?),
        }
    }

    /// Waits for its end. Returns the reason of a failure.
    async fn ended(&self, report: &mut dyn FnMut(MigrateEvent)) -> Result<Option<String>, MigrateError> {
        let (patience, began, mut tried) = (RetryBudget::default(), Instant::now(), false);
        loop {
            match self.result().await {
                Ok(Some(end)) => {
                    self.tidied_up().await;
                    return Ok(end);
                }
                Ok(None) => {
                    if std::mem::take(&mut tried) {
                        patience.is_over();
                    }
                }
                Err(MigrateError::Call(error)) => {
                    let Some(pause) = patience.pause(&error) else { return Err(error.into()) };
                    tried = true;
                    report(MigrateEvent::Trying { error, pause });
                    sleep(pause).await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if began.elapsed() > BEGINS_WITHIN && !self.is_running().await {
                let seconds = BEGINS_WITHIN.as_secs();
                return Ok(Some(format!(
                    "the migration was not started within {seconds} s: check that the migration controller runs"
                )));
            }
            sleep(OFTEN).await;
        }
    }

    /// True if it is running. Without a response, it counts as running.
    async fn is_running(&self) -> bool {
        self.cluster.get(&self.path).await.map_or(true, |now| has(&now, "Running"))
    }

    /// Its result, if finished: success, or the reason of failure. The CRD must be unchanged.
    async fn result(&self) -> Result<Option<Option<String>>, MigrateError> {
        let crd = CrdState::fetch(self.cluster, &self.crd.name()).await?;
        if (crd.uid(), crd.generation()) != (self.crd.uid(), self.crd.generation()) {
            return Err(MigrateError::Changed { crd: crd.name() });
        }
        let now = match self.cluster.get(&self.path).await {
            Ok(now) => now,
            Err(error) if error.code() == Some(404) => {
                return Ok(Some(Some("another client deleted the migration".to_owned())));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(match (has(&now, "Succeeded"), has(&now, "Failed")) {
            (true, _) => Some(None),
            (_, true) => Some(Some(message(&now))),
            _ => None,
        })
    }

    /// Waits until the controller has written the CRD status, its last action.
    async fn tidied_up(&self) {
        let began = Instant::now();
        while began.elapsed() < TIDIED_WITHIN {
            match self.cluster.get(&self.path).await {
                Ok(now) if has(&now, "Running") => sleep(OFTEN).await,
                _ => return,
            }
        }
    }

    async fn take_back(&self) -> Result<(), CallError> {
        self.cluster.delete(&self.path).await.map(drop)
    }
}

fn conditions(migration: &Value) -> impl Iterator<Item = &Value> {
    migration.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

fn is(condition: &Value, kind: &str) -> bool {
    let text = |name: &str| condition.get(name).and_then(Value::as_str);
    (text("type"), text("status")) == (Some(kind), Some("True"))
}

/// True if a migration has this condition.
fn has(migration: &Value, kind: &str) -> bool {
    conditions(migration).any(|condition| is(condition, kind))
}

/// The reason of a failure.
fn message(migration: &Value) -> String {
    let failed = conditions(migration).find(|condition| is(condition, "Failed"));
    let message = failed.and_then(|condition| condition.get("message")?.as_str());
    message
        .filter(|text| !text.is_empty())
        .unwrap_or("the StorageVersionMigration failed, and its status gives no reason")
        .to_owned()
}

const GROUP: &str = "storagemigration.k8s.io";
const PLURAL: &str = "storageversionmigrations";

/// Versions whose resource field has no version.
const KNOWN: [&str; 2] = ["v1", "v1beta1"];

/// Its controller first waits until the garbage collector's cache is as new as the migration, possibly forever without
/// a write of the kind. It may also be disabled.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);
const OFTEN: Duration = Duration::from_millis(500);

/// Usually immediate; limits the wait for a controller that stopped.
const TIDIED_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_follows_conditions() {
        let with = |kind: &str, status: &str, message: &str| json!({"status": {"conditions": [{"type": kind, "status": status, "message": message}]}});
        assert!(has(&with("Succeeded", "True", ""), "Succeeded"));
        assert!(!has(&with("Succeeded", "False", ""), "Succeeded") && !has(&json!({}), "Running"));
        assert_eq!(message(&with("Failed", "True", "ws \"a\" is frozen")), "ws \"a\" is frozen");
        assert_eq!(message(&json!({})), "the StorageVersionMigration failed, and its status gives no reason");
    }
}
