//! Every object of a CRD, as clients read it.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::Pages;

/// Reads the CRD of a name (`plural.group`) and every object of it, page by page, as they are stored now, where that
/// version is served: then nothing is converted but what is stored in another one.
///
/// # Errors
/// There is no such CRD, or not everything could be read. Nothing was written: it can be tried again.
pub async fn live(cluster: &Cluster, crd: &str, take: &mut dyn FnMut(Vec<Value>)) -> Result<CrdState, CallError> {
    let crd = CrdState::fetch(cluster, crd).await?;
    // Of a CRD that serves nothing, nothing can be read.
    if let Some(version) = crd.readable() {
        live_at(cluster, &crd, version, take).await?;
    }
    Ok(crd)
}

/// The same of a CRD that was read, at one of the versions that it serves.
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

/// As kubectl's `--chunk-size`.
const PAGE: u32 = 500;
