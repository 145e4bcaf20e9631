//! Running versions, and the versions that may follow.

use pointsman_core::definition::{BadDefinition, Kind};
use pointsman_rollout::{RunningVersions, VersionState, rollout_target};
use serde_json::{Value, json};

use crate::kinds::define;

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.example.com}
spec:
  group: example.com
  names: {kind: Host, plural: hosts}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties: {image: {type: string}, kubelet: {type: string}, nodes: {type: integer}}
";

const PLACES: &str = "[{field: status.image, as: imageTag, optional: true}, {field: status.kubelet}]";

const VERSIONS: &str = "{versions: [{version: v1.16.3}, {version: v1.16.4, upgradeFrom: [v1.16.3], downgradeTo: [v1.16.3]}, \
                        {version: v1.17.1, upgradeFrom: [v1.16.4]}, {version: v1.18.1, upgradeFrom: [v1.17.1]}]}";

/// A kind of hosts: some have a control plane, all have a kubelet.
fn hosts(observe: &str, path: &str) -> Result<Kind, BadDefinition> {
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: hosts.crd.yaml\nadmission:\n  versionPath: all\n  paths: {{all: \
         {path}}}\n  observe: {observe}\n"
    );
    Kind::from_crd(&definition, CRD)
}

/// A host with these versions of its optional control plane and its kubelet.
fn host(name: &str, image: Option<&str>, kubelet: &str) -> Value {
    let image = image.map(|version| format!("registry:5000/api:{version}@sha256:00"));
    json!({"metadata": {"name": name}, "status": {"image": image, "kubelet": kubelet}})
}

fn seen<'k>(kind: &'k Kind, objects: &[Value]) -> RunningVersions<'k> {
    let mut running = RunningVersions::new(kind);
    objects.iter().for_each(|object| running.see(object));
    running
}

/// One row per version: the version, whether it is the target, and its state.
fn told(running: &RunningVersions<'_>, targets: &[&str]) -> Vec<String> {
    let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
    let line = |one: pointsman_rollout::VersionStatus| {
        format!("{} {} {}", one.version, if one.target { "True" } else { "False" }, one.state.word())
    };
    running.statuses(&targets).into_iter().map(line).collect()
}

#[test]
fn version_is_active_everywhere() {
    let kind = hosts(PLACES, VERSIONS).unwrap();
    let (old, new) = ("v1.16.4", "v1.17.1");
    let fleet = |masters: [&str; 2], kubelets: [&str; 4]| {
        let names = ["controller-0", "controller-1", "compute-0", "compute-1"];
        let images = [Some(masters[0]), Some(masters[1]), None, None];
        let hosts = names.iter().zip(images).zip(kubelets);
        hosts.map(|((name, image), kubelet)| host(name, image, kubelet)).collect::<Vec<_>>()
    };
    let before = seen(&kind, &fleet([old; 2], [old; 4]));
    let rows =
        ["v1.16.3 False available", "v1.16.4 True active", "v1.17.1 False available", "v1.18.1 False unavailable"];
    assert_eq!(told(&before, &[]), rows);
    // The rollout is running, and nothing has moved yet.
    let rows =
        ["v1.16.3 False available", "v1.16.4 False active", "v1.17.1 True available", "v1.18.1 False unavailable"];
    assert_eq!(told(&before, &[new]), rows);
    // One host's control plane is updated and its kubelet is not: the host runs both versions.
    for between in [fleet([new, old], [old; 4]), fleet([new; 2], [new, new, new, old]), fleet([new; 2], [old; 4])] {
        let rows =
            ["v1.16.3 False unavailable", "v1.16.4 False partial", "v1.17.1 True partial", "v1.18.1 False unavailable"];
        assert_eq!(told(&seen(&kind, &between), &[new]), rows, "nothing is available");
    }
    let after = seen(&kind, &fleet([new; 2], [new; 4]));
    let rows =
        ["v1.16.3 False unavailable", "v1.16.4 False unavailable", "v1.17.1 True active", "v1.18.1 False available"];
    assert_eq!(told(&after, &[]), rows);
    let object_states = after.statuses(&[]);
    assert_eq!((object_states[2].objects, object_states[2].state, after.objects()), (4, VersionState::Active, 4));
    assert_eq!(
        (&object_states[1].upgrade_from[..], &object_states[1].downgrade_to[..]),
        (&["v1.16.3".into()][..], &["v1.16.3".into()][..])
    );
}

