//! `pointsman plan` and `kinds compare`: the predicted effects of a change on a cluster.

use std::fs;

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::acting::run;
use crate::support::ctx::TestContext;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("plan_reads_all_writes_nothing", every_object),
    Scenario::new("compare_ignores_server_defaults", compared_crd),
];

fn every_object(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let unknown = ctx.refused(&["plan", &ctx.crd_name()]);
    assert!(unknown.contains(&format!("CRD {} does not exist", ctx.crd_name())), "{unknown}");
    ctx.enable(old);
    let names = ["a", "b", "c"];
    for name in names {
        ctx.create(old, &ctx.object(old, name)).ok();
    }
    let before = names.map(|name| ctx.test_cluster.etcd.writes(&ctx.key(name)));
    let (code, report) = plan(ctx, &[]);
    assert_eq!(code, 0, "{report}");
    assert_eq!((&report["objects"], &report["counts"]["lost"]), (&json!(3), &json!(0)), "{report}");
    let items = report["items"].as_array().unwrap();
    assert!(items.iter().all(|item| item["version"] == old), "as they are stored: {report}");
    assert!(items.iter().all(|item| item["findings"].as_array().unwrap().is_empty()), "{report}");
    assert_eq!(names.map(|name| ctx.test_cluster.etcd.writes(&ctx.key(name))), before, "nothing is written");
    assert_eq!(plan(ctx, &["--to", new]).1["coldCache"]["conversions"], 3);
}

/// Exit code, and the report.
fn plan(ctx: &TestContext<'_>, more: &[&str]) -> (i32, Value) {
    let (code, text, errors) = ctx.command(&[&["plan", &ctx.crd_name(), "-o", "json"], more].concat());
    (code, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{errors}")))
}

/// The CRD of the cluster has the defaults of the API server and the conversion, which a file lacks.
fn compared_crd(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let file = ctx.dir.join("compared.crd.json");
    let compare = |change: &dyn Fn(&mut Value)| {
        let mut crd = ctx.crd_now();
        let names = crd["spec"]["names"].as_object_mut().unwrap();
        names.retain(|name, _| name != "listKind" && name != "singular");
        let client = crd["spec"]["conversion"]["webhook"]["clientConfig"].as_object_mut().unwrap();
        client.remove("caBundle");
        change(&mut crd);
        fs::write(&file, crd.to_string()).unwrap();
        let kubeconfig = format!("--kubeconfig={}", ctx.test_cluster.api.kubeconfig.display());
        run(&["kinds".to_owned(), "compare".to_owned(), file.to_str().unwrap().to_owned(), kubeconfig])
    };
    let (code, text, errors) = compare(&|_| {});
    assert_eq!((code, text.as_str()), (0, "OK: no changes\n"), "{errors}");
    let (code, text, _) = compare(&|crd| {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        let schema =
            &mut versions.iter_mut().find(|version| version["name"] == new).unwrap()["schema"]["openAPIV3Schema"];
        let spec = schema["properties"]["spec"]["properties"].as_object_mut().unwrap();
        let gone = spec.keys().next().unwrap().clone();
        spec.remove(&gone);
    });
    assert!(code == 1 && text.contains("the field is removed") && text.contains("Example: {\"spec\":{"), "{text}");
    let (code, text, errors) = compare(&|crd| {
        let mut other = crd.clone();
        other["metadata"]["name"] = json!("others.example.com");
        *crd = json!({"apiVersion": "v1", "kind": "List", "items": [crd, other]});
    });
    assert_eq!((code, text.as_str()), (0, "OK: no changes\n"), "a file with a known and a new CRD: {errors}");
    let (code, _, errors) = compare(&|crd| crd["metadata"]["name"] = json!("gone.example.com"));
    assert!(code == 1 && errors.contains("gone.example.com"), "{errors}");
}
