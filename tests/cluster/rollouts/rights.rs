//! The rights of a rollout: the printed role suffices. Without any one right the rollout stops without data loss, and
//! reports the missing right. Once the right is granted, the rollout continues.

use std::path::PathBuf;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::mutations::facts::{FINISHED, NAMES, NEEDS_COMPLETE, commands};
use crate::rollouts::kinds::goes;
use crate::rollouts::workflows::ended;
use crate::scenario::Scenario;
use crate::support::apiserver::ApiServer;
use crate::support::ctx::{CRDS, MERGE, TestContext};
use crate::support::garden::Landscape;
use crate::support::process::{SOON, eventually};
use crate::support::rights::{Right, Story, rights_of};
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, MATTERMOST, SHOOT, Sample};
use crate::support::side_by_side::{A, B};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("workflow_rights_are_exact", workflow).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
    Scenario::new("undo_rights_are_exact", is_undo).of(&MATTERMOSTS).needs("kube-controller-manager").alone(),
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

pub(crate) fn phase(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.call_get(&format!("/apis/pointsman.dev/v1/stagedrollouts/{name}"))["status"]["phase"].clone()
}

/// Creates the StagedRollout of a file, bypassing the command.
pub(crate) fn applied(ctx: &TestContext<'_>, file: &std::path::Path) {
    let rollout: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    ctx.post("/apis/pointsman.dev/v1/stagedrollouts", &rollout).ok();
}

/// Completes and deletes rollouts.
fn forgets(ctx: &TestContext<'_>, rollouts: &[String]) {
    for name in rollouts {
        let path = format!("/apis/pointsman.dev/v1/stagedrollouts/{name}");
        let over = json!({"status": {"phase": "Complete"}}).to_string();
        ctx.call(Method::PATCH, &format!("{path}/status"), Some((MERGE, over)));
        ctx.eventually(|| matches!(ctx.call(Method::DELETE, &path, None).code, 200 | 404).then_some(()));
    }
}

/// Installs the freezes of the StagedRollout of a file.
fn freezes(ctx: &TestContext<'_>, file: &std::path::Path) {
    let policies = ctx.commanded(&["rollout", "policies", "-f", &file.display().to_string()]);
    for policy in serde_saphyr::from_multiple::<Value>(&policies).unwrap() {
        let plural = if policy["kind"] == "ValidatingAdmissionPolicy" { "policies" } else { "policybindings" };
        let all = format!("/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}");
        ctx.post(&all, &policy).ok();
    }
}

fn thaws(ctx: &TestContext<'_>, name: &str) {
    for plural in ["policybindings", "policies"] {
        let all = format!("/apis/admissionregistration.k8s.io/v1/validatingadmission{plural}");
        ctx.call(Method::DELETE, &format!("{all}/pointsman-freeze.{name}"), None).ok();
    }
}

/// A rollout of labels with every type of lookup: checks before the start and during the rollout, a prerequisite of a
/// version, freezes, and other objects that report running versions.
fn labels(ctx: &TestContext<'_>) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    let place = format!(
        "  prerequisites: {{resource: configmaps, namespace: {}, name: \"{{id}}\", state: data.state}}\n",
        ctx.ns
    );
    let others = "observe: [{from: {list: replicationcontrollers, by: metadata.name}, field: metadata.generateName}]";
    let place = format!("  {others}\n{place}");
    let definition = definition
        .replace("downgradeTo: [2.16.0]}", "downgradeTo: [2.16.0], needs: {applied: [patch]}}")
        .replace("  rules:\n  - immutable", &format!("{place}  rules:\n  - immutable"))
        .replace("settle: 0s", "settle: 5s");
    std::fs::write(&file, definition + CHECKS).unwrap();
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let needed = json!({"metadata": {"name": "patch"}, "data": {"state": "applied"}});
    ctx.post(&format!("/api/v1/namespaces/{}/configmaps", ctx.ns), &needed).ok();
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let spec = |name: &str| {
        json!({
            "name": name, "selector": {"labels": format!("one={name}")}, "timeout": "60s",
            "freeze": [{"resources": ["podtemplates"], "namespaces": ["nowhere"]}],
        })
    };
    let role = ctx.role(&ctx.rollout_file(&spec("any")), &[]).remove(0);
    let begins = |name: &str| {
        let new = ctx.sample.new;
        let mut engine = ctx.labelled(new, name, Some(A));
        engine["metadata"]["labels"]["one"] = json!(name);
        ctx.create(new, &engine).ok();
        ctx.report(name, true);
        let file = ctx.rollout_file(&spec(name));
        freezes(ctx, &file);
        applied(ctx, &file);
    };
    let story = Story {
        ctx,
        name: "label",
        role: &role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &begins,
        has_ended: &|name| phase(ctx, name) == "Complete",
        is_whole: &|name| {
            let object = ctx.get(ctx.sample.new, name).ok();
            assert_eq!(object["spec"], ctx.object(ctx.sample.new, name)["spec"], "{name}");
        },
    };
    let mut all = rights_of(&role);
    // The runner reads a single object only if the watch has been silent for a while: `read_alone` covers that.
    all.retain(|right| right.plural != ctx.sample.plural || right.verb != "get");
    let rollouts = story.try_each(&all);
    forgets(ctx, &rollouts);
    rollouts.iter().for_each(|name| thaws(ctx, name));
}

