//! Reports how a conversion would change the objects in a cluster. Read-only; reads each object in its stored version.
//! The conversion is the same function that a server uses.

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let webhook = Webhook::new(Kind::embedded()?, Metadata::Full)?;
    let client = kube::Client::try_default().await?;
    for kind in webhook.kinds() {
        let resource = GroupVersionKind::gvk(kind.group(), kind.storage(), kind.kind());
        let resource = ApiResource::from_gvk_with_plural(&resource, kind.plural());
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for object in objects.list(&ListParams::default()).await? {
            let name = object.metadata.name.clone().unwrap_or_default();
            for version in kind.versions() {
                let converted = webhook.convert(&serde_json::to_string(&object)?, version)?;
                println!("{name}: {} bytes at {version}", converted.text.len());
            }
        }
    }
    Ok(())
}
