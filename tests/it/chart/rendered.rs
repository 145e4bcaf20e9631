//! The rendered chart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::helm::{self, CHART, Helm, root, values_files};
use super::pod::{Files, Pod, pair, server};
use crate::bless::agrees;

const PLAIN: &str = "manifests/chart/ci/plain-values.yaml";

fn find<'a>(documents: &'a [Value], kind: &str) -> Vec<&'a Value> {
    documents.iter().filter(|document| document["kind"] == kind).collect()
}

#[test]
fn helm_lint_passes() {
    let Some(helm) = Helm::find() else { return };
    for values in values_files() {
        let output = helm.run(&["lint", "--strict", CHART, "--values", &values]);
        assert!(output.status.success(), "{values}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn plain_manifests_equal_the_chart() {
    let Some(helm) = Helm::find() else { return };
    let script = root().join("manifests/render.sh");
    let output = Command::new("bash").arg(script).arg("--check").env("HELM", helm.path()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Refused values, each with a word of the reason.
const REFUSED: [(&str, &str); 28] = [
    ("image.repository=", "there is no published one"),
    ("image.repositry=pointsman", "'repositry' not allowed"),
    ("image.digest=sha256:1", "/image/digest"),
    ("replicaCount=0", "/replicaCount"),
    ("topologySpreadConstraints[0].maxSkew=1", "/topologySpreadConstraints/0"),
    ("extraVolumeMounts[0].name=ca", "/extraVolumeMounts/0"),
    ("controllerVersion=v2.16.0", "/controllerVersion"),
    ("controllerVersion=2.16", "/controllerVersion"),
    ("admission.defaultVersion=true", "/controllerVersion"),
    ("admission.enforcement=deny", "/admission/enforcement"),
    ("admission.servedVersions={2}", "/admission/servedVersions"),
    ("kinds.files.widgets=x", "/kinds/files"),
    ("kinds.volume.nfs=1,kinds.volume.csi=1", "/kinds/volume"),
    ("certificate.source=secret", "/certificate/secretName"),
    ("certificate.source=vault", "/certificate/source"),
    ("certificate.algorithm=RSA", "/certificate/algorithm"),
    ("certificate.duration=90d", "/certificate/duration"),
    ("certificate.issuerRef.kind=ClusterIssuer", "/certificate/issuerRef"),
    ("crdGuard.enabled=true", "/crdGuard/crds"),
    ("crdGuard.crds={widgets}", "/crdGuard/crds"),
    ("migrate.enabled=true", "/migrate/kinds"),
    ("migrate.kinds[0].plural=widgets", "/migrate/kinds/0"),
    ("migrate.kinds[0].plural=widgets,migrate.kinds[0].group=example", "/migrate/kinds/0/group"),
    ("clientCertificates.configMap=a,clientCertificates.secret=b", "/clientCertificates"),
    ("server.lameDuckSeconds=0", "/server/lameDuckSeconds"),
    ("ports.webhooks=70000", "/ports/webhooks"),
    ("priorityClass.value=2000000000", "/priorityClass/value"),
    ("monitoring.scrape=always", "/monitoring/scrape"),
];

#[test]
fn invalid_values_are_refused_by_name() {
    let Some(helm) = Helm::find() else { return };
    for (set, reason) in REFUSED {
        let error = helm.template("pointsman", &["--values", PLAIN, "--set", set]).expect_err(set);
        assert!(error.contains(reason), "{set}: {error}");
    }
}

/// ConfigMaps and volumes of users, by their names in the values files.
fn there() -> BTreeMap<&'static str, Files> {
    let file = |name: &str| (name.to_owned(), fs::read_to_string(root().join("tests/data/kinds").join(name)).unwrap());
    let both = |kind: &str| Files::from([file(&format!("{kind}.yaml")), file(&format!("{kind}.crd.yaml"))]);
    let authority = |key: &str| Files::from([(key.to_owned(), pair().2)]);
    BTreeMap::from([
        ("widgets", both("widgets")),
        ("widgets-crd", Files::from([file("widgets.crd.yaml")])),
        ("parcels", both("gadgets")),
        ("kinds-volume", both("engines")),
        ("api-servers", authority("ca.crt")),
    ])
}

/// The program accepts every flag of the chart, finds the mounted files, and responds to the probes.
#[test]
fn any_values_start_the_server() {
    let Some(helm) = Helm::find() else { return };
    let there = there();
    for values in values_files() {
        let documents = helm.template("pointsman", &["--values", &values]).unwrap();
        let pod = Pod::start(&documents, &there);
        assert!(pod.probe("readinessProbe").starts_with("HTTP/1.1 200"), "{values}");
        assert!(pod.probe("livenessProbe").starts_with("HTTP/1.1 200"), "{values}");
    }
}

/// The file for the kubelet starts the same server.
#[test]
fn static_pod_starts_the_server() {
    let documents = helm::documents(&fs::read_to_string(root().join("manifests/static-pod.yaml")).unwrap());
    let there = BTreeMap::from([
        ("kinds", there()["widgets"].clone()),
        ("tls", {
            let (cert, key, _) = pair();
            Files::from([("tls.crt".to_owned(), cert), ("tls.key".to_owned(), key)])
        }),
    ]);
    let pod = Pod::start(&documents, &there);
    assert!(pod.probe("readinessProbe").starts_with("HTTP/1.1 200"));
    assert!(pod.probe("livenessProbe").starts_with("HTTP/1.1 200"));
    let (code, is_in_time) = pod.terminate();
    assert!(code == Some(0) && is_in_time, "{code:?}");
}

/// A replica on each node of the control plane, for its API server alone.
#[test]
fn control_plane_has_a_daemon_set() {
    let Some(helm) = Helm::find() else { return };
    let values = "manifests/chart/ci/control-plane-values.yaml";
    let documents = helm.template("pointsman", &["--values", values]).unwrap();
    let set = server(&documents);
    assert_eq!(set["kind"], "DaemonSet");
    let pod = &set["spec"]["template"]["spec"];
    let nodes = json!({"kubernetes.io/arch": "amd64", "node-role.kubernetes.io/control-plane": ""});
    assert_eq!(pod["nodeSelector"], nodes);
    assert_eq!(pod["tolerations"][0]["key"], "node-role.kubernetes.io/control-plane");
    assert!(pod["affinity"].is_null() && pod["topologySpreadConstraints"].is_null(), "{pod}");
    assert!(find(&documents, "Service").is_empty() && find(&documents, "PodDisruptionBudget").is_empty());
    let leaf = find(&documents, "Certificate").into_iter().find(|it| it["spec"]["isCA"].is_null()).unwrap();
    assert_eq!(leaf["spec"]["ipAddresses"], json!(["127.0.0.1"]));
}

/// A parent chart and an empty key of a values file remove values.
#[test]
fn removed_values_have_defaults() {
    let Some(helm) = Helm::find() else { return };
    for removed in
        ["nodeSelector", "tolerations", "controlPlane", "controlPlane.nodeSelector", "controlPlane.tolerations"]
    {
        for enabled in ["false", "true"] {
            let sets = [format!("controlPlane.enabled={enabled}"), format!("{removed}=null")];
            helm.template("pointsman", &["--values", PLAIN, "--set", &sets[0], "--set", &sets[1]]).expect(removed);
        }
    }
}

/// The command of `helm test`, with curl, on the server of the same values.
#[test]
fn helm_test_converts_nothing() {
    let Some(helm) = Helm::find() else { return };
    let documents = helm.template("pointsman", &["--values", "manifests/chart/ci/secret-values.yaml"]).unwrap();
    let test = find(&documents, "Pod").remove(0);
    assert_eq!(test["metadata"]["annotations"]["helm.sh/hook"], "test");
    let pod = Pod::start(&documents, &there());
    let command = test["spec"]["containers"][0]["command"].as_array().unwrap();
    let words = command.iter().map(|word| word.as_str().unwrap().to_owned());
    let url = format!("https://{}/convert", pod.address());
    let words: Vec<String> = words.map(|word| if word.starts_with("https://") { url.clone() } else { word }).collect();
    let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert!(output.status.success(), "{answer} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(answer["response"]["result"]["status"], "Success", "{answer}");
}

/// Each rule prevents a known failure: see docs/install.md, docs/running.md and docs/rotate.md.
#[test]
fn any_values_meet_pod_standards() {
    let Some(helm) = Helm::find() else { return };
    for values in values_files() {
        let documents = helm.template("pointsman", &["--values", &values]).unwrap();
        let template = &server(&documents)["spec"]["template"];
        let pod = &template["spec"];
        let container = &pod["containers"][0];
        assert_eq!(pod["automountServiceAccountToken"], false, "{values}");
        assert_eq!(pod["enableServiceLinks"], false, "{values}: they make variables such as POINTSMAN_PORT");
        assert!(container["lifecycle"].is_null(), "{values}: `serve` waits by itself");
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{values}");
        let flag = |name: &str| {
            let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
            args.filter_map(|arg| arg.strip_prefix(name)?.strip_prefix('=')).next_back().expect(name).to_owned()
        };
        let seconds = |name: &str| flag(name).trim_end_matches('s').parse::<u64>().unwrap();
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace >= seconds("--lame-duck") + seconds("--shutdown-grace") + 5, "{values}");
        let probe = &container["readinessProbe"];
        let seen = probe["periodSeconds"].as_u64().unwrap() * probe["failureThreshold"].as_u64().unwrap();
        assert!(seen < seconds("--lame-duck"), "{values}: seen to be not ready too late");
        // A Service leads to the port of this name, and the program listens there.
        for (port, flag_of) in [("webhooks", "--listen"), ("admin", "--admin-listen")] {
            let ports = container["ports"].as_array().unwrap();
            let number = &ports.iter().find(|it| it["name"] == port).unwrap()["containerPort"];
            assert!(flag(flag_of).ends_with(&format!(":{number}")), "{values}");
        }
        // The network of the node has no policies, and no Service leads to its loopback address.
        if pod["hostNetwork"] == true {
            assert!(find(&documents, "NetworkPolicy").is_empty(), "{values}");
            assert!(flag("--listen").starts_with("127.0.0.1:"), "{values}");
            continue;
        }
        let policy = &find(&documents, "NetworkPolicy").remove(0)["spec"];
        assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]), "{values}");
        assert_eq!(policy["egress"], json!([]), "{values}: it calls nobody");
        let service = find(&documents, "Service").into_iter().find(|it| it["spec"]["clusterIP"].is_null()).unwrap();
        assert_eq!(service["spec"]["ports"][0]["targetPort"], "webhooks", "{values}");
        let labels = template["metadata"]["labels"].as_object().unwrap();
        for (name, value) in service["spec"]["selector"].as_object().unwrap() {
            assert_eq!(labels.get(name), Some(value), "{values}");
        }
    }
}

