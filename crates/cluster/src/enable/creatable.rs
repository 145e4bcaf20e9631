//! Checks that objects can be created in every version: a dry run is converted to the storage version and back, and
//! calls all registered webhooks.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::options::EnableEvent;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;
use crate::stopwatch::Stopwatch;

/// Creates each object as dry run. A refusal by the API server or a webhook also proves that the call works.
pub(super) async fn creatable(
    cluster: &Cluster,
    crd: &CrdState,
    objects: &[Value],
    report: &mut dyn FnMut(EnableEvent),
) -> Result<(), String> {
    for object in objects {
        let version = version(object);
        if !crd.served().contains(&version) {
            continue;
        }
        let (path, began) = (collection(crd, object), Stopwatch::start(cluster));
        let refused = loop {
            let Err(error) = cluster.try_create(&path, object).await else { break None };
            // 404: the handler does not exist yet.
            let fails = matches!(error.code(), None | Some(404 | 500)) || error.passes();
            if !fails {
                break Some(error.message());
            }
            if began.elapsed() > CALLED_WITHIN {
                return Err(format!("no object can be created at {version}: {}", error.message()));
            }
            sleep(OFTEN).await;
        };
        report(EnableEvent::Creates { version: version.to_owned(), refused });
    }
    Ok(())
}

/// The collection in which an object is created.
pub(super) fn collection(crd: &CrdState, object: &Value) -> String {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|_| crd.is_namespaced());
    let path = crd.object(version(object), namespace, "");
    path.trim_end_matches('/').to_owned()
}

fn version(object: &Value) -> &str {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.rsplit('/').next().unwrap_or_default()
}

/// An API server receives changes of webhook configurations and CRDs within seconds. Until then other clients fail too.
const CALLED_WITHIN: Duration = Duration::from_secs(6);
const OFTEN: Duration = Duration::from_millis(250);
