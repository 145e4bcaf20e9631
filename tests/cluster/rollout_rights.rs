//! What a rollout may do: the role that is printed for it is enough, and without any right of it the rollout does not
//! come to its end, nothing is lost, and it says which one is missing. Given that, it goes on.

use std::path::PathBuf;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::rollout_workflows::ended;
use crate::rollout_kinds::goes;
use crate::scenario::Scenario;
use crate::stages::{FINISHED, NAMES, NEEDS_COMPLETE, commands};
use crate::support::apiserver::ApiServer;
use crate::support::garden::Landscape;
use crate::support::process::{SOON, eventually};
use crate::support::rights::{Right, Story, rights_of};
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, MATTERMOST, SHOOT, Sample};
use crate::support::scene::{CRDS, MERGE, Scene};
use crate::support::side_by_side::{A, B};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("workflow_rights_are_exact", workflow)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("undo_rights_are_exact", goes_back)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("guarded_owners_need_printed_rights", guarded)
        .of(&MATTERMOSTS)
        .needs("kube-controller-manager")
        .alone(),
    Scenario::new("rollout_rights_are_exact", labels).of(&ENGINES).newest(),
    Scenario::new("unreadable_objects_are_not_released", read_alone).of(&ENGINES).newest(),
    Scenario::new("handover_rights_are_exact", handed_over).of(&SHOOTS).newest().handing_over(),
];

static ENGINES: [&Sample; 1] = [&ENGINE];
static MATTERMOSTS: [&Sample; 1] = [&MATTERMOST];
static SHOOTS: [&Sample; 1] = [&SHOOT];

pub(crate) fn phase(scene: &Scene<'_>, name: &str) -> Value {
    scene.call_get(&format!("/apis/pointsman.dev/v1/stagedrollouts/{name}"))["status"]["phase"].clone()
}

/// Has a StagedRollout of a file be in the cluster, with nobody asked.
pub(crate) fn applied(scene: &Scene<'_>, file: &std::path::Path) {
    let rollout: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    scene.post("/apis/pointsman.dev/v1/stagedrollouts", &rollout).ok();
}

/// Ends rollouts for good.
fn forgets(scene: &Scene<'_>, rollouts: &[String]) {
    for name in rollouts {
        let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{name}");
        let over = json!({"status": {"phase": "Complete"}}).to_string();
        scene.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, over)));
        scene.eventually(|| matches!(scene.call(Method::DELETE, &path, None).code, 200 | 404).then_some(()));
    }
}

/// What a StagedRollout of a file freezes is frozen.
fn freezes(scene: &Scene<'_>, file: &std::path::Path) {
    let policies = scene.commanded(&["rollout", "policies", "-f", &file.display().to_string()]);
    for policy in serde_saphyr::from_multiple::<Value>(&policies).unwrap() {
        let plural = if policy["kind"] == "ValidatingAdmissionPolicy" { "policies" } else { "policybindings" };
        let all = format!("/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}");
        scene.post(&all, &policy).ok();
    }
}

fn thaws(scene: &Scene<'_>, name: &str) {
    for plural in ["policybindings", "policies"] {
        let all = format!("/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}");
        scene.call(Method::DELETE, &format!("{all}/pointsman-freeze.{name}"), None).ok();
    }
}

