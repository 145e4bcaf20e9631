use std::collections::BTreeSet;

use super::rollout_hash::Preimage;
use super::{Endpoint, Metadata, Outcome, Request, Webhook};
use crate::{definition::Kind, json::Json};

fn webhook() -> Webhook {
    let kinds = Kind::embedded().unwrap_or_else(|error| panic!("{error}"));
    Webhook::new(kinds, Metadata::Full).unwrap()
}

fn fixture(name: &str) -> String {
    let path = format!("{}/../../tests/data/fixtures/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let value: serde_json::Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    value.to_string()
}

/// A conversion accepts every version name that the error message lists.
#[test]
fn versions_match_with_or_without_group() {
    let (webhook, object) = (webhook(), fixture("rollout-completed"));
    let [bare, whole] = ["v1alpha2", "materialize.cloud/v1alpha2"].map(|version| webhook.convert(&object, version));
    assert_eq!(whole.unwrap().text, bare.unwrap().text);
    let error = webhook.convert(&object, "example.com/v1alpha2").unwrap_err().to_string();
    assert!(error.ends_with("known versions: materialize.cloud/v1alpha1, materialize.cloud/v1alpha2"), "{error}");
}

/// The calculated hash of the fixtures whose spec is that of `rollout-completed`.
const SETTLED: &str = "\"2dfc6d1d852e217232939bc04369e528bdcc14abb1113ebb4686d2d4d3682034\"";

#[test]
fn status_hashes_map_to_requests() {
    let absent = None;
    let cases = [
        ("rollout-completed", Some(SETTLED), Some(SETTLED)),
        ("rollout-applying", absent, Some(SETTLED)),
        (
            "rollout-ready-to-promote",
            absent,
            Some("\"e9e1167f49e9df02fbc560349997da19825e2648c4babd4d86dab756608dd119\""),
        ),
        ("rollout-promoting", absent, absent),
        ("never-rolled-out", absent, Some(SETTLED)),
        ("change-waits-for-approval", Some(SETTLED), Some(SETTLED)),
        ("rollout-failed", absent, Some(SETTLED)),
        (
            "patched-at-v1alpha1",
            Some("\"32757b88cb0576b194c261380738cae622235e783724a4e2f1e84c658d3fce1b\""),
            Some("\"6ea77da13420091bac838556fe36c55e49da782e7fd9f0e0416191c077d48d3e\""),
        ),
    ];
    for (name, completed, requested) in cases {
        let newer = webhook().convert(&fixture(name), "v1alpha2").unwrap();
        let newer = Json::borrowed(&newer.text);
        let status = newer.get("status").unwrap();
        let text = |field: &str| status.get(field).map(|value| value.to_text());
        assert_eq!(text("lastCompletedRolloutHash").as_deref(), completed, "{name}");
        assert_eq!(text("requestedRolloutHash").as_deref(), requested, "{name}");
        assert_eq!(text("lastCompletedRolloutRequest"), None, "{name}");
    }
}

#[test]
fn completion_during_promotion_round_trips() {
    // The condition is still Promoting, so the newer version has no completed hash yet.
    let webhook = webhook();
    let down = webhook.convert(&fixture("v1alpha2-promoting"), "v1alpha1").unwrap().text;
    let mut object: serde_json::Value = serde_json::from_str(&down).unwrap();
    let request = "33333333-3333-3333-3333-333333333333";
    object["spec"]["requestRollout"] = request.into();
    object["status"]["lastCompletedRolloutRequest"] = request.into();
    let up = webhook.convert(&object.to_string(), "v1alpha2").unwrap().text;
    let back = webhook.convert(&up, "v1alpha1").unwrap().text;
    let back: serde_json::Value = serde_json::from_str(&back).unwrap();
    assert_eq!(back["status"]["lastCompletedRolloutRequest"], request);
    assert_eq!(back["spec"]["requestRollout"], request);
}

#[test]
fn golden_hashes_do_not_move() {
    let minimal = "32757b88cb0576b194c261380738cae622235e783724a4e2f1e84c658d3fce1b";
    let base = r#"{"apiVersion":"materialize.cloud/v1alpha2","kind":"Materialize","spec":{"environmentdImageRef":"materialize/environmentd:v26.12.0","backendSecretName":"materialize-backend"MORE}}"#;
    for (more, hash) in [
        ("", minimal),
        (
            r#","forceRollout":"33333333-3333-3333-3333-333333333333""#,
            "61acf8d766fe83b828bd33d9c6b177eb60b0a2a58f431f60a63e2eacb98ba512",
        ),
        (r#","balancerdReplicas":3,"forcePromote":"x""#, minimal),
        (
            r#","serviceAccountAnnotations":{"eks.amazonaws.com/role-arn":"arn:aws:iam::123456789012:role/mz"}"#,
            "cb28bb1cdca18675fcea5e58c06bb75213acc28fffee281555be7ba74a70c606",
        ),
        (r#","enableRbac":null,"podLabels":{},"environmentId":"00000000000000000000000000000000""#, minimal),
    ] {
        assert_eq!(webhook().preimage(&base.replace("MORE", more)).unwrap().hash(), hash, "{more}");
    }
    assert_eq!(
        webhook().preimage(&fixture("v1alpha2-force-rollout")).unwrap().hash(),
        "3358d20d9f67dd63f079754b161fed7536447fab6b4f52e851e20634e6e24e87"
    );
}

/// The members that `hash` prints are exactly the hashed members.
#[test]
fn shown_members_are_hashed_members() {
    for name in ["rollout-completed", "v1alpha2-force-rollout", "v1alpha2-promoting"] {
        let preimage = webhook().preimage(&fixture(name)).unwrap();
        let members = preimage.members();
        assert!(members.len() > 1 && members.is_sorted(), "{name}: {members:?}");
        let shown: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        assert_eq!(format!("{{{}}}", shown.join(",")), preimage.canonical, "{name}");
    }
}

/// The differing names are those of members that one preimage lacks, or that have another value.
#[test]
fn differing_members_match_members() {
    let names = ["rollout-completed", "v1alpha2-force-rollout", "v1alpha2-promoting", "v1alpha2-force-promote"];
    let all = names.map(|name| webhook().preimage(&fixture(name)).unwrap());
    let mut found = 0;
    for (one, two) in all.iter().flat_map(|one| all.iter().map(move |two| (one, two))) {
        let [mut members, others] = [one, two].map(Preimage::members);
        let shared: Vec<_> = members.iter().filter(|member| others.contains(member)).cloned().collect();
        members.extend(others);
        members.retain(|member| !shared.contains(member));
        let expected: BTreeSet<String> = members.into_iter().map(|(name, _)| name).collect();
        let differing: Vec<_> = one.differing(two).collect();
        found += differing.len();
        assert!(differing.iter().eq(&expected), "{differing:?} {expected:?}");
    }
    assert!(found > 10, "{found}");
}

/// The response names a request member of the wrong type, for any order of the members.
#[test]
fn wrong_member_type_is_named() {
    let others = [("null", "null"), ("5", "number"), ("true", "boolean"), ("{}", "object")];
    for (other, called) in others.into_iter().chain([("\"[]\"", "string")]) {
        let message = format!("request.objects: must be a list, not {called}");
        said(&format!(r#""desiredAPIVersion":"v1","objects":{other}"#), &message);
        said(&format!(r#""objects":{other},"desiredAPIVersion":"v1""#), &message);
    }
    for (other, _) in others.into_iter().chain([("[]", "list")]) {
        let message = "request.desiredAPIVersion: must be a string";
        said(&format!(r#""desiredAPIVersion":{other},"objects":[]"#), message);
        said(&format!(r#""objects":[],"desiredAPIVersion":{other}"#), message);
    }
    said(r#""desiredAPIVersion":"v1""#, "request.objects: is missing");
}

fn said(request: &str, message: &str) {
    let review = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u",{request}}}}}"#
    );
    let reply = webhook().handle(&Request::new(Endpoint::Convert, review.as_bytes())).unwrap();
    assert_eq!((reply.outcome, reply.message.as_deref()), (Outcome::Fail, Some(message)), "{review}");
}

/// A kind whose older version has a top-level object that the newer one does not.
fn moved_out_of_the_top() -> Webhook {
    let definition = "\
apiVersion: pointsman.dev/v1
kind: KindDefinition
crd: crd
steps:
- from: v1
  to: v2
  operations:
  - values: {from: config.policy, to: spec.policy, map: {always: Always, forever: Always}}
  - drop: config.size
";
    let schema = |properties: &str| {
        format!(
            "{{name: NAME, served: true, storage: STORED, schema: {{openAPIV3Schema: {{type: object, properties: {properties}}}}}}}"
        )
    };
    let older = schema(
        "{config: {type: object, properties: {policy: {type: string}, size: {type: string}}}, spec: {type: object}}",
    );
    let newer = schema("{spec: {type: object, properties: {policy: {type: string}}}}");
    let crd = format!(
        "kind: CustomResourceDefinition\nspec: {{group: example.com, names: {{kind: Top, plural: tops}}, versions: [{}, {}]}}\n",
        older.replace("NAME", "v1").replace("STORED", "false"),
        newer.replace("NAME", "v2").replace("STORED", "true")
    );
    let kind = Kind::load("top.yaml", definition, &mut |_| Ok(crd.clone()));
    Webhook::new(vec![kind.unwrap_or_else(|error| panic!("{error}"))], Metadata::Full).unwrap()
}

#[test]
fn one_sided_top_level_object_returns() {
    let webhook = moved_out_of_the_top();
    let object = r#"{"apiVersion":"example.com/v1","kind":"Top","metadata":{"name":"a"},"config":{"policy":"forever","size":"large"},"spec":{}}"#;
    let there = webhook.convert(object, "v2").unwrap();
    assert!(!Json::borrowed(&there.text).members().iter().any(|(name, _)| name == "config"));
    let home = webhook.convert(&there.text, "v1").unwrap();
    assert!(Json::borrowed(&home.text).same(&Json::borrowed(object)), "{}", home.text);
}

#[test]
fn foreign_annotation_is_distrusted() {
    let webhook = moved_out_of_the_top();
    let object = r#"{"apiVersion":"example.com/v1","kind":"Top","metadata":{"name":"a","annotations":{"pointsman.dev/kept-v1":"{\"config.size\":{\"value\":\"large\"}}"}},"spec":{}}"#;
    let there = webhook.convert(object, "v2").unwrap();
    let home = webhook.convert(&there.text, "v1").unwrap();
    assert!(Json::borrowed(&home.text).same(&Json::borrowed(object)), "{}", home.text);
}
