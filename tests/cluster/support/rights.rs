//! The rights of a rollout runner, each removed once: the same scenario runs many times in parallel, with one user
//! each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::client::Client;
use super::ctx::{JSON, TestContext};
use super::process::{Process, SOON, eventually};

/// A verb of RBAC on a resource.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Right {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) verb: String,
}

impl Right {
    /// The messages of an API server, and of pointsman, when the right is missing.
    pub(crate) fn said(&self) -> [String; 2] {
        let Self { group, plural, verb } = self;
        let said = match plural.as_str() {
            "*" => format!("cannot {verb} resource \""),
            _ => format!("cannot {verb} resource \"{plural}\" in API group \"{group}\""),
        };
        [said, "docs/rights.md lists the ClusterRole".to_owned()]
    }

    /// True if a missing right can leave an object partially written.
    fn writes(&self) -> bool {
        !["get", "list", "watch"].contains(&self.verb.as_str())
    }

    /// True for rights that serve reports only, such as events and other controllers' objects: without the right the
    /// rollout continues and reports it.
    fn is_optional(&self) -> bool {
        ["events", "replicationcontrollers"].contains(&self.plural.as_str())
    }
}

/// Every right of a role whose rules have one resource each.
pub(crate) fn rights_of(role: &Value) -> Vec<Right> {
    let mut all = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        for verb in rule["verbs"].as_array().unwrap() {
            assert_eq!(
                (rule["apiGroups"].as_array().unwrap().len(), rule["resources"].as_array().unwrap().len()),
                (1, 1)
            );
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let (group, plural) = (text(&rule["apiGroups"][0]), text(&rule["resources"][0]));
            all.push(Right { group, plural, verb: text(verb) });
        }
    }
    all
}

/// The rules of a role without one right. Rules for all resources are reduced as well.
fn without(role: &Value, right: &Right, everything: &[(String, String)]) -> Value {
    let mut rules = Vec::new();
    for mut rule in role["rules"].as_array().unwrap().clone() {
        let is_of_all = rule["resources"][0] == "*" && right.plural != "*" && rule["verbs"] == json!([right.verb]);
        if is_of_all {
            let others = everything.iter().filter(|(plural, group)| (plural, group) != (&right.plural, &right.group));
            rules.extend(
                others.map(|(plural, group)| json!({"apiGroups": [group], "resources": [plural], "verbs": ["list"]})),
            );
            continue;
        }
        if rule["resources"][0] == right.plural && rule["apiGroups"][0] == right.group {
            rule["verbs"].as_array_mut().unwrap().retain(|verb| *verb != right.verb.as_str());
        }
        if rule["verbs"] != json!([]) {
            rules.push(rule);
        }
    }
    json!(rules)
}

/// A rollout scenario that can run many times in parallel, each time with another name.
pub(crate) struct Story<'s> {
    pub(crate) ctx: &'s TestContext<'s>,
    /// The prefix of the StagedRollout names; the missing right follows.
    pub(crate) name: &'static str,
    /// The printed role.
    pub(crate) role: &'s Value,
    /// The kubeconfig, with all rights, of the API server that the rollout uses.
    pub(crate) by: &'s Path,
    /// The expected messages when a right is missing.
    pub(crate) says: fn(&Right) -> [String; 2],
    /// The cluster of the role, if different from the cluster of the ctx.
    pub(crate) elsewhere: Option<&'s Client>,
    /// Creates an object and a StagedRollout of this name over it. A rollout that uses another cluster acts there as
    /// the user of that name.
    pub(crate) begins: &'s dyn Fn(&str),
    /// True once the rollout is complete.
    pub(crate) has_ended: &'s dyn Fn(&str) -> bool,
    /// Panics if data was lost, or if the rollout cannot continue from a partial step.
    pub(crate) is_whole: &'s dyn Fn(&str),
}

/// One run of the scenario.
struct Telling {
    name: String,
    /// The missing right; `None` if the user has all rights.
    right: Option<Right>,
    at: Where,
    process: Option<Process>,
    since: Instant,
}

#[derive(PartialEq)]
enum Where {
    Ahead,
    Lacking,
    Allowed,
    Over,
}