/// A rollout of labels that asks for whatever such a rollout can ask: lists before it begins and on the way, something
/// that a version needs, what it freezes, and others that say what runs.
fn labels(scene: &Scene<'_>) {
    let file = scene.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    let place = format!(
        "  prerequisites: {{resource: configmaps, namespace: {}, name: \"{{id}}\", state: data.state}}\n",
        scene.ns
    );
    let others = "observe: [{from: {list: replicationcontrollers, by: metadata.name}, field: metadata.generateName}]";
    let place = format!("  {others}\n{place}");
    let definition = definition
        .replace("downgradeTo: [2.16.0]}", "downgradeTo: [2.16.0], needs: {applied: [patch]}}")
        .replace("  rules:\n  - immutable", &format!("{place}  rules:\n  - immutable"))
        .replace("settle: 0s", "settle: 5s");
    std::fs::write(&file, definition + CHECKS).unwrap();
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rollouts();
    let needed = json!({"metadata": {"name": "patch"}, "data": {"state": "applied"}});
    scene.post(&format!("/api/v1/namespaces/{}/configmaps", scene.ns), &needed).ok();
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    let spec = |name: &str| {
        json!({
            "name": name, "selector": {"labels": format!("one={name}")}, "timeout": "60s",
            "freeze": [{"resources": ["podtemplates"], "namespaces": ["nowhere"]}],
        })
    };
    let role = scene.role(&scene.rollout_file(&spec("any")), &[]).remove(0);
    let begins = |name: &str| {
        let new = scene.sample.new;
        let mut engine = scene.labelled(new, name, Some(A));
        engine["metadata"]["labels"]["one"] = json!(name);
        scene.create(new, &engine).ok();
        scene.report(name, true);
        let file = scene.rollout_file(&spec(name));
        freezes(scene, &file);
        applied(scene, &file);
    };
    let story = Story {
        scene,
        name: "label",
        role: &role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &begins,
        has_ended: &|name| phase(scene, name) == "Complete",
        is_whole: &|name| {
            let object = scene.get(scene.sample.new, name).ok();
            assert_eq!(object["spec"], scene.object(scene.sample.new, name)["spec"], "{name}");
        },
    };
    let mut all = rights_of(&role);
    // An object is read by itself where the watch has not told anything for a while: that has a kind of its own.
    all.retain(|right| right.plural != scene.sample.plural || right.verb != "get");
    let rollouts = story.try_each(&all);
    forgets(scene, &rollouts);
    rollouts.iter().for_each(|name| thaws(scene, name));
}

/// Two engines, one after the other: the first one is let go while the other one is still to be moved.
fn read_alone(scene: &Scene<'_>) {
    let file = scene.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, definition.replace("settle: 0s", "settle: 6s")).unwrap();
    scene.install(&scene.printed_crd(&[]));
    scene.knows_rollouts();
    let _controllers = Controllers::start(scene, |_, _| Some(true));
    let file = |name: &str| scene.rollout_file(&json!({"name": name, "waves": [{"name": "all", "maxInFlight": 1}]}));
    let role = scene.role(&file("any"), &[]).remove(0);
    let story = Story {
        scene,
        name: "alone",
        role: &role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| {
            scene.engines(&["a", "b"].map(str::to_owned), Some(A));
            applied(scene, &file(name));
        },
        has_ended: &|name| phase(scene, name) == "Complete",
        is_whole: &|_| assert_eq!(scene.versions(), [(A.to_owned(), 1), (B.to_owned(), 1)].into()),
    };
    let (group, plural) = (scene.group.clone(), scene.sample.plural.to_owned());
    let rollouts = story.try_without(&[Right { group, plural, verb: "get".to_owned() }]);
    forgets(scene, &rollouts);
}

const CHECKS: &str = "checks:
  start:
  - crd
  - paths
  - needs
  - {name: accounts, list: serviceaccounts, every: {field: metadata.name, present: true}}
  during:
  - {name: disks, list: persistentvolumes, every: {field: metadata.name, present: true}}
";

