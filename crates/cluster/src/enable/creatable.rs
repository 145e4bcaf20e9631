//! Whether objects can be written at every version, as the API server sees it: a create that is not stored is converted
//! to the version that is and home again, and everything that is registered is asked about it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::options::EnableEvent;
use crate::cluster::Cluster;
use crate::crd_state::CrdState;
use crate::stopwatch::Stopwatch;

/// Creates each of these objects as a dry run. What the API server, or whoever it asks, says no to was asked, too.
pub(super) async fn creatable(
    cluster: &Cluster,
    crd: &CrdState,
    objects: &[Value],
    say: &mut dyn FnMut(EnableEvent),
) -> Result<(), String> {
    for object in objects {
        let version = version(object);
        if !crd.served().contains(&version) {
            continue;
        }
        let (path, began) = (collection(crd, object), Stopwatch::start(cluster));
        let refused = loop {
            let Err(error) = cluster.try_create(&path, object).await else { break None };
            // 404: its handler is not there yet.
            let fails = matches!(error.code(), None | Some(404 | 500)) || error.passes();
            if !fails {
                break Some(error.message());
            }
            if began.elapsed() > ASKED_WITHIN {
                return Err(format!("no object can be created at {version}: {}", error.message()));
            }
            sleep(OFTEN).await;
        };
        say(EnableEvent::Creates { version: version.to_owned(), refused });
    }
    Ok(())
}

/// Where an object is created.
pub(super) fn collection(crd: &CrdState, object: &Value) -> String {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|_| crd.is_namespaced());
    let path = crd.object(version(object), namespace, "");
    path.trim_end_matches('/').to_owned()
}

fn version(object: &Value) -> &str {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.rsplit('/').next().unwrap_or_default()
}

/// An API server hears of what is registered, and of a CRD, within seconds. Until then whoever writes fails as well.
const ASKED_WITHIN: Duration = Duration::from_secs(6);
const OFTEN: Duration = Duration::from_millis(250);