/// An object with unknown versions may run another version.
#[test]
fn unknown_object_blocks_active() {
    let kind = hosts(PLACES, VERSIONS).unwrap();
    let fine = host("a", Some("v1.16.4"), "v1.16.4");
    for (other, why) in [
        (json!({"metadata": {"name": "b"}}), "status.kubelet is not set"),
        (host("b", Some("latest"), "v1.16.4"), "but its tag is not a version"),
        (host("b", None, "soon"), "status.kubelet is \"soon\", which is no version"),
    ] {
        let running = seen(&kind, &[fine.clone(), other]);
        assert_eq!((running.unread(), running.objects()), (1, 2));
        assert_eq!(running.shown()[0].object, "b");
        assert!(running.shown()[0].why.contains(why), "{:?}", running.shown());
        let rows = [
            "v1.16.3 False unavailable",
            "v1.16.4 False partial",
            "v1.17.1 False unavailable",
            "v1.18.1 False unavailable",
        ];
        assert_eq!(told(&running, &[]), rows);
    }
    let nobody = seen(&kind, &[]);
    assert!(nobody.statuses(&[]).iter().all(|one| !one.target && one.state == VersionState::Unavailable));
    let all_optional = hosts("[{field: status.kubelet, optional: true}]", VERSIONS).unwrap();
    assert_eq!(seen(&all_optional, &[json!({"metadata": {}})]).shown()[0].why, "none of its fields contains a version");
}

/// Unknown values of another part, or of the same part at another location, do not change this.
#[test]
fn known_part_counts_as_running() {
    let parts = "[{part: control-plane, field: status.image, as: imageTag, optional: true}, {part: kubelet, field: \
                 status.kubelet}]";
    let fine = host("a", Some("v1.16.4"), "v1.16.4");
    let half = json!({"metadata": {"name": "b"}, "status": {"image": "registry:5000/api:v1.18.1"}});
    for observe in [PLACES, parts] {
        let kind = hosts(observe, VERSIONS).unwrap();
        let running = seen(&kind, &[fine.clone(), half.clone()]);
        let rows = [
            "v1.16.3 False unavailable",
            "v1.16.4 False partial",
            "v1.17.1 False unavailable",
            "v1.18.1 False partial",
        ];
        assert_eq!(told(&running, &[]), rows, "{observe}");
        let objects: Vec<usize> = running.statuses(&[]).iter().map(|one| one.objects).collect();
        assert_eq!((objects, running.unread()), (vec![0, 1, 0, 1], 1), "{observe}");
        assert_eq!(running.shown()[0].why, "status.kubelet is not set");
    }
}

/// Two spellings of one version are equal, as in paths; an unlisted version is reported as read.
#[test]
fn equal_versions_compare_equal() {
    let kind = hosts("[{label: example.com/v}]", "{rules: [{from: \"*\", step: patch, back: patch}]}").unwrap();
    let labelled = |name: &str, version: &str| json!({"metadata": {"name": name, "namespace": "n", "labels": {"example.com/v": version}}});
    let one = seen(&kind, &[labelled("a", "v1.16.4"), labelled("b", "1.16.4")]);
    assert_eq!(told(&one, &[]), ["v1.16.4 True active"]);
    assert!(one.statuses(&[])[0].is_called("1.16.4") && !one.statuses(&[])[0].is_called("1.16.5"));
    // Without a list of versions the rules define the successors: patch versions of a minor version, in both
    // directions.
    for (target, state) in [("1.16.3", "available"), ("1.16.9", "available"), ("1.17.0", "unavailable")] {
        let told = told(&one, &[target]);
        assert!(told.contains(&format!("{target} True {state}")), "{told:?}");
    }
    let two = seen(&kind, &[labelled("a", "1.2.10"), labelled("b", "1.2.9")]);
    assert_eq!(told(&two, &["1.2.10"]), ["1.2.9 False partial", "1.2.10 True partial"]);
}

