//! Every object of a CRD, as clients read it.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::pages::{next_page, page, taken};

/// Reads the CRD of a name (`plural.group`) and every object of it, page by page, as they are stored now, where that
/// version is served: then nothing is converted but what is stored in another one.
///
/// # Errors
/// There is no such CRD, or not everything could be read. Nothing was written: it can be tried again.
pub async fn live(cluster: &Cluster, crd: &str, take: &mut dyn FnMut(Vec<Value>)) -> Result<CrdState, CallError> {
    let crd = CrdState::fetch(cluster, crd).await?;
    let served = crd.served();
    let version = served.iter().find(|name| **name == crd.storage()).or_else(|| served.first());
    // Of a CRD that serves nothing, nothing can be read.
    let Some(collection) = version.map(|version| crd.collection(version)) else { return Ok(crd) };
    let mut next: Option<String> = None;
    loop {
        let mut list = page(cluster, &collection, Extent::Objects, PAGE, next.as_deref(), &mut |_, _| {}).await?;
        next = next_page(&list);
        take(taken(&mut list));
        if next.is_none() {
            return Ok(crd);
        }
    }
}

/// As kubectl's `--chunk-size`.
const PAGE: u32 = 500;