/// The chart contains no registrations, and no rights in the cluster. The guard of a CRD is a policy: it calls no
/// server. The optional migration Job has its own rights.
#[test]
fn chart_has_no_registrations_or_rights() {
    let Some(helm) = Helm::find() else { return };
    for values in values_files() {
        let documents = helm.template("pointsman", &["--values", &values]).unwrap();
        for document in documents {
            let migrates = document["metadata"]["labels"]["app.kubernetes.io/component"] == "migrate";
            assert!(!migrates || values.contains("migrate") || values.contains("everything"), "{values}");
            if migrates || document["metadata"]["name"].as_str().unwrap().contains("-crd-guard.") {
                continue;
            }
            let kind = document["kind"].as_str().unwrap();
            let foreign = ["Role", "Webhook", "CustomResource", "Admission", "Job"];
            assert!(!foreign.iter().any(|part| kind.contains(part)), "{values}: {kind}");
        }
    }
}

/// The Service and the network policy exclude the Job, and its flags are flags of the program.
#[test]
fn migration_job_serves_nothing() {
    let Some(helm) = Helm::find() else { return };
    for name in ["migrate", "everything"] {
        let values = format!("manifests/chart/ci/{name}-values.yaml");
        let documents = helm.template("pointsman", &["--values", &values]).unwrap();
        let job = find(&documents, "Job").remove(0);
        let labels = job["spec"]["template"]["metadata"]["labels"].as_object().unwrap();
        let chosen = |selector: &Value| {
            selector.as_object().unwrap().iter().all(|(name, value)| labels.get(name) == Some(value))
        };
        let service = find(&documents, "Service").into_iter().find(|it| it["spec"]["clusterIP"].is_null()).unwrap();
        assert!(!chosen(&service["spec"]["selector"]), "{name}");
        assert!(!chosen(&find(&documents, "NetworkPolicy")[0]["spec"]["podSelector"]["matchLabels"]), "{name}");
        assert_eq!(job["metadata"]["annotations"]["helm.sh/hook"].is_null(), name == "migrate", "{name}");
        for container in job["spec"]["template"]["spec"]["containers"].as_array().unwrap() {
            let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
            // With `--help`, the command calls no cluster; an unknown flag fails earlier.
            let args: Vec<&str> = args.filter(|arg| !arg.starts_with("--kinds=")).collect();
            let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
                .args(&args)
                .args(["--kubeconfig=/nowhere/at/all"])
                .env_clear()
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains("/nowhere/at/all"), "{args:?}: {said}");
        }
    }
}