/// The existing label is the default source, with any text if no path is defined.
#[test]
fn label_is_the_default_source() {
    let kind = define("admission: {managers: {blue: a, green: b}}\n").unwrap();
    let database =
        |version: &str| json!({"metadata": {"name": "b", "labels": {"example.com/controller-version": version}}});
    assert_eq!(told(&seen(&kind, &[database("blue")]), &[]), ["blue True active", "green False available"]);
    assert_eq!(told(&seen(&kind, &[database("blue"), database("red")]), &[]).len(), 3);
    assert_eq!(
        seen(&kind, &[json!({"metadata": {"name": "b"}})]).shown()[0].why,
        "label example.com/controller-version is not set"
    );
}

#[test]
fn rollout_reports_target_version() {
    let rollout = |phase: &str, direction: &str, status: Value| {
        let mut status = status;
        status["phase"] = json!(phase);
        json!({"spec": {"from": "1", "to": "2", "direction": direction}, "status": status})
    };
    for phase in ["Rolling", "Waiting", "Paused"] {
        assert_eq!(rollout_target(&rollout(phase, "Forward", json!({}))).as_deref(), Some("2"), "{phase}");
        assert_eq!(rollout_target(&rollout(phase, "Abort", json!({}))).as_deref(), Some("2"), "{phase}");
        for back in [rollout(phase, "Undo", json!({})), rollout(phase, "Forward", json!({"direction": "Undo"}))] {
            assert_eq!(rollout_target(&back).as_deref(), Some("1"), "{phase}");
        }
    }
    for phase in ["Pending", "Refused", "Complete", "Failed", "Aborted"] {
        assert_eq!(rollout_target(&rollout(phase, "Forward", json!({}))), None, "{phase}");
    }
    assert_eq!(rollout_target(&json!({"spec": {"to": "2"}})), None);
}

#[test]
fn unreadable_version_is_reported() {
    for (observe, said) in [
        ("[]", "definition:5: observe: is empty: remove the key"),
        (
            "[{field: status.kubelt}]",
            "definition:7: status.kubelt: v1 has no \"kubelt\" there, did you mean \"kubelet\"?",
        ),
        ("[{field: status.nodes}]", "observe: status.nodes is of type integer, not string"),
        ("[{label: \"a b\"}]", "observe: \"a b\" is no label key"),
        ("[{label: a/b, field: status.kubelet}]", "observe: a place is either {label: KEY} or {field: FIELD}"),
        ("[{label: a/b, as: imageTag}]", "observe: a place is either {label: KEY} or"),
        ("[{optional: true}]", "observe: a place is either {label: KEY} or"),
        ("[{field: status.kubelet}, {field: status.kubelet, as: version}]", "observe: status.kubelet occurs twice"),
        ("[{feld: status.kubelet}]", "unknown key \"feld\", did you mean \"field\"?"),
        ("[{field: status.image, as: tag}]", "\"tag\""),
        ("[{from: {list: \"Pods!\", by: spec.nodeName}, field: a}]", "observe: from: \"Pods!\" is no resource"),
        ("[{from: {list: pods, namespace: A, by: a}, field: a}]", "from: \"A\" is no name of a namespace"),
        ("[{from: {list: pods, where: \"a in\", by: a}, field: a}]", "observe: from: selector \"a in\""),
        ("[{from: {list: pods, by: a..b}, field: a}]", "observe: from: path \"a..b\": an empty name"),
        ("[{from: {list: pods, by: a}, label: a/b}]", "`from` others needs a `field` of these objects"),
        (
            "[{from: {list: pods, by: a}, field: a}, {from: {list: pods, by: a}, field: a}]",
            "observe: pods, by a: a occurs twice",
        ),
    ] {
        let bad = hosts(observe, VERSIONS).map(|_| ()).expect_err(observe).to_string();
        assert!(bad.contains(said), "{observe}: {bad}");
    }
}
