//! Mutations offline: output and errors.

use super::*;

const KINDS: [&str; 2] = ["--kinds", "manifests/examples/gardener"];
const SCHEDULER: [&str; 2] = ["-f", "manifests/examples/gardener/kube-scheduler.yaml"];

fn mutate(args: &[&str]) -> Answer {
    pointsman(&[&["mutate"], &KINDS[..], &SCHEDULER, args].concat())
}

#[test]
fn offline_mutate_takes_facts() {
    let error = mutate(&[]).refusal(1);
    assert!(error.contains("Deployment shoot--garden--aws/kube-scheduler: whether annotation"), "{error}");
    assert!(error.contains("mutation csi needs this fact: set --fact csi=true or --fact csi=false"), "{error}");
    assert!(mutate(&["--fact", "cis=true"]).refusal(2).contains("no mutation has this name, did you mean \"csi\"?"));
    for second in ["csi=false", "csi=true"] {
        let error = mutate(&["--fact", "csi=true", "--fact", second]).refusal(2);
        assert!(error.contains("--fact csi: is given twice"), "{error}");
    }
    assert!(mutate(&["--fact", "csi=yes"]).refusal(2).contains("=true or =false"));
    let lines = mutate(&["--fact", "csi=false"]).data();
    assert_eq!(
        lines,
        "shoot--garden--aws/kube-scheduler:\n+ spec.template.spec.containers.0.command.3: \
         \"--feature-gates=CSIMigration=true,CSIMigrationAWS=true\"\n"
    );
    let patch = json(&mutate(&["--fact", "csi=true", "-o", "json"]).data());
    assert_eq!(patch["patch"][0]["path"], "/spec/template/spec/containers/0/command/3");
}

#[test]
fn mutate_prints_the_whole_object() {
    for form in ["yaml", "json", "text"] {
        let whole = mutate(&["--fact", "csi=true", "--whole", "-o", form]).data();
        let again = ["mutate", "-f", "-", "--fact", "csi=true", "--kinds", KINDS[1]];
        let again = with_stdin(&again, whole.as_bytes()).data();
        assert_eq!(again, "shoot--garden--aws/kube-scheduler: no changes\n", "{form}");
    }
    let args = ["-f", "manifests/examples/gardener/kube-apiserver.yaml", "--fact", "csi=true", "--whole"];
    let answer = pointsman(&[&["mutate"], &KINDS[..], &args].concat());
    assert!(
        answer.stderr.contains("mutation csi replaces or removes values of the request: /spec"),
        "{}",
        answer.stderr
    );
    let whole = yaml(&answer.stdout);
    let pod = &whole["spec"]["template"]["spec"];
    assert!(pod["containers"][0].get("env").is_none());
    assert_eq!(pod["volumes"].as_array().unwrap().len(), 1);
}

#[test]
fn mutation_definitions_load_with_kinds() {
    let list = pointsman(&["kinds", "--kinds", KINDS[1]]).data();
    assert!(list.contains("control-plane   apps "), "{list}");
    let value = json(&pointsman(&["kinds", "--kinds", KINDS[1], "-o", "json"]).data());
    let mutated = value.as_array().unwrap().last().unwrap();
    assert_eq!(mutated["mutations"][0]["name"], "csi");
    let text =
        std::fs::read_to_string(format!("{}/{}/control-plane.yaml", env!("CARGO_MANIFEST_DIR"), KINDS[1])).unwrap();
    assert_eq!(pointsman(&["kinds", "show", "deployments.apps", "--kinds", KINDS[1]]).data(), text);
    let directory = tempfile::TempDir::new().unwrap();
    let file = directory.path().join("mutations.yaml");
    std::fs::write(&file, text.replace("- noFlag: --cloud-config", "- noFlag: cloud-config")).unwrap();
    let error = pointsman(&["kinds", "check", file.to_str().unwrap()]).refusal(1);
    assert!(
        error.contains("mutations.yaml:23: mutation csi: onceTrue: noFlag: \"cloud-config\" is no flag"),
        "{error}"
    );
}

#[test]
fn each_mutation_prints_a_webhook() {
    let args = ["webhooks", "mutations", "--kinds", KINDS[1], "--service", "ns/pointsman", "-o", "json"];
    let printed = json(&pointsman(&[&args[..], &["--kind", "Deployment"]].concat()).data());
    assert_eq!(printed["kind"], "MutatingWebhookConfiguration");
    assert_eq!(printed["metadata"]["name"], "pointsman-mutations.deployments.apps");
    let webhook = &printed["webhooks"][0];
    assert_eq!(webhook["name"], "csi.mutations.deployments.apps");
    assert_eq!(webhook["failurePolicy"], "Fail");
    assert_eq!(webhook["clientConfig"]["service"]["path"], "/mutate");
    assert_eq!(
        webhook["matchConditions"][1]["expression"],
        "has(object.metadata.name) && object.metadata.name in [\"kube-apiserver\", \"kube-controller-manager\", \"kube-scheduler\"]"
    );
    let error = pointsman(&[&args[..], &["--kind", "daemonsets"]].concat()).refusal(2);
    assert!(
        error.contains("no definition of mutations has the name \"daemonsets\"; known definitions: control-plane"),
        "{error}"
    );
    let error = pointsman(&[
        "webhooks",
        "mutations",
        "--kinds",
        KINDS[1],
        "--kind",
        "Deployment",
        "--service",
        "n/p-{version}",
    ]);
    assert!(error.refusal(2).contains("mutations have no controller version"));
}

#[test]
fn old_kubernetes_gets_webhooks() {
    let args = ["webhooks", "mutations", "--kinds", KINDS[1], "--service", "ns/pointsman", "-o", "json", "--policy"];
    let told = pointsman(&[&args[..], &["--kind", "Deployment", "--kube-version", "1.34"]].concat());
    let words = "mutation csi is printed as a webhook, not as a policy: Kubernetes has MutatingAdmissionPolicy";
    assert!(told.code == 0 && told.stderr.contains(words), "{}", told.stderr);
    let printed = json(&told.stdout);
    assert_eq!(printed["kind"], "MutatingWebhookConfiguration", "{printed}");
    assert_eq!(printed["webhooks"][0]["name"], "csi.mutations.deployments.apps");
}

#[test]
fn mutation_comments_match_webhooks() {
    let args = ["webhooks", "mutations", "--kinds", KINDS[1], "--kind", "Deployment", "--service", "ns/pointsman"];
    let printed = pointsman(&args).data();
    let comments: Vec<&str> = printed.lines().filter_map(|line| line.trim_start().strip_prefix("# ")).collect();
    assert!(comments.iter().any(|comment| comment.contains("the field later, after the mutation")), "{printed}");
    for of_ours in ["hash", "writes of this kind", "are listed", "label"] {
        assert!(!comments.iter().any(|comment| comment.contains(of_ours)), "{of_ours}: {printed}");
    }
}