/// With `POINTSMAN_BLESS=1`, the test writes the file of the chart.
#[test]
fn chart_guard_equals_printed_guard() {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(["crd", "--kind", "materialize", "--service", "n/s", "--guard"])
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let is_guard =
        |document: &&str| document.contains("kind: ValidatingAdmissionPolicy\n") && document.contains("-crd-guard.");
    let policy = printed.split("---\n").find(is_guard).unwrap();
    let spec = policy.split_once("\nspec:\n").unwrap().1.replace("[\"materializes.materialize.cloud\"]", "CRDS");
    let text = format!("  # As `pointsman crd --guard` prints it: a test compares.\n{spec}");
    agrees(&format!("{CHART}/files/crd-guard.yaml"), &text);
    let Some(helm) = Helm::find() else { return };
    let set = "crdGuard.enabled=true,crdGuard.crds={materializes.materialize.cloud}";
    let documents = helm.template("pointsman", &["--values", PLAIN, "--set", set]).unwrap();
    let rendered = find(&documents, "ValidatingAdmissionPolicy").remove(0);
    let printed = helm::documents(&printed);
    let printed = find(&printed, "ValidatingAdmissionPolicy");
    let printed = printed.iter().find(|it| it["metadata"]["name"].as_str().unwrap().contains("-crd-guard.")).unwrap();
    assert_eq!(rendered["spec"], printed["spec"]);
    let binding = find(&documents, "ValidatingAdmissionPolicyBinding").remove(0);
    assert_eq!(binding["spec"]["policyName"], rendered["metadata"]["name"]);
}

