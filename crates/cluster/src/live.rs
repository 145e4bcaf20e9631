//! Every object of a CRD, as clients read it.

use serde_json::Value;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Extent};
use crate::crd_state::{BadCrd, CrdState, crd_path};
use crate::pages::{next_page, page};

/// Why not everything was read. Nothing was written: it can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A call of the API server failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What is there is no CRD.
    #[error(transparent)]
    Crd(#[from] BadCrd),
    /// A version that is not served.
    #[error("{crd} does not serve {version}: it serves {}", served.join(", "))]
    NotServed {
        /// The CRD.
        crd: String,
        /// What was asked for.
        version: String,
        /// What it serves.
        served: Vec<String>,
    },
}

/// Reads the CRD of a name (`plural.group`) and every object of it, page by page. Without a version they are read as
/// they are stored now, where that version is served: then nothing is converted but what is stored in another one.
///
/// # Errors
/// See [`LiveError`].
pub async fn live(
    cluster: &Cluster,
    crd: &str,
    version: Option<&str>,
    take: &mut dyn FnMut(Vec<Value>),
) -> Result<CrdState, LiveError> {
    let crd = CrdState::new(cluster.get(&crd_path(crd)).await?)?;
    let served = crd.served();
    let stored = served.iter().find(|name| **name == crd.storage()).or_else(|| served.first());
    let version = version.or_else(|| stored.copied()).unwrap_or_default();
    if !served.contains(&version) {
        let served = served.into_iter().map(str::to_owned).collect();
        return Err(LiveError::NotServed { crd: crd.name(), version: version.to_owned(), served });
    }
    let collection = crd.collection(version);
    let mut next: Option<String> = None;
    loop {
        let list = page(cluster, &collection, Extent::Objects, PAGE, next.as_deref(), &mut |_, _| {}).await?;
        next = next_page(&list);
        take(items(list));
        if next.is_none() {
            return Ok(crd);
        }
    }
}

/// The objects of a page, which is given up for them.
fn items(mut list: Value) -> Vec<Value> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// As kubectl's `--chunk-size`.
const PAGE: u32 = 500;
