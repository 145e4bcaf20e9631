//! A real cert-manager issues the pair and renews it, and its cainjector fills in the CRD's `caBundle`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::load::under_load;
use crate::scenario::Scenario;
use crate::support::cert_manager::{Volume, renew, secret, start};
use crate::support::ctx::{CRDS, TestContext};
use crate::support::metrics::of_crd;
use crate::support::pointsman::Pointsman;
use crate::support::process::{SOON, eventually};

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario::new("certificate_renewal_fails_no_request", renewed)
    .needs("cert-manager-controller")
    .materialize()
    .failing()];

fn renewed(ctx: &TestContext<'_>) {
    let _controllers = start(ctx);
    issue(ctx);
    let mut volume = Volume::new(&ctx.dir.join("volume"));
    let mut pair = eventually("the pair is issued", SOON, || secret(ctx, "leaf"));
    volume.project(&pair);
    // As in production: the files are the files of the Secret, and a renewal needs no restart.
    ctx.stop_pointsman();
    let mut setup = ctx.setup.clone();
    (setup.cert, setup.key) = volume.pair();
    *ctx.pointsman.borrow_mut() = Some(Pointsman::start(&setup));
    let bundle = install(ctx);
    // While the API server waits for the bundle, conversions of the probes may fail.
    let (_, early) = of_crd(ctx.test_cluster, &ctx.crd_name());
    let (load, ()) = under_load(ctx, 10, || {
        for round in 0..RENEWALS {
            renew(ctx, "leaf");
            let before = pair["tls.crt"].clone();
            pair = eventually("a renewed pair", Duration::from_secs(20), || {
                secret(ctx, "leaf").filter(|secret| secret["tls.crt"] != before)
            });
            volume.project(&pair);
            eventually("the renewed pair is served", Duration::from_secs(15), || {
                let page = ctx.pointsman.borrow().as_ref().unwrap().metrics();
                (reloads(&page) > round).then_some(())
            });
        }
    });
    println!("     {RENEWALS} renewals under {} requests: {} errors", load.requests, load.errors.len());
    assert_eq!(load.errors, [""; 0]);
    assert_eq!(of_crd(ctx.test_cluster, &ctx.crd_name()).1, early, "failed conversions");
    assert_eq!(ca_bundle(ctx), bundle, "the authority outlives its leaves");
}

/// The number of successful reloads since the start.
pub(crate) fn reloads(page: &str) -> u64 {
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64;
    let success =
        |line: &&str| !line.starts_with('#') && line.contains("certificate_reloads_total") && line.contains("success");
    page.lines().filter(success).map(count).sum()
}

/// A long-lived authority, and a leaf as the chart requests it.
fn issue(ctx: &TestContext<'_>) {
    let ns = &ctx.ns;
    let create = |plural: &str, name: &str, spec: Value| {
        let kind = if plural == "issuers" { "Issuer" } else { "Certificate" };
        let object = json!({
            "apiVersion": "cert-manager.io/v1", "kind": kind,
            "metadata": {"name": name, "namespace": ns}, "spec": spec,
        });
        let path = format!("/apis/cert-manager.io/v1/namespaces/{ns}/{plural}");
        ctx.eventually(|| ctx.post(&path, &object).is_ok().then_some(()));
    };
    create("issuers", "self", json!({"selfSigned": {}}));
    create(
        "certificates",
        "authority",
        json!({
            "isCA": true, "commonName": "pointsman", "secretName": "authority", "duration": "87600h",
            "privateKey": {"algorithm": "ECDSA", "size": 256}, "issuerRef": {"name": "self", "kind": "Issuer"},
        }),
    );
    create("issuers", "authority", json!({"ca": {"secretName": "authority"}}));
    create(
        "certificates",
        "leaf",
        json!({
            "secretName": "leaf", "dnsNames": [format!("pointsman.{ns}.svc"), "localhost"],
            "usages": ["digital signature", "server auth"],
            "privateKey": {"algorithm": "Ed25519", "rotationPolicy": "Always"},
            "issuerRef": {"name": "authority", "kind": "Issuer"},
        }),
    );
}

/// The CRD, with an annotation where the bundle should be. Returns the bundle.
fn install(ctx: &TestContext<'_>) -> Value {
    let mut crd = ctx.enabled(ctx.sample.new);
    let from = format!("{}/leaf", ctx.ns);
    crd["metadata"]["annotations"] = json!({"cert-manager.io/inject-ca-from": from});
    let client = crd["spec"]["conversion"]["webhook"]["clientConfig"].as_object_mut().unwrap();
    client.remove("caBundle");
    ctx.post(CRDS, &crd).ok();
    let bundle =
        eventually("the bundle is injected", SOON, || Some(ca_bundle(ctx)).filter(|bundle| bundle.is_string()));
    for version in [ctx.sample.old, ctx.sample.new] {
        ctx.eventually(|| {
            let probe = ctx.object(version, "probe");
            ctx.post(&format!("{}?dryRun=All", ctx.all(version)), &probe).is_ok().then_some(())
        });
    }
    bundle
}

fn ca_bundle(ctx: &TestContext<'_>) -> Value {
    let crd = ctx.call_get(&format!("{CRDS}/{}", ctx.crd_name()));
    crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone()
}

const RENEWALS: u64 = 20;