/// Two engines, one after the other: the first is released while the second is pending.
fn read_alone(ctx: &TestContext<'_>) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, definition.replace("settle: 0s", "settle: 6s")).unwrap();
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let file = |name: &str| ctx.rollout_file(&json!({"name": name, "waves": [{"name": "all", "maxInFlight": 1}]}));
    let role = ctx.role(&file("any"), &[]).remove(0);
    let story = Story {
        ctx,
        name: "alone",
        role: &role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| {
            ctx.engines(&["a", "b"].map(str::to_owned), Some(A));
            applied(ctx, &file(name));
        },
        has_ended: &|name| phase(ctx, name) == "Complete",
        is_whole: &|_| assert_eq!(ctx.versions(), [(A.to_owned(), 1), (B.to_owned(), 1)].into()),
    };
    let (group, plural) = (ctx.group.clone(), ctx.sample.plural.to_owned());
    let rollouts = story.try_without(&[Right { group, plural, verb: "get".to_owned() }]);
    forgets(ctx, &rollouts);
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

/// Workflows with every step that writes in the cluster: one runs to the end, and one is undone from its waiting step.
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

/// Installs both kinds, with the workflows of this test.
pub(crate) fn fake_operators(ctx: &TestContext<'_>, workflows: &str) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = std::fs::read_to_string(&file).unwrap();
    let (head, rest) = definition.split_once("workflows:\n").unwrap();
    // The field that renames the kind follows the workflows.
    let name = rest.lines().find(|line| line.starts_with("name: ")).unwrap();
    std::fs::write(&file, format!("{head}{name}\n{}", workflows.replace("NAMESPACE", &ctx.ns))).unwrap();
    ctx.install(&ctx.crd);
    let source = std::fs::read_to_string(ctx.setup.kinds.join("clusterinstallations.crd.yaml")).unwrap();
    ctx.post(CRDS, &serde_saphyr::from_str(&source).unwrap()).ok();
    let all = ctx.installations();
    ctx.eventually(|| ctx.call(Method::GET, &all, None).is_ok().then_some(()));
    ctx.knows_rollouts();
    ctx.test_cluster.start_workloads();
    let secret = json!({"metadata": {"name": "database"}, "stringData": {"DB_CONNECTION_STRING": "mysql://"}});
    ctx.post(&format!("/api/v1/namespaces/{}/secrets", ctx.ns), &secret).ok();
    let pods = json!({"restartPolicy": "Never", "containers": [{"name": "work", "image": "work"}]});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pods}}});
    let map = json!({"metadata": {"name": "work"}, "data": {"job": job.to_string()}});
    ctx.post(&format!("/api/v1/namespaces/{}/configmaps", ctx.ns), &map).ok();
}

