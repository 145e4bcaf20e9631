//! Lists every object of a CRD.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::Pages;

/// Reads the CRD of a name (`plural.group`) and all its objects, page by page. Uses the storage version if served, so
/// that only objects stored in other versions are converted.
///
/// # Errors
/// The CRD does not exist, or a read failed. The call writes no data and can be repeated.
pub async fn live(cluster: &Cluster, crd: &str, take: &mut dyn FnMut(Vec<Value>)) -> Result<CrdState, CallError> {
    let crd = CrdState::fetch(cluster, crd).await?;
    // Without a served version, objects are unreadable.
    if let Some(version) = crd.readable() {
        live_at(cluster, &crd, version, take).await?;
    }
    Ok(crd)
}

/// The same for a CRD that was read, in a served version.
async fn live_at(
    cluster: &Cluster,
    crd: &CrdState,
    version: &str,
    take: &mut dyn FnMut(Vec<Value>),
) -> Result<(), CallError> {
    let mut take_items = |mut list: Value| match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => take(items),
        _ => take(Vec::new()),
    };
    Pages::new(cluster, crd.collection(version), Extent::Objects, PAGE).all(&mut |_, _| {}, &mut take_items).await
}

/// Same as the default `--chunk-size` of kubectl.
const PAGE: u32 = 500;
