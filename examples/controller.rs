//! One version of a controller beside another: it sees the objects that its label says are its own, and holds a Lease
//! of its own. Which version it is, `CONTROLLER_VERSION` says.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = kube::Client::try_default().await?;
    // A type of your own does as well.
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("materialize.cloud", "v1alpha2", "Materialize"));
    let materializes: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let context = Arc::new(());
    let version = std::env::var("CONTROLLER_VERSION")?; // 2.17.0
    let mine = watcher::Config::default().labels(&format!("materialize.cloud/controller-version={version}"));
    let lease = format!("materialize-operator-v{}", version.replace('.', "-"));
    println!("waiting for the Lease {lease}");
    // Run what follows while this process holds the Lease of that name.
    Controller::new_with(materializes, mine, kind)
        .run(reconcile, error_policy, context)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

/// Yours. An object that is gone may only have left the selection: its finalizer is the other version's then.
async fn reconcile(_: Arc<DynamicObject>, _: Arc<()>) -> Result<Action, watcher::Error> {
    Ok(Action::await_change())
}

fn error_policy(_: Arc<DynamicObject>, _: &watcher::Error, _: Arc<()>) -> Action {
    Action::requeue(Duration::from_secs(30))
}