/// An installation without Pods; its own fields may cause a refusal.
pub(crate) fn installs(ctx: &TestContext<'_>, name: &str, more: &Value) {
    let mut spec = json!({"replicas": 0, "database": {"secret": "database"}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ctx.installs(name, &spec);
}

fn is_there(ctx: &TestContext<'_>, path: &str) -> bool {
    ctx.call(Method::GET, path, None).is_ok()
}

/// Without any right, the object or its replacement exists, and the Deployment or its saved copy exists.
pub(crate) fn is_whole(ctx: &TestContext<'_>, name: &str) {
    let old = is_there(ctx, &format!("{}/{name}", ctx.installations()));
    assert!(old || ctx.get("v1beta1", name).is_ok(), "{name} is there");
    let saved = ctx.items(&format!("/apis/apps/v1/namespaces/{}/controllerrevisions", ctx.ns));
    let is_saved = saved
        .iter()
        .any(|one| one["metadata"]["annotations"]["pointsman.dev/saved"] == format!("deployments.apps {name}"));
    assert!(is_saved || is_there(ctx, &format!("{}/{name}", ctx.deployments())), "the Deployment of {name} is there");
    assert!(is_there(ctx, &format!("/api/v1/namespaces/{}/services/{name}", ctx.ns)));
}

/// Writes the file of a StagedRollout over the installation of the same name, with a workflow.
fn migrates(ctx: &TestContext<'_>, name: &str, workflow: &str) -> PathBuf {
    let accept = if workflow == "whole" { json!(["work", "old-object"]) } else { json!([]) };
    let spec = json!({
        "selector": {"labels": format!("one={name}")}, "workflow": workflow, "acceptedRisks": accept, "timeout": "90s",
    });
    ctx.migration(name, &spec)
}

/// An installation, and a rollout that moves it to the end.
fn moves(ctx: &TestContext<'_>, name: &str) {
    installs(ctx, name, &json!({}));
    applied(ctx, &migrates(ctx, name, "whole"));
}

/// True if that rollout is complete, after the work of all other clients.
fn has_moved(ctx: &TestContext<'_>, name: &str) -> bool {
    works(ctx);
    let is_through = phase(ctx, name) == "Complete";
    if is_through {
        assert_eq!(ctx.get("v1beta1", name).ok()["metadata"]["labels"]["late"], "yes", "{name} has what was set late");
    }
    is_through
}

pub(crate) fn leaves(ctx: &TestContext<'_>, rollouts: &[String]) {
    ctx.leaves_fake_operators(&rollouts.iter().map(String::as_str).collect::<Vec<_>>());
}

fn workflow(ctx: &TestContext<'_>) {
    fake_operators(ctx, WORKFLOWS);
    let role = ctx.role(&migrates(ctx, "any", "whole"), &[]).remove(0);
    let story = Story {
        ctx,
        name: "go",
        role: &role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| moves(ctx, name),
        has_ended: &|name| has_moved(ctx, name),
        is_whole: &|name| is_whole(ctx, name),
    };
    // The rights for an undo, and for reports in refused objects, have separate scenarios.
    let (other, all): (Vec<Right>, Vec<Right>) = rights_of(&role).into_iter().partition(|right| {
        let on_target = right.plural == ctx.sample.plural && right.verb == "delete";
        on_target || right.plural.ends_with("installations/status")
    });
    let told = other.iter().find(|right| right.verb == "patch").unwrap();
    assert_eq!(other.len(), 2, "{other:?}");
    // The rights of every rollout have a separate scenario.
    let is_of_rollouts = |right: &Right| BASE.contains(&right.group.as_str());
    let all: Vec<Right> = all.into_iter().filter(|right| !is_of_rollouts(right)).collect();
    let mut rollouts = story.try_each(&all);
    rollouts.extend(tells(ctx, &role, told));
    leaves(ctx, &rollouts);
}

/// Groups of the rights of every rollout.
const BASE: [&str; 4] = ["apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io", "pointsman.dev"];

/// An installation that its own fields refuse receives the reason in its status.
fn tells(ctx: &TestContext<'_>, role: &Value, right: &Right) -> Vec<String> {
    let story = Story {
        ctx,
        name: "tell",
        role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| {
            installs(ctx, name, &json!({"blueGreen": {"enable": true}}));
            applied(ctx, &migrates(ctx, name, "whole"));
        },
        has_ended: &|name| {
            let told = ctx.call_get(&format!("{}/{name}", ctx.installations()));
            told["status"]["migration"]["error"].is_string()
        },
        is_whole: &|name| is_whole(ctx, name),
    };
    story.try_without(std::slice::from_ref(right))
}

/// An undo from the waiting step deletes created objects and recreates deleted objects.
fn is_undo(ctx: &TestContext<'_>) {
    fake_operators(ctx, WORKFLOWS);
    let role = ctx.role(&migrates(ctx, "any", "back"), &[]).remove(0);
    let story = Story {
        ctx,
        name: "back",
        role: &role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| goes(ctx, name, "Undo"),
        has_ended: &|name| phase(ctx, name) == "Aborted",
        is_whole: &|name| is_whole(ctx, name),
    };
    let group = ctx.group.as_str();
    let rights = [
        ("apps", "deployments", "create"),
        ("apps", "deployments", "delete"),
        ("apps", "deployments", "patch"),
        ("apps", "controllerrevisions", "delete"),
        ("apps", "replicasets", "delete"),
        ("", "services", "patch"),
        (group, ctx.sample.plural, "delete"),
    ];
    let text = |text: &str| text.to_owned();
    let rights =
        rights.map(|(group, plural, verb)| Right { group: text(group), plural: text(plural), verb: text(verb) });
    let known = rights_of(&role);
    assert!(rights.iter().all(|right| known.contains(right)), "{known:?}");
    let names: Vec<String> =
        std::iter::once(None).chain(rights.iter().map(Some)).map(|right| story.rollout_without(right)).collect();
    go_forth(ctx, &names);
    leaves(ctx, &story.try_each(&rights));
}

/// Moves each installation to the waiting step.
fn go_forth(ctx: &TestContext<'_>, names: &[String]) {
    let namespace = format!("--namespace={}", ctx.ns);
    let begun = names.iter().map(|name| {
        installs(ctx, name, &json!({}));
        applied(ctx, &migrates(ctx, name, "back"));
        let args = ctx.on_the_cluster(&["rollout", "run", name, "--holder=test", &namespace]);
        ctx.started(&format!("{name}-forth"), &args)
    });
    let mut begun: Vec<_> = begun.collect();
    for name in names {
        let service = format!("/api/v1/namespaces/{}/services/{name}", ctx.ns);
        eventually("all is done that can be", SOON, || {
            let owners = &ctx.call_get(&service)["metadata"]["ownerReferences"];
            (owners[0]["kind"] == ctx.sample.kind).then_some(())
        });
    }
    for process in &mut begun {
        process.interrupt();
        process.end(Duration::from_secs(10));
    }
}

/// With guarded owner references, the printed role contains the additional rights; without any one of them no object is
/// handed over.
fn guarded(ctx: &TestContext<'_>) {
    fake_operators(ctx, WORKFLOWS);
    let dir = ctx.dir.join("guarded");
    let logs = ctx.test_cluster.logs.join(format!("{}-guarded", ctx.ns));
    [&dir, &logs].iter().for_each(|dir| std::fs::create_dir_all(dir).unwrap());
    let on = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    // Another API server of the same cluster.
    let mut server = ApiServer::start(&ctx.test_cluster.assets, &ctx.test_cluster.etcd, &dir, &logs, &[on]);
    let [free, role] =
        [&[][..], &["--guarded-owners"]].map(|more| ctx.role(&migrates(ctx, "any", "whole"), more).remove(0));
    let story = Story {
        ctx,
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
        begins: &|name| moves(ctx, name),
        has_ended: &|name| has_moved(ctx, name),
        is_whole: &|name| is_whole(ctx, name),
    };
    let free = rights_of(&free);
    let more: Vec<Right> = rights_of(&role).into_iter().filter(|right| !free.contains(right)).collect();
    assert_eq!(more.len(), 4, "{more:?}");
    let rollouts = story.try_each(&more);
    server.stop();
    leaves(ctx, &rollouts);
}

/// Completes the Jobs. Another client labels each replaced installation that still exists.
fn works(ctx: &TestContext<'_>) {
    let jobs = format!("/apis/batch/v1/namespaces/{}/jobs", ctx.ns);
    let all = ctx.items(&jobs);
    for one in ctx.items(&ctx.installations()) {
        let name = one["metadata"]["name"].as_str().unwrap();
        if one["metadata"]["labels"]["late"].is_null() && ctx.get("v1beta1", name).is_ok() {
            let label = json!({"metadata": {"labels": {"late": "yes"}}}).to_string();
            ctx.call(Method::PATCH, &format!("{}/{name}", ctx.installations()), Some((MERGE, label)));
        }
    }
    for job in all {
        if job["status"]["conditions"].is_null() {
            let path = format!("{jobs}/{}/status", job["metadata"]["name"].as_str().unwrap());
            let status = json!({"status": ended(["SuccessCriteriaMet", "Complete"])}).to_string();
            ctx.call(Method::PATCH, &path, Some((MERGE, status))).ok();
        }
    }
}

/// Requests with fixed names can be granted for these names alone.
fn by_name(at_home: Story<'_>, in_shoots: Story<'_>) -> Vec<String> {
    let [named, elsewhere] = [at_home.role, in_shoots.role].map(narrowed);
    assert_ne!((&named, &elsewhere), (at_home.role, in_shoots.role));
    let mut rollouts = Story { name: "named", role: &named, ..at_home }.try_each(&[]);
    rollouts.extend(Story { name: "named-away", role: &elsewhere, ..in_shoots }.try_each(&[]));
    rollouts
}

/// A role whose rules are limited to resource names, where the names are known.
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

/// The additional rights of a hand-over: in the home cluster, and with the second role in the shoots.
fn handed_over(ctx: &TestContext<'_>) {
    let garden = Landscape::begins(ctx, &ctx.test_cluster.api.kubeconfig);
    garden.node("new", "v1.18.20");
    let spec = |name: &str| json!({"selector": {"labels": format!("one={name}")}});
    let roles = ctx.role(&garden.rollout_file("any", &spec("any")), &[]);
    let [role, elsewhere] = roles.as_slice() else { panic!("{roles:#?}") };
    let plants = |name: &str, user: Option<&str>| {
        garden.class("default", "kubernetes.io/aws-ebs");
        let short = name.strip_prefix(&format!("{}-", ctx.ns)).unwrap();
        let full = garden.plants(short, &json!({}));
        assert_eq!(full, name);
        let label = json!({"metadata": {"labels": {"one": name}}}).to_string();
        ctx.call(Method::PATCH, &format!("{}/{name}", garden.clusters()), Some((MERGE, label))).ok();
        if let Some(user) = user {
            let as_user = format!("{{token: secret-token, as: {user}}}");
            garden.knows_way(name, &garden.kubeconfig().replace("{token: secret-token}", &as_user));
        }
        applied(ctx, &garden.rollout_file(name, &spec(name)));
    };
    let is_handed_over = |name: &str| garden.says(name, FINISHED);
    let nothing_is_finished = |name: &str| {
        let commands = commands(&garden.deployment(name, NAMES[0])).to_string();
        let is_mutated = commands.contains("CSIMigrationAWSComplete");
        assert!(!is_mutated || garden.says(name, NEEDS_COMPLETE), "{name}");
        assert!(!garden.says(name, FINISHED), "{name}");
    };
    let at_home = Story {
        ctx,
        name: "home",
        role,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: None,
        begins: &|name| plants(name, None),
        has_ended: &is_handed_over,
        is_whole: &nothing_is_finished,
    };
    // The rights of every rollout have a separate scenario.
    let of_steps = ["secrets", "controlplanes", "deployments"];
    let rights: Vec<Right> =
        rights_of(role).into_iter().filter(|right| of_steps.contains(&right.plural.as_str())).collect();
    assert_eq!(rights.len(), 4, "{rights:?}");
    let mut rollouts = at_home.try_each(&rights);
    let in_shoots = Story {
        ctx,
        name: "away",
        role: elsewhere,
        by: &ctx.test_cluster.api.kubeconfig,
        says: Right::said,
        elsewhere: Some(&garden.shoot.client),
        begins: &|name| plants(name, Some(name)),
        has_ended: &is_handed_over,
        is_whole: &|name| {
            nothing_is_finished(name);
            assert_eq!(garden.classes(), ["default"], "{name}");
        },
    };
    // One after the other: only one storage class exists.
    for right in rights_of(elsewhere) {
        rollouts.extend(in_shoots.try_without(&[right]));
    }
    rollouts.extend(by_name(at_home, in_shoots));
    garden.ends(&rollouts.iter().map(String::as_str).collect::<Vec<_>>());
}
