//! Checks that the policies in a cluster are as printed, and in force.

use serde_json::{Value, json};

use super::difference::differences;
use super::finding::Finding;
use super::selector_gaps::{excluding, other_namespaces};
use crate::registration::guards::guard::{GuardMode, guard_name, guard_of, served_list, unserved_name, unserved_of};
use crate::registration::guards::incomplete::incomplete;
use crate::registration::guards::promotion_policy::{promoting, promoting_name};
use crate::{definition::Kind, webhook::Enforcement};

/// The registered and the expected policies of a kind.
pub(in crate::registration) struct Policies<'d> {
    pub(in crate::registration) kind: &'d Kind,
    pub(in crate::registration) documents: &'d [Value],
    /// The controller versions with webhooks.
    pub(in crate::registration) versions: &'d [String],
    /// The namespaces that the webhooks exclude.
    pub(in crate::registration) namespaces: &'d [String],
    /// The enforcement of the servers. A guard should be at least as strict.
    pub(in crate::registration) enforcement: Enforcement,
}

impl Policies<'_> {
    /// The findings of all policies.
    pub(in crate::registration) fn inspect(&self) -> Vec<Finding> {
        let mut findings = self.incomplete();
        findings.extend(self.promoting());
        let name = guard_name(self.kind);
        let Some(policy) = self.policy(&name) else {
            if !self.versions.is_empty() {
                let problem = "the guard is missing: objects with an unserved label are not validated";
                findings.push(self.is_missing(&name, problem));
            }
            return findings;
        };
        let strict: &[&str] = match self.enforcement {
            Enforcement::Enforce => &["Deny"],
            Enforcement::Warn => &["Deny", "Warn"],
            Enforcement::Audit => &["Deny", "Warn", "Audit"],
        };
        findings.extend(self.of_versions(policy, &name, |served| guard_of(self.kind, served, GuardMode::Deny)));
        findings.extend(self.binding(&name, strict));
        let name = unserved_name(self.kind);
        match self.policy(&name) {
            Some(policy) => {
                findings.extend(self.of_versions(policy, &name, |served| unserved_of(self.kind, served)));
                findings.extend(self.binding(&name, &["Warn"]));
            }
            None if self.versions.is_empty() => {}
            None => {
                let problem = "writers of objects with an unserved label get no warning";
                findings.push(self.is_missing(&name, problem));
            }
        }
        findings
    }

    fn policy(&self, name: &str) -> Option<&Value> {
        self.documents.iter().find(|document| is_a(document, POLICY) && is_named(document, name))
    }

    fn is_missing(&self, name: &str, problem: &str) -> Finding {
        let change = format!("apply the output of `pointsman webhooks --served {}`", self.versions.join(","));
        Finding { document: format!("{POLICY} {name}"), problem: problem.to_owned(), change }
    }

    /// A policy with a list of versions: it must accept exactly the registered versions, and otherwise be as printed.
    fn of_versions(&self, policy: &Value, name: &str, print: impl Fn(&[&str]) -> [Value; 2]) -> Vec<Finding> {
        let document = format!("{POLICY} {name}");
        let finding = |problem: String, change: String| Finding { document: document.clone(), problem, change };
        let mut findings = Vec::new();
        let variables = policy.pointer("/spec/variables").and_then(Value::as_array).into_iter().flatten().enumerate();
        let mut lists = variables.filter(|(_, one)| one.get("name").is_some_and(|name| name == "served"));
        let list = lists.next().and_then(|(at, one)| Some((at, one.get("expression")?.as_str()?)));
        let served = list.and_then(|(at, text)| Some((at, serde_json::from_str::<Vec<String>>(text).ok()?)));
        let Some((at, served)) = served else {
            let change = "apply the policy that `pointsman webhooks --served` prints".to_owned();
            return vec![finding("the accepted versions cannot be read".to_owned(), change)];
        };
        let line = |served: &[&str]| format!("spec.variables[{at}].expression: '{}'", served_list(served));
        let there: Vec<&str> = served.iter().map(String::as_str).collect();
        let is_guard = name == guard_name(self.kind);
        for version in self.versions.iter().filter(|version| !served.contains(version)) {
            let problem = match is_guard {
                true => format!("version {version} has webhooks, but the label policy rejects its label"),
                false => {
                    format!("{version} is registered, but its writers are warned that no server handles this version")
                }
            };
            let all: Vec<&str> = there.iter().copied().chain([version.as_str()]).collect();
            findings.push(finding(problem, line(&all)));
        }
        for version in there.iter().filter(|version| !self.versions.iter().any(|one| one == *version)) {
            let all: Vec<&str> = there.iter().filter(|other| *other != version).copied().collect();
            findings.push(finding(
                format!("the guard accepts {version}, but no webhook validates the objects of {version}"),
                line(&all),
            ));
        }
        let [printed, _] = print(&there);
        // The messages contain the versions as well. If the list was reported, they may already contain the right
        // versions.
        let versions: Vec<&str> = self.versions.iter().map(String::as_str).collect();
        let [right, _] = if findings.is_empty() { [printed.clone(), Value::Null] } else { print(&versions) };
        let mut found = policy.clone();
        // The same list in another spelling is no difference.
        if let Some(expression) = found.pointer_mut(&format!("/spec/variables/{at}/expression")) {
            *expression = served_list(&there).into();
        }
        findings.extend(self.as_printed(&found, [&printed, &right], &document, self.namespaces));
        findings
    }

    /// The differences of a policy from both printed forms.
    fn as_printed(&self, found: &Value, printed: [&Value; 2], document: &str, namespaces: &[String]) -> Vec<Finding> {
        let finding = |problem: String, change: String| Finding { document: document.to_owned(), problem, change };
        let mut findings = Vec::new();
        let mut found = found.clone();
        let constraints = found.pointer_mut("/spec/matchConstraints").and_then(Value::as_object_mut);
        let selector = constraints.and_then(|constraints| constraints.remove("namespaceSelector"));
        if let Some(problem) = other_namespaces(selector.as_ref(), namespaces) {
            let line = format!("spec.matchConstraints.namespaceSelector: {}", excluding(namespaces));
            findings.push(finding(problem, line));
        }
        let none = json!({});
        let spec = |document: &Value| document.get("spec").cloned().unwrap_or_else(|| none.clone());
        let (found, [printed, other]) = (spec(&found), printed.map(spec));
        let others = differences("spec", &found, &other);
        let both = differences("spec", &found, &printed);
        let both = both.into_iter().filter(|one| others.iter().any(|other| other.path == one.path));
        let changes = both.map(|difference| {
            let problem = match difference.path.as_str() {
                "spec.validations" => "the policy has no validations".to_owned(),
                _ => difference.problem(),
            };
            finding(problem, difference.change())
        });
        findings.extend(changes);
        findings
    }

    /// A policy needs a binding with at least one of these actions, without restrictions.
    fn binding(&self, name: &str, does: &[&str]) -> Vec<Finding> {
        let is_bound = |document: &&Value| {
            is_a(document, BINDING) && document.pointer("/spec/policyName").and_then(Value::as_str) == Some(name)
        };
        let bindings: Vec<&Value> = self.documents.iter().filter(is_bound).collect();
        if bindings.is_empty() {
            let problem = "the policy has no binding, so that the API server ignores the policy".to_owned();
            let change = "apply the binding that `pointsman webhooks` prints".to_owned();
            return vec![Finding { document: format!("{POLICY} {name}"), problem, change }];
        }
        let wrong: Vec<Vec<Finding>> = bindings.iter().map(|binding| self.bound(binding, does)).collect();
        // An additional binding is allowed.
        if wrong.iter().any(Vec::is_empty) { Vec::new() } else { wrong.concat() }
    }

    fn bound(&self, binding: &Value, does: &[&str]) -> Vec<Finding> {
        let name = binding.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let finding =
            |problem: String, change: String| Finding { document: format!("{BINDING} {name}"), problem, change };
        let mut findings = Vec::new();
        let actions = binding.pointer("/spec/validationActions").and_then(Value::as_array).into_iter().flatten();
        let actions: Vec<&str> = actions.filter_map(Value::as_str).collect();
        let wanted = does.first().copied().unwrap_or_default();
        if !actions.iter().any(|action| does.contains(action)) {
            let what = if actions.is_empty() {
                "has no effect".to_owned()
            } else {
                format!("does {} only", actions.join(" and "))
            };
            let (problem, more) = match wanted {
                "Deny" => (
                    format!("the policy {what}: forbidden writes are accepted"),
                    ", or use --enforcement warn or audit if intended",
                ),
                _ => (format!("the policy {what}: writers get no warning"), ""),
            };
            findings.push(finding(problem, format!("spec.validationActions: [{wanted}]{more}")));
        } else if wanted == "Warn" && actions.contains(&"Deny") {
            let problem = "the policy refuses writes instead of a warning: such objects could not be changed";
            findings.push(finding(problem.to_owned(), format!("spec.validationActions: [{wanted}]")));
        }
        let mut spec = binding.get("spec").cloned().unwrap_or_default();
        if let Some(members) = spec.as_object_mut() {
            members.retain(|name, _| !matches!(name.as_str(), "policyName" | "validationActions"));
        }
        let printed = json!({});
        let changes = differences("spec", &spec, &printed).into_iter();
        findings.extend(changes.map(|difference| {
            finding(format!("{}: the policy is not in force everywhere", difference.problem()), difference.change())
        }));
        findings
    }

    /// The policies against incomplete objects, for every version that has one.
    fn incomplete(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for storage in self.kind.versions() {
            let [printed, _] = incomplete(self.kind, storage);
            let name = printed.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            if let Some(policy) = self.policy(name) {
                findings.extend(self.as_printed(policy, [&printed, &printed], &format!("{POLICY} {name}"), &[]));
                findings.extend(self.binding(name, &["Deny"]));
            }
        }
        findings
    }

    /// The promotion policy, if present.
    fn promoting(&self) -> Vec<Finding> {
        let name = promoting_name(self.kind);
        let there = self.policy(&name).zip(promoting(self.kind, GuardMode::Deny));
        let Some((policy, [printed, _])) = there else { return Vec::new() };
        let mut findings = self.as_printed(policy, [&printed, &printed], &format!("{POLICY} {name}"), &[]);
        // A weaker action is intended.
        findings.extend(self.binding(&name, &["Deny", "Warn", "Audit"]));
        findings
    }
}

fn is_a(document: &Value, kind: &str) -> bool {
    document.get("kind").and_then(Value::as_str) == Some(kind)
}

fn is_named(document: &Value, name: &str) -> bool {
    document.pointer("/metadata/name").and_then(Value::as_str) == Some(name)
}

const POLICY: &str = "ValidatingAdmissionPolicy";
const BINDING: &str = "ValidatingAdmissionPolicyBinding";
