//! `pointsman enable` where somebody has the CRD from `kubectl apply`, and applies it again.

use serde_json::Value;

use crate::scenario::Scenario;
use crate::support::sample::{Sample, WIDGET};
use crate::support::scene::Scene;

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("kubectl_fields_need_force", upstream).of(&WIDGETS).newest().failing(),
    Scenario::new("printed_documents_apply_without_change", printed).of(&WIDGETS).newest(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Each way to apply, and as whom the API server knows it.
const WAYS: [(&[&str], &str); 2] =
    [(&["apply"], "kubectl-client-side-apply"), (&["apply", "--server-side"], "kubectl")];

/// The CRD of the kind's own project, with one version and no conversion.
fn upstream(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let mut file = scene.enabled(old);
    drop(file["spec"].as_object_mut().unwrap().remove("conversion"));
    file["spec"]["versions"].as_array_mut().unwrap().retain(|version| version["name"] == old);
    for (way, manager) in WAYS {
        scene.kubectl(way, &file);
        scene.eventually(|| scene.create(old, &scene.object(old, "a")).is_ok().then_some(()));
        let before = scene.crd_now();
        for more in [&["--dry-run=server"][..], &[]] {
            let (code, _, errors) = scene.enables(more);
            assert_eq!(code, 1, "{errors}");
            for said in ["nothing was changed", &format!("\"{manager}\""), ".spec.versions", "--force-conflicts takes"]
            {
                assert!(errors.contains(said), "{said}: {errors}");
            }
            assert_eq!(scene.crd_now(), before);
        }
        takes_over(scene, manager);
        // The same file again.
        let enabled = scene.crd_now();
        let (done, said) = scene.try_kubectl(way, &file);
        if manager == "kubectl" {
            assert!(!done && said.contains("conflict with \"pointsman\": .spec.versions"), "{said}");
            assert_eq!(scene.crd_now(), enabled);
        } else {
            assert!(done, "{said}");
            scene.eventually(|| (scene.list(new).code == 404).then_some(()));
            assert_eq!(
                scene.crd_now()["spec"]["conversion"],
                enabled["spec"]["conversion"],
                "the file says nothing of it"
            );
            let (code, text, _) = scene.command(&["status", &scene.crd_name()]);
            assert!(code == 1 && text.contains("mend: pointsman enable"), "{text}");
            takes_over(scene, manager);
        }
        // Once objects may be stored in the other version, the API server itself keeps it.
        let (code, _, errors) = scene.migrate(&["--to", new, "--settle=1s"]);
        assert_eq!(code, 0, "{errors}");
        let migrated = scene.crd_now();
        let (done, said) = scene.try_kubectl(&[way, &["--force-conflicts"][..way.len() - 1]].concat(), &file);
        assert!(!done && said.contains("status.storedVersions[0]"), "{said}");
        assert_eq!(scene.crd_now(), migrated);
        scene.kubectl(&["delete"], &file);
        scene.forget_policy(new);
    }
}

fn takes_over(scene: &Scene<'_>, manager: &str) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    let (code, _, errors) = scene.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.contains("takes ownership of") && errors.contains(&format!("\"{manager}\"")), "{errors}");
    for version in [old, new] {
        scene.get(version, "a").ok();
    }
}

/// What `pointsman crd` prints is what `pointsman enable` applies: whoever applied it, and whenever.
fn printed(scene: &Scene<'_>) {
    let old = scene.sample.old;
    let whole = scene.printed_crd(&["--storage", old]);
    let mut without = whole.clone();
    // As for cert-manager, which writes it.
    without["spec"]["conversion"]["webhook"]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    for (way, _) in WAYS {
        for file in [&whole, &without] {
            scene.kubectl(way, file);
            scene.eventually(|| scene.list(old).is_ok().then_some(()));
            let (code, _, errors) = scene.enables(&[]);
            assert_eq!(code, 0, "no conflict: {errors}");
            let enabled = scene.crd_now();
            assert_eq!(enabled["spec"]["conversion"], whole["spec"]["conversion"]);
            scene.kubectl(way, file);
            let spec = |crd: Value| crd["spec"].clone();
            assert_eq!(spec(scene.crd_now()), spec(enabled));
            let (code, _, errors) = scene.enables(&[]);
            assert_eq!(code, 0, "{errors}");
            scene.kubectl(&["delete"], file);
            scene.forget_policy(old);
        }
    }
}