/// Two releases in a namespace share no name, so that helm keeps their objects apart.
#[test]
fn parallel_releases_share_nothing() {
    let Some(helm) = Helm::find() else { return };
    let everything = ["--values", "manifests/chart/ci/everything-values.yaml", "--set", "fullnameOverride="];
    let named = |release: &str| {
        let documents = helm.template(release, &everything).unwrap();
        let of = |it: &Value| (it["kind"].as_str().unwrap().to_owned(), it["metadata"]["name"].clone());
        documents.iter().map(of).filter(|(kind, _)| kind != "ServiceAccount").collect::<Vec<_>>()
    };
    let [one, other] = ["pointsman-2-16-0", "pointsman-2-17-0"].map(named);
    assert!(one.len() > 8, "{one:?}");
    assert!(!one.iter().any(|name| other.contains(name)), "{one:?} {other:?}");
}

/// The pointsman commands in the notes of the chart. helm renders notes only with a cluster, so a copy of the chart has
/// the notes in a ConfigMap.
#[test]
fn chart_notes_commands_parse() {
    let Some(helm) = Helm::find() else { return };
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("ca.crt"), pair().2).unwrap();
    let copied = Command::new("cp").arg("-R").arg(root().join(CHART)).arg(dir.path()).status().unwrap();
    assert!(copied.success());
    let chart = dir.path().join("chart");
    fs::rename(chart.join("templates/NOTES.txt"), chart.join("files/notes")).unwrap();
    fs::write(chart.join("templates/notes.yaml"), NOTES).unwrap();
    let kinds = root().join("examples/kinds/cronjobs").display().to_string();
    for (values, more) in values_files()
        .iter()
        .flat_map(|values| ["replicaCount=2", "controllerVersion=2.16.0"].map(|more| (values, more)))
    {
        let flags = ["--show-only", "templates/notes.yaml", "--values", values, "--set", more];
        let document = helm.render(chart.to_str().unwrap(), "pointsman", &flags).unwrap().remove(0);
        let notes = document["data"]["notes"].as_str().unwrap();
        let commands = commands(notes);
        assert!(commands.first().is_some_and(|first| first.starts_with("pointsman crd ")), "{values}: {notes}");
        for command in commands {
            let meant =
                [("KIND", "materialize"), ("VERSION", "v1alpha1"), ("DEFAULT", "2.16.0"), ("DIR", &kinds), ("'", "")];
            let meant = meant.iter().fold(command, |command, (word, meant)| command.replace(word, meant));
            assert_prints(dir.path(), &meant);
        }
    }
}