/// Workflows with every step that writes in the cluster: one to the end, and one that goes back from where it waits.
const WORKFLOWS: &str = r#"workflows:
  whole:
  - name: trigger
    set: {fields: {spec.migrate: true}}
  - name: deployment
    recreate:
      resource: deployments.apps
      name: "{name}"
      selector: {app: mattermost, installation.mattermost.com/installation: "{name}"}
  - name: rolled-out
    wait: {on: "deployments.apps/{name}", rolledOut: true}
  - name: convert
    convert: {}
  - name: adopt
    adopt: {resources: [deployments.apps, services, persistentvolumeclaims]}
  - name: old-pods
    delete: {resource: replicasets.apps, labels: "v1alpha1.mattermost.com/installation={name}", madeAgain: true}
  - name: work
    job: {template: NAMESPACE/work}
    irreversible: it is done
  - name: old-object
    delete: {on: source}
    irreversible: it is gone
  back:
  - name: trigger
    set: {fields: {spec.migrate: true}}
  - name: deployment
    recreate:
      resource: deployments.apps
      name: "{name}"
      selector: {app: mattermost, installation.mattermost.com/installation: "{name}"}
  - name: convert
    convert: {}
  - name: adopt
    adopt: {resources: [deployments.apps, services, persistentvolumeclaims]}
  - name: never
    wait: {on: target, until: {field: status.state, is: never}}
"#;

/// Both kinds are known, with workflows of this test.
pub(crate) fn town(scene: &Scene<'_>, workflows: &str) {
    let file = scene.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    let (head, rest) = definition.split_once("workflows:\n").unwrap();
    // What renames the kind is behind the workflows.
    let name = rest.lines().find(|line| line.starts_with("name: ")).unwrap();
    std::fs::write(&file, format!("{head}{name}\n{}", workflows.replace("NAMESPACE", &scene.ns))).unwrap();
    scene.install(&scene.crd);
    let source = std::fs::read_to_string(scene.setup.kinds.join("clusterinstallations.crd.yaml")).unwrap();
    scene.post(CRDS, &serde_saphyr::from_str(&source).unwrap()).ok();
    let all = scene.installations();
    scene.eventually(|| scene.call(Method::GET, &all, None).is_ok().then_some(()));
    scene.knows_rollouts();
    scene.bed.start_workloads();
    let secret = json!({"metadata": {"name": "database"}, "stringData": {"DB_CONNECTION_STRING": "mysql://"}});
    scene.post(&format!("/api/v1/namespaces/{}/secrets", scene.ns), &secret).ok();
    let pods = json!({"restartPolicy": "Never", "containers": [{"name": "work", "image": "work"}]});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pods}}});
    let map = json!({"metadata": {"name": "work"}, "data": {"job": job.to_string()}});
    scene.post(&format!("/api/v1/namespaces/{}/configmaps", scene.ns), &map).ok();
}

