//! Stamps that a client leaves out, and objects that stay unchanged.

use pointsman_core::webhook::Endpoint;
use serde_json::json;

use super::apiserver::{ask, review};
use super::mutate::{SERVED, stamping};
use super::{elasticsearch, load, with};

#[test]
fn malformed_metadata_is_not_patched() {
    let webhook = stamping(load("gadgets.yaml"));
    let base =
        json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"copies": 2}});
    for (pointer, value) in [
        ("/metadata/labels", json!("x")),
        ("/metadata/labels", json!([])),
        ("/metadata/annotations", json!(5)),
        ("/metadata", json!("x")),
        ("/metadata", json!([1])),
    ] {
        let odd = with(&base, pointer, value);
        let answer = ask(&webhook, Endpoint::Mutate, &review("CREATE", None, Some(&odd)));
        let untouched = odd.pointer(pointer) == answer.patched.pointer(pointer);
        assert!(untouched, "{odd}: {:?}", answer.patch);
    }
    let unreadable = with(&base, "/spec/labels", json!("many"));
    let answer = ask(&webhook, Endpoint::Mutate, &review("CREATE", None, Some(&unreadable)));
    assert_eq!(answer.patched["metadata"], json!({"name": "g", "labels": {"example.com/managed-by-version": SERVED}}));
}

#[test]
fn kinds_without_rollout_get_no_hash() {
    let webhook = stamping(elasticsearch());
    let object = json!({"apiVersion": "elasticsearch.k8s.elastic.co/v1", "kind": "Elasticsearch", "metadata": {"generateName": "e-"}, "spec": {"version": "8.19.0"}});
    let answer = ask(&webhook, Endpoint::Mutate, &review("CREATE", None, Some(&object)));
    assert_eq!(
        answer.patched["metadata"],
        json!({"generateName": "e-", "labels": {"eaas.search.mercari.in/desired-controller-version": SERVED}})
    );
}