const NOTES: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {notes: {{ tpl (.Files.Get \"files/notes\") . | toJson }}}
";

/// Documented helm commands that need no cluster: pointsman runs, and helm renders instead of an installation.
#[test]
fn documented_helm_commands_parse() {
    let Some(helm) = Helm::find() else { return };
    let dir = TempDir::new().unwrap();
    let mut seen = [0, 0];
    for page in ["README.md", "docs/admission.md", "docs/install.md", "docs/running.md", "docs/uninstall.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap().replace("\\\n", " ");
        for line in text.lines().map(|line| line.trim().replace(['\'', '"'], "")) {
            let command = line.split([';', '|', '>']).next().unwrap();
            if command.starts_with("pointsman crd ") || command.starts_with("pointsman webhooks --") {
                assert_prints(dir.path(), command);
                seen[0] += 1;
            } else if let Some(rest) = command.strip_prefix("helm install ").filter(|rest| !rest.contains('$')) {
                let words: Vec<&str> = rest.split_whitespace().filter(|word| *word != "--create-namespace").collect();
                let output = helm.run(&[&["template"], &words[..]].concat());
                assert!(output.status.success(), "{page}: {}", String::from_utf8_lossy(&output.stderr));
                seen[1] += 1;
            }
        }
    }
    assert!(seen[0] > 4 && seen[1] > 3, "{seen:?}");
}

/// Lines that begin with `pointsman`, and their continuations.
fn commands(notes: &str) -> Vec<String> {
    let joined = notes.replace("\\\n", " ");
    let ours = joined.lines().map(str::trim).filter(|line| line.starts_with("pointsman ") && line.contains(" > "));
    ours.map(|line| line.split(" > ").next().unwrap().to_owned()).collect()
}

fn assert_prints(dir: &Path, command: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(command.split_whitespace().skip(1))
        .current_dir(dir)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.starts_with(b"apiVersion"), "{command}");
}
