//! Reviews as an API server writes them, with one stored object of 6 kB: a third is the spec, most of the rest
//! `managedFields`.

use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Value, json};

/// The object in the storage version, as stored in etcd: compact, with sorted members.
const OBJECT: &str = include_str!("object.json");

/// The versions of the object.
const OLDER: &str = "materialize.cloud/v1alpha1";

pub(crate) const NEWER: &str = "materialize.cloud/v1alpha2";

/// A version of the object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Version {
    Older,
    Newer,
}

/// A webhook with the built-in kinds, with the same responses as `serve`.
pub(crate) fn webhook() -> Webhook {
    Webhook::new(Kind::embedded().expect("embedded"), Metadata::Identity).expect("kinds")
}

/// The text of one stored object, as read in a version.
pub(crate) fn object(version: Version) -> String {
    match version {
        Version::Older => OBJECT.trim_end().to_owned(),
        Version::Newer => {
            let webhook = Webhook::new(Kind::embedded().expect("embedded"), Metadata::Full).expect("kinds");
            let newer = webhook.convert(OBJECT, "v1alpha2").expect("converted").text;
            // The API server sorts members.
            serde_json::from_str::<Value>(&newer).expect("JSON").to_string()
        }
    }
}

/// A `ConversionReview` of this many objects, which differ in name and uid, from one version to the other.
pub(crate) fn conversion(from: Version, objects: usize) -> Vec<u8> {
    let desired = if from == Version::Older { NEWER } else { OLDER };
    let object = object(from);
    let (name, uid) = ("12345678-1234-1234-1234-123456789012\",\"namespace", "3f6b1c52-8d0e-4a57-9b1c");
    let objects: Vec<String> = (0..objects)
        .map(|index| {
            let named = object.replacen(name, &format!("{index:08}-1234-1234-1234-123456789012\",\"namespace"), 1);
            named.replacen(uid, &format!("{index:08}-8d0e-4a57-9b1c"), 1)
        })
        .collect();
    let objects = objects.join(",");
    format!(
        "{{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/v1\",\"request\":{{\"uid\":\
         \"705ab4f5-6393-11e8-b7cc-42010a800002\",\"desiredAPIVersion\":\"{desired}\",\"objects\":[{objects}]}},\
         \"response\":{{\"uid\":\"\",\"convertedObjects\":null,\"result\":{{\"metadata\":{{}}}}}}}}"
    )
    .into_bytes()
}

/// An `AdmissionReview` of an update that changes the image.
pub(crate) fn update() -> Vec<u8> {
    let old = object(Version::Older);
    let new = old.replacen("environmentd:v26.12.0", "environmentd:v26.13.0", 1);
    let raw = |text: &str| serde_json::from_str::<Value>(text).expect("object");
    let resource = json!({"group": "materialize.cloud", "version": "v1alpha1", "resource": "materializes"});
    let kind = json!({"group": "materialize.cloud", "version": "v1alpha1", "kind": "Materialize"});
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816", "kind": kind, "resource": resource,
            "requestKind": kind, "requestResource": resource,
            "name": "12345678-1234-1234-1234-123456789012", "namespace": "materialize-environment",
            "operation": "UPDATE", "dryRun": false, "object": raw(&new), "oldObject": raw(&old),
            "userInfo": {"username": "system:serviceaccount:argocd:argocd-application-controller",
                "uid": "b1f6a4de-0000-4a57-9b1c-52d6f0a9c3e1", "groups": ["system:serviceaccounts", "system:authenticated"]},
            "options": {"kind": "PatchOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "argocd-controller"},
        },
    })
    .to_string()
    .into_bytes()
}
