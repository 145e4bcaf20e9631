//! `pointsman enable` for a CRD that a user applied with `kubectl apply`, and applies again.

use serde_json::Value;

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("kubectl_fields_need_force", upstream).of(&WIDGETS).newest().failing(),
    Scenario::new("printed_documents_apply_without_change", printed).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Each way to apply, and its field manager.
const WAYS: [(&[&str], &str); 2] =
    [(&["apply"], "kubectl-client-side-apply"), (&["apply", "--server-side"], "kubectl")];

/// The CRD of the kind's own project, with one version and without conversion.
fn upstream(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let mut file = ctx.enabled(old);
    drop(file["spec"].as_object_mut().unwrap().remove("conversion"));
    file["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    for (way, manager) in WAYS {
        ctx.kubectl(way, &file);
        ctx.eventually(|| ctx.create(old, &ctx.object(old, "a")).is_ok().then_some(()));
        let before = ctx.crd_now();
        for more in [&["--dry-run=server"][..], &[]] {
            let (code, _, errors) = ctx.enables(more);
            assert_eq!(code, 1, "{errors}");
            for said in
                ["the cluster is unchanged", &format!("\"{manager}\""), ".spec.versions", "--force-conflicts takes"]
            {
                assert!(errors.contains(said), "{said}: {errors}");
            }
            assert_eq!(ctx.crd_now(), before);
        }
        takes_over(ctx, manager);
        // Applies the same file again.
        let enabled = ctx.crd_now();
        let (done, said) = ctx.try_kubectl(way, &file);
        if manager == "kubectl" {
            assert!(!done && said.contains("conflict with \"pointsman\": .spec.versions"), "{said}");
            assert_eq!(ctx.crd_now(), enabled);
        } else {
            assert!(done, "{said}");
            ctx.eventually(|| (ctx.list(new).code == 404).then_some(()));
            assert_eq!(
                ctx.crd_now()["spec"]["conversion"],
                enabled["spec"]["conversion"],
                "the file says nothing of it"
            );
            let (code, text, _) = ctx.command(&["status", &ctx.crd_name()]);
            assert!(code == 1 && text.contains("fix: pointsman enable"), "{text}");
            takes_over(ctx, manager);
        }
        // Once objects may be stored in the other version, the API server itself keeps that version.
        let (code, _, errors) = ctx.migrate(&["--to", new, "--settle=1s"]);
        assert_eq!(code, 0, "{errors}");
        let migrated = ctx.crd_now();
        let (done, said) = ctx.try_kubectl(&[way, &["--force-conflicts"][..way.len() - 1]].concat(), &file);
        assert!(!done && said.contains("status.storedVersions[0]"), "{said}");
        assert_eq!(ctx.crd_now(), migrated);
        ctx.kubectl(&["delete"], &file);
        ctx.forget_policy(new);
    }
}

fn takes_over(ctx: &TestContext<'_>, manager: &str) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("takes ownership of") && errors.contains(&format!("\"{manager}\"")), "{errors}");
    for version in [old, new] {
        ctx.get(version, "a").ok();
    }
}

/// The output of `pointsman crd` equals the CRD that `pointsman enable` applies, for every field manager and order.
fn printed(ctx: &TestContext<'_>) {
    let old = ctx.sample.old;
    let whole = ctx.printed_crd(&["--storage", old]);
    let mut without = whole.clone();
    // Without the bundle, which cert-manager writes.
    without["spec"]["conversion"]["webhook"]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    for (way, _) in WAYS {
        for file in [&whole, &without] {
            ctx.kubectl(way, file);
            ctx.eventually(|| ctx.list(old).is_ok().then_some(()));
            let (code, _, errors) = ctx.enables(&[]);
            assert_eq!(code, 0, "no conflict: {errors}");
            let enabled = ctx.crd_now();
            assert_eq!(enabled["spec"]["conversion"], whole["spec"]["conversion"]);
            ctx.kubectl(way, file);
            let spec = |crd: Value| crd["spec"].clone();
            assert_eq!(spec(ctx.crd_now()), spec(enabled));
            let (code, _, errors) = ctx.enables(&[]);
            assert_eq!(code, 0, "{errors}");
            ctx.kubectl(&["delete"], file);
            ctx.forget_policy(old);
        }
    }
}