impl Story<'_> {
    /// Runs the scenario with all rights, and once without each of these. Returns the names of the StagedRollouts.
    pub(crate) fn try_each(&self, rights: &[Right]) -> Vec<String> {
        self.tell(std::iter::once(None).chain(rights.iter().cloned().map(Some)))
    }

    /// Runs the scenario once without each of these.
    pub(crate) fn try_without(&self, rights: &[Right]) -> Vec<String> {
        self.tell(rights.iter().cloned().map(Some))
    }

    fn tell(&self, missing: impl Iterator<Item = Option<Right>>) -> Vec<String> {
        let everything = if rights_of(self.role).iter().any(|right| right.plural == "*") {
            self.ctx.everything()
        } else {
            Vec::new()
        };
        let mut all: Vec<Telling> = missing.map(|right| self.telling(right)).collect();
        for one in &all {
            let rules = match &one.right {
                Some(right) => without(self.role, right, &everything),
                None => self.role["rules"].clone(),
            };
            self.grant(&one.name, &rules);
            (self.begins)(&one.name);
        }
        for one in &all {
            let kept = rights_of(self.role).into_iter().find(|right| Some(right) != one.right.as_ref());
            self.waits(&one.name, &kept.unwrap());
        }
        while all.iter().any(|one| one.at != Where::Over) {
            let mut under_way = all.iter().filter(|one| one.process.is_some()).count();
            for one in &mut all {
                if one.at == Where::Ahead && under_way < AT_ONCE {
                    under_way += 1;
                    one.at = if one.right.is_some() { Where::Lacking } else { Where::Allowed };
                    self.runs(one);
                }
                self.goes_on(one);
            }
            // Each run polls the API server.
            std::thread::sleep(Duration::from_millis(250));
        }
        all.into_iter().map(|one| one.name).collect()
    }

    /// The name of the StagedRollout for a missing right, or for none.
    pub(crate) fn rollout_without(&self, right: Option<&Right>) -> String {
        let plain = |text: &str| text.replace('*', "all").replace(['/', '.'], "-");
        match right {
            Some(Right { plural, verb, .. }) => format!("{}-{}-{}-{verb}", self.ctx.ns, self.name, plain(plural)),
            None => format!("{}-{}-whole", self.ctx.ns, self.name),
        }
    }

    fn telling(&self, right: Option<Right>) -> Telling {
        let name = self.rollout_without(right.as_ref());
        Telling { name, right, at: Where::Ahead, process: None, since: Instant::now() }
    }

    /// Moves a run to its next state.
    fn goes_on(&self, one: &mut Telling) {
        let late = one.since.elapsed() > PATIENCE;
        match one.at {
            Where::Ahead | Where::Over => {}
            Where::Lacking => {
                let right = one.right.clone().unwrap();
                let ended = one.process.as_mut().unwrap().end(Duration::ZERO);
                let log = self.log(one);
                let [said, besides] = (self.says)(&right);
                if log.contains(&said) {
                    assert!(log.contains(&besides), "{right:?}: {log}");
                    self.has_said(one, &right, ended);
                    return;
                }
                assert!(
                    ended.is_none() && !(self.has_ended)(&one.name),
                    "{right:?} is not needed, or nobody says so: {ended:?} {log}"
                );
                assert!(!late, "without {right:?} nothing is said: {log}");
            }
            Where::Allowed => {
                if (self.has_ended)(&one.name) {
                    one.process = None;
                    one.at = Where::Over;
                    return;
                }
                let ended = one.process.as_mut().unwrap().end(Duration::ZERO);
                assert!(
                    ended.is_none() && !late,
                    "{} does not end, with {:?}: {ended:?} {}",
                    one.name,
                    one.right,
                    self.log(one)
                );
            }
        }
    }

    /// The runner has reported the missing right: no data is lost. If the right is for writes, the rollout continues
    /// once the right is granted.
    fn has_said(&self, one: &mut Telling, right: &Right, ended: Option<i32>) {
        let log = self.log(one);
        one.at = Where::Allowed;
        one.since = Instant::now();
        if right.is_optional() {
            return;
        }
        assert!(matches!(ended, None | Some(1)), "{right:?}: {ended:?} {log}");
        assert!(!(self.has_ended)(&one.name), "{right:?} is not needed: {log}");
        (self.is_whole)(&one.name);
        if !right.writes() {
            (one.process, one.at) = (None, Where::Over);
            return;
        }
        if ended.is_none() {
            let process = one.process.as_mut().unwrap();
            process.interrupt();
            // The process may have been about to end.
            let ended = process.end(Duration::from_secs(20));
            assert!(matches!(ended, Some(1 | 130)), "{right:?}: {ended:?} {log}");
        }
        self.grant(&one.name, &self.role["rules"]);
        self.waits(&one.name, right);
        self.runs(one);
    }

    fn log(&self, one: &Telling) -> String {
        fs::read_to_string(self.ctx.log_of(&one.name)).unwrap_or_default()
    }

    fn runs(&self, one: &mut Telling) {
        let kubeconfig = match self.elsewhere {
            Some(_) => self.ctx.test_cluster.api.kubeconfig.clone(),
            None => self.ctx.as_user(self.by, &one.name),
        };
        let (namespace, kubeconfig) =
            (format!("--namespace={}", self.ctx.ns), format!("--kubeconfig={}", kubeconfig.display()));
        let args = self.ctx.on_the_cluster(&["rollout", "run", &one.name, "--holder=test", &namespace, &kubeconfig]);
        one.process = Some(self.ctx.started(&one.name, &args));
        one.since = Instant::now();
    }

    fn client(&self) -> &Client {
        self.elsewhere.unwrap_or(&self.ctx.test_cluster.api.client)
    }

    /// Grants a user exactly these rights.
    fn grant(&self, user: &str, rules: &Value) {
        let call = |method: Method, path: &str, body: &Value| {
            self.client().call(method, &format!("{RBAC}/{path}"), Some((JSON, body.to_string())))
        };
        let role = json!({"metadata": {"name": user}, "rules": rules});
        if !call(Method::POST, "clusterroles", &role).is_ok() {
            call(Method::PUT, &format!("clusterroles/{user}"), &role).ok();
            return;
        }
        let subject = json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
        let reference = json!({"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
        let binding = json!({"metadata": {"name": user}, "subjects": [subject], "roleRef": reference});
        call(Method::POST, "clusterrolebindings", &binding).ok();
    }

    /// Waits until the API server has observed the right of a user.
    fn waits(&self, user: &str, right: &Right) {
        let (plural, subresource) = right.plural.split_once('/').unwrap_or((&right.plural, ""));
        let rules = self.role["rules"].as_array().unwrap();
        let is_of = |rule: &&Value| {
            let has = |list: &str, one: &str| rule[list].as_array().unwrap().iter().any(|other| *other == *one);
            has("apiGroups", &right.group) && has("resources", &right.plural) && has("verbs", &right.verb)
        };
        // A right with resource names is checked with one of these names.
        let name = rules.iter().find(is_of).map_or(&Value::Null, |rule| &rule["resourceNames"][0]);
        let attributes = json!({
            "group": right.group, "resource": plural, "subresource": subresource, "verb": right.verb,
            "name": name.as_str().unwrap_or_default(),
        });
        let review = json!({"spec": {"user": user, "resourceAttributes": attributes}}).to_string();
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        eventually(&format!("{right:?} of {user}"), SOON, || {
            let answer = self.client().call(Method::POST, path, Some((JSON, review.clone()))).ok();
            (answer["status"]["allowed"] == true).then_some(())
        });
    }
}

impl TestContext<'_> {
    /// The printed roles for the rollout of a file: the role, and the role for other clusters.
    pub(crate) fn role(&self, file: &Path, more: &[&str]) -> Vec<Value> {
        let file = file.display().to_string();
        let printed = self.commanded(&[&["rollout", "rights", "-f", &file], more].concat());
        serde_saphyr::from_multiple(&printed).unwrap()
    }

    /// A copy of a kubeconfig for another user.
    fn as_user(&self, by: &Path, user: &str) -> PathBuf {
        let text = fs::read_to_string(by).unwrap();
        let file = self.dir.join(format!("as-{user}"));
        fs::write(&file, text.replace("{token: secret-token}", &format!("{{token: secret-token, as: {user}}}")))
            .unwrap();
        file
    }

    /// Plural and group of every namespaced resource that can be listed.
    fn everything(&self) -> Vec<(String, String)> {
        let kubectl = std::process::Command::new(self.test_cluster.assets.path("kubectl"))
            .arg(format!("--kubeconfig={}", self.test_cluster.api.kubeconfig.display()))
            .args(["api-resources", "--verbs=list", "--namespaced", "--output=name"])
            .output()
            .unwrap();
        let text = String::from_utf8(kubectl.stdout).unwrap();
        let names = text.lines().map(|line| line.split_once('.').unwrap_or((line, "")));
        names.map(|(plural, group)| (plural.to_owned(), group.to_owned())).collect()
    }
}

/// The number of parallel runners.
const AT_ONCE: usize = 16;

/// The time limit for a rollout, in parallel with many others, to end or to report its missing right. After this time
/// the rollout never does.
const PATIENCE: Duration = Duration::from_secs(300);

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
