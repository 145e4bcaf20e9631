//! One of several versions of a controller. It watches only objects with its own version label, and holds its own
//! Lease. `CONTROLLER_VERSION` is its version.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = kube::Client::try_default().await?;
    // A typed resource works as well.
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("materialize.cloud", "v1alpha2", "Materialize"));
    let materializes: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let context = Arc::new(());
    let version = std::env::var("CONTROLLER_VERSION")?; // 2.17.0
    let mine = watcher::Config::default().labels(&format!("materialize.cloud/controller-version={version}"));
    let lease = format!("materialize-operator-v{}", version.replace('.', "-"));
    println!("waiting for the Lease {lease}");
    // Run the controller only while this process holds the Lease of that name.
    Controller::new_with(materializes, mine, kind)
        .run(reconcile, error_policy, context)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

/// Your reconciler. An object that disappears may only have left the selection: its finalizer then belongs to the other
/// version.
async fn reconcile(_: Arc<DynamicObject>, _: Arc<()>) -> Result<Action, watcher::Error> {
    Ok(Action::await_change())
}

fn error_policy(_: Arc<DynamicObject>, _: &watcher::Error, _: Arc<()>) -> Action {
    Action::requeue(Duration::from_secs(30))
}