/// An installation without Pods, and whether it is refused by its own fields.
pub(crate) fn installs(scene: &Scene<'_>, name: &str, more: &Value) {
    let mut spec = json!({"replicas": 0, "database": {"secret": "database"}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    scene.installs(name, &spec);
}

fn is_there(scene: &Scene<'_>, path: &str) -> bool {
    scene.call(Method::GET, path, None).is_ok()
}

/// Whatever is missing, there is the object or what it has become, and the Deployment or what is saved of it.
pub(crate) fn is_whole(scene: &Scene<'_>, name: &str) {
    let old = is_there(scene, &format!("{}/{name}", scene.installations()));
    assert!(old || scene.get("v1beta1", name).is_ok(), "{name} is there");
    let saved = scene.items(&format!("/apis/apps/v1/namespaces/{}/controllerrevisions", scene.ns));
    let is_saved = saved
        .iter()
        .any(|one| one["metadata"]["annotations"]["pointsman.dev/saved"] == format!("deployments.apps {name}"));
    assert!(
        is_saved || is_there(scene, &format!("{}/{name}", scene.deployments())),
        "the Deployment of {name} is there"
    );
    assert!(is_there(scene, &format!("/api/v1/namespaces/{}/services/{name}", scene.ns)));
}

/// Writes the file of a StagedRollout over the installation of its name, by a workflow.
fn migrates(scene: &Scene<'_>, name: &str, workflow: &str) -> PathBuf {
    let accept = if workflow == "whole" { json!(["work", "old-object"]) } else { json!([]) };
    let spec = json!({
        "selector": {"labels": format!("one={name}")}, "workflow": workflow, "acceptedRisks": accept, "timeout": "90s",
    });
    scene.migration(name, &spec)
}

/// An installation, and a rollout that moves it all the way.
fn moves(scene: &Scene<'_>, name: &str) {
    installs(scene, name, &json!({}));
    applied(scene, &migrates(scene, name, "whole"));
}

/// Whether that rollout is through, after whoever else has to do something has done it.
fn has_moved(scene: &Scene<'_>, name: &str) -> bool {
    works(scene);
    let is_through = phase(scene, name) == "Complete";
    if is_through {
        assert_eq!(
            scene.get("v1beta1", name).ok()["metadata"]["labels"]["late"],
            "yes",
            "{name} has what was set late"
        );
    }
    is_through
}

pub(crate) fn leaves(scene: &Scene<'_>, rollouts: &[String]) {
    scene.leaves_town(&rollouts.iter().map(String::as_str).collect::<Vec<_>>());
}

fn workflow(scene: &Scene<'_>) {
    town(scene, WORKFLOWS);
    let role = scene.role(&migrates(scene, "any", "whole"), &[]).remove(0);
    let story = Story {
        scene,
        name: "go",
        role: &role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| moves(scene, name),
        has_ended: &|name| has_moved(scene, name),
        is_whole: &|name| is_whole(scene, name),
    };
    // What only the way back takes, and what is told whom it refuses, have stories of their own.
    let (other, all): (Vec<Right>, Vec<Right>) = rights_of(&role).into_iter().partition(|right| {
        let on_target = right.plural == scene.sample.plural && right.verb == "delete";
        on_target || right.plural.ends_with("installations/status")
    });
    let told = other.iter().find(|right| right.verb == "patch").unwrap();
    assert_eq!(other.len(), 2, "{other:?}");
    // What every rollout takes has its own story.
    let is_of_rollouts = |right: &Right| BASE.contains(&right.group.as_str());
    let all: Vec<Right> = all.into_iter().filter(|right| !is_of_rollouts(right)).collect();
    let mut rollouts = story.try_each(&all);
    rollouts.extend(tells(scene, &role, told));
    leaves(scene, &rollouts);
}

/// Groups of what every rollout takes.
const BASE: [&str; 4] = ["apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io", "pointsman.dev"];

/// Whoever is refused by the fields of an installation is told so in its status.
fn tells(scene: &Scene<'_>, role: &Value, right: &Right) -> Vec<String> {
    let story = Story {
        scene,
        name: "tell",
        role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| {
            installs(scene, name, &json!({"blueGreen": {"enable": true}}));
            applied(scene, &migrates(scene, name, "whole"));
        },
        has_ended: &|name| {
            let told = scene.call_get(&format!("{}/{name}", scene.installations()));
            told["status"]["migration"]["error"].is_string()
        },
        is_whole: &|name| is_whole(scene, name),
    };
    story.try_without(std::slice::from_ref(right))
}

/// On the way back from where nothing goes on, what was made is deleted, and what was deleted is made.
fn goes_back(scene: &Scene<'_>) {
    town(scene, WORKFLOWS);
    let role = scene.role(&migrates(scene, "any", "back"), &[]).remove(0);
    let story = Story {
        scene,
        name: "back",
        role: &role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| goes(scene, name, "Undo"),
        has_ended: &|name| phase(scene, name) == "Aborted",
        is_whole: &|name| is_whole(scene, name),
    };
    let group = scene.group.as_str();
    let rights = [
        ("apps", "deployments", "create"),
        ("apps", "deployments", "delete"),
        ("apps", "deployments", "patch"),
        ("apps", "controllerrevisions", "delete"),
        ("apps", "replicasets", "delete"),
        ("", "services", "patch"),
        (group, scene.sample.plural, "delete"),
    ];
    let text = |text: &str| text.to_owned();
    let rights =
        rights.map(|(group, plural, verb)| Right { group: text(group), plural: text(plural), verb: text(verb) });
    let known = rights_of(&role);
    assert!(rights.iter().all(|right| known.contains(right)), "{known:?}");
    let names: Vec<String> =
        std::iter::once(None).chain(rights.iter().map(Some)).map(|right| story.rollout_without(right)).collect();
    go_forth(scene, &names);
    leaves(scene, &story.try_each(&rights));
}

/// Brings an installation each to where nothing goes on.
fn go_forth(scene: &Scene<'_>, names: &[String]) {
    let namespace = format!("--namespace={}", scene.ns);
    let begun = names.iter().map(|name| {
        installs(scene, name, &json!({}));
        applied(scene, &migrates(scene, name, "back"));
        let args = scene.on_the_cluster(&["rollout", "run", name, "--holder=test", &namespace]);
        scene.started(&format!("{name}-forth"), &args)
    });
    let mut begun: Vec<_> = begun.collect();
    for name in names {
        let service = format!("/api/v1/namespaces/{}/services/{name}", scene.ns);
        eventually("all is done that can be", SOON, || {
            let owners = &scene.call_get(&service)["metadata"]["ownerReferences"];
            (owners[0]["kind"] == scene.sample.kind).then_some(())
        });
    }
    for process in &mut begun {
        process.interrupt();
        process.end(Duration::from_secs(10));
    }
}

/// Where owner references are guarded, the printed role has what that takes, and without any of it nothing is handed
/// over.
fn guarded(scene: &Scene<'_>) {
    town(scene, WORKFLOWS);
    let dir = scene.dir.join("guarded");
    let logs = scene.bed.logs.join(format!("{}-guarded", scene.ns));
    [&dir, &logs].iter().for_each(|dir| std::fs::create_dir_all(dir).unwrap());
    let on = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    // Another API server of the same cluster.
    let mut server = ApiServer::start(&scene.bed.assets, &scene.bed.etcd, &dir, &logs, &[on]);
    let [free, role] =
        [&[][..], &["--guarded-owners"]].map(|more| scene.role(&migrates(scene, "any", "whole"), more).remove(0));
    let story = Story {
        scene,
        name: "guard",
        role: &role,
        by: &server.kubeconfig,
        says: |right| {
            let said = match right.verb.as_str() {
                "delete" => format!("{} \"", right.plural),
                _ => "you can't set finalizers on".to_owned(),
            };
            [said, "pointsman rollout rights --guarded-owners prints".to_owned()]
        },
        elsewhere: None,
        begins: &|name| moves(scene, name),
        has_ended: &|name| has_moved(scene, name),
        is_whole: &|name| is_whole(scene, name),
    };
    let free = rights_of(&free);
    let more: Vec<Right> = rights_of(&role).into_iter().filter(|right| !free.contains(right)).collect();
    assert_eq!(more.len(), 4, "{more:?}");
    let rollouts = story.try_each(&more);
    server.stop();
    leaves(scene, &rollouts);
}

/// Jobs end. By then somebody has set a label of each installation that has become another object, and is still there.
fn works(scene: &Scene<'_>) {
    let jobs = format!("/apis/batch/v1/namespaces/{}/jobs", scene.ns);
    let all = scene.items(&jobs);
    for one in scene.items(&scene.installations()) {
        let name = one["metadata"]["name"].as_str().unwrap();
        if one["metadata"]["labels"]["late"].is_null() && scene.get("v1beta1", name).is_ok() {
            let label = json!({"metadata": {"labels": {"late": "yes"}}}).to_string();
            scene.call(Method::PATCH, &format!("{}/{name}", scene.installations()), Some((MERGE, label)));
        }
    }
    for job in all {
        if job["status"]["conditions"].is_null() {
            let path = format!("{jobs}/{}/status", job["metadata"]["name"].as_str().unwrap());
            let status = json!({"status": ended(["SuccessCriteriaMet", "Complete"])}).to_string();
            scene.call(Method::PATCH, &path, Some((MERGE, status))).ok();
        }
    }
}

/// What is asked for by names that are the same for all may be allowed by these names alone.
fn by_name(at_home: Story<'_>, in_shoots: Story<'_>) -> Vec<String> {
    let [named, elsewhere] = [at_home.role, in_shoots.role].map(narrowed);
    assert_ne!((&named, &elsewhere), (at_home.role, in_shoots.role));
    let mut rollouts = Story { name: "named", role: &named, ..at_home }.try_each(&[]);
    rollouts.extend(Story { name: "named-away", role: &elsewhere, ..in_shoots }.try_each(&[]));
    rollouts
}

/// A role whose rules are about some objects alone, where their names are known.
fn narrowed(role: &Value) -> Value {
    let mut role = role.clone();
    for rule in role["rules"].as_array_mut().unwrap() {
        let names = match rule["resources"][0].as_str().unwrap() {
            "deployments" => json!(NAMES),
            "secrets" => json!(["gardener"]),
            "storageclasses" => json!(["default", "gp2"]),
            _ => continue,
        };
        rule["resourceNames"] = names;
    }
    role
}

/// What a hand-over does beside what every rollout does: in its own cluster, and by the second role in the shoots.
fn handed_over(scene: &Scene<'_>) {
    let garden = Landscape::begins(scene, &scene.bed.api.kubeconfig);
    garden.node("new", "v1.18.20");
    let spec = |name: &str| json!({"selector": {"labels": format!("one={name}")}});
    let roles = scene.role(&garden.rollout_file("any", &spec("any")), &[]);
    let [role, elsewhere] = roles.as_slice() else { panic!("{roles:#?}") };
    let plants = |name: &str, user: Option<&str>| {
        garden.class("default", "kubernetes.io/aws-ebs");
        let short = name.strip_prefix(&format!("{}-", scene.ns)).unwrap();
        let full = garden.plants(short, &json!({}));
        assert_eq!(full, name);
        let label = json!({"metadata": {"labels": {"one": name}}}).to_string();
        scene.call(Method::PATCH, &format!("{}/{name}", garden.clusters()), Some((MERGE, label))).ok();
        if let Some(user) = user {
            let as_user = format!("{{token: secret-token, as: {user}}}");
            garden.knows_way(name, &garden.kubeconfig().replace("{token: secret-token}", &as_user));
        }
        applied(scene, &garden.rollout_file(name, &spec(name)));
    };
    let is_handed_over = |name: &str| garden.says(name, FINISHED);
    let nothing_is_finished = |name: &str| {
        let commands = commands(&garden.deployment(name, NAMES[0])).to_string();
        let is_mutated = commands.contains("CSIMigrationAWSComplete");
        assert!(!is_mutated || garden.says(name, NEEDS_COMPLETE), "{name}");
        assert!(!garden.says(name, FINISHED), "{name}");
    };
    let at_home = Story {
        scene,
        name: "home",
        role,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| plants(name, None),
        has_ended: &is_handed_over,
        is_whole: &nothing_is_finished,
    };
    // What every rollout takes has its own story.
    let of_steps = ["secrets", "controlplanes", "deployments"];
    let rights: Vec<Right> =
        rights_of(role).into_iter().filter(|right| of_steps.contains(&right.plural.as_str())).collect();
    assert_eq!(rights.len(), 4, "{rights:?}");
    let mut rollouts = at_home.try_each(&rights);
    let in_shoots = Story {
        scene,
        name: "away",
        role: elsewhere,
        by: &scene.bed.api.kubeconfig,
        says: Right::said,
        elsewhere: Some(&garden.shoot.client),
        begins: &|name| plants(name, Some(name)),
        has_ended: &is_handed_over,
        is_whole: &|name| {
            nothing_is_finished(name);
            assert_eq!(garden.classes(), ["default"], "{name}");
        },
    };
    // One after the other: there is one class.
    for right in rights_of(elsewhere) {
        rollouts.extend(in_shoots.try_without(&[right]));
    }
    rollouts.extend(by_name(at_home, in_shoots));
    garden.ends(&rollouts.iter().map(String::as_str).collect::<Vec<_>>());
}
