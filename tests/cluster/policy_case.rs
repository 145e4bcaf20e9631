//! A definition of mutations as policies on the real API server, compared with a pointsman server for the same objects.

use std::time::{Duration, Instant};

use hyper::Method;
use pointsman_core::definition::MutatedKind;
use pointsman_core::registration::{MutationPolicies, mutation_policies};
use pointsman_core::webhook::{FactValue, KnownFacts, Metadata, PatchOperation, Webhook};
use serde_json::{Value, json};

use crate::support::ctx::{APPLY, CRDS, JSON, MERGE, TestContext};
use crate::support::process::eventually;

/// A definition of mutations for objects with one label.
pub(crate) struct PolicyCase {
    pub(crate) definition: String,
    /// Mutations that cannot be policies, with the reason.
    pub(crate) others: Vec<(String, String)>,
    policies: Vec<Value>,
    mutations: Vec<String>,
    server: Webhook,
    /// The path of the objects.
    all: String,
}

/// Polls until the API server evaluates policies that were just applied.
pub(crate) fn once_in_force<T>(ask: impl FnMut() -> Option<T>) -> T {
    eventually("the policies are in force", IN_FORCE, ask)
}

/// The API server compiles all policies again after each change: half a minute for many, where a single one takes a
/// second.
const IN_FORCE: Duration = Duration::from_secs(60);

/// The type of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Writing {
    Create,
    /// The object existed before, without the label.
    Update,
    /// A server-side apply that creates the object.
    Apply,
}

impl PolicyCase {
    /// Returns an error if the definition is refused because its operations conflict.
    pub(crate) fn load(definition: &str, all: &str) -> Result<Self, String> {
        let mutated = MutatedKind::load("mutations.yaml", definition).map_err(|bad| bad.to_string())?;
        let MutationPolicies { documents: policies, others } = mutation_policies(&mutated);
        let mutations = mutated.mutations().map(str::to_owned).collect();
        let server = Webhook::new(Vec::new(), Metadata::Identity).unwrap().with_mutations(vec![mutated]).unwrap();
        Ok(Self { definition: definition.to_owned(), others, policies, mutations, server, all: all.to_owned() })
    }

    /// Installs the policies in the API server; returns the response if the API server refuses them.
    pub(crate) fn install(&self, ctx: &TestContext<'_>) -> Result<(), String> {
        for policy in &self.policies {
            let answer = ctx.post(&all_like(policy), policy);
            if !answer.is_ok() {
                return Err(format!("refused: {}", answer.message()));
            }
        }
        Ok(())
    }

    pub(crate) fn remove(&self, ctx: &TestContext<'_>) {
        for policy in &self.policies {
            let one = format!("{}/{}", all_like(policy), policy["metadata"]["name"].as_str().unwrap());
            ctx.call(Method::DELETE, &one, None).ok();
        }
    }

    /// The path of objects with the version of this object.
    fn all_of(&self, object: &Value) -> String {
        let (_, version) = object["apiVersion"].as_str().unwrap().rsplit_once('/').unwrap_or(("", "v1"));
        self.all.replace("/v1/namespaces/", &format!("/{version}/namespaces/"))
    }

    /// The object that a write would store, or the reason of a refusal.
    fn write(
        &self,
        ctx: &TestContext<'_>,
        object: &Value,
        (writing, version): (Writing, Option<&Value>),
    ) -> Result<String, String> {
        let all = self.all_of(object);
        let one = format!("{all}/{}?dryRun=All", object["metadata"]["name"].as_str().unwrap_or_default());
        let answer = match (writing, version) {
            (Writing::Apply, _) => {
                let applied = format!("{one}&fieldManager=somebody&force=true");
                ctx.call(Method::PATCH, &applied, Some((APPLY, object.to_string())))
            }
            (_, None) => ctx.post(&format!("{all}?dryRun=All"), object),
            (_, Some(version)) => {
                let mut object = object.clone();
                object["metadata"]["resourceVersion"] = version.clone();
                ctx.call(Method::PUT, &one, Some((JSON, object.to_string())))
            }
        };
        if answer.is_ok() { Ok(parts(&answer.body)) } else { Err(answer.message()) }
    }

    /// Waits until the API server evaluates the installed policies, while their facts are false.
    pub(crate) fn comes_into_force(&self, ctx: &TestContext<'_>, object: &Value) {
        let said = self.compare(ctx, object, (FactValue::False, Writing::Create), IN_FORCE);
        said.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Compares the results of a policy and a server for an object. Returns true if the object was changed, or `None`
    /// if the API server refuses the object.
    pub(crate) fn compare(
        &self,
        ctx: &TestContext<'_>,
        object: &Value,
        (is, writing): (FactValue, Writing),
        patience: Duration,
    ) -> Result<Option<bool>, String> {
        let mut facts = KnownFacts::default();
        for mutation in &self.mutations {
            facts.set(mutation, is);
        }
        let old = without_case(object);
        let version = match writing {
            Writing::Create | Writing::Apply => None,
            Writing::Update => {
                let made = ctx.post(&self.all_of(object), &old);
                if !made.is_ok() {
                    return Ok(None);
                }
                Some(made.body["metadata"]["resourceVersion"].clone())
            }
        };
        let write = |object: &Value| self.write(ctx, object, (writing, version.as_ref()));
        let sent = write(&old);
        let patch = self.server.mutation(&object.to_string(), None, &facts).unwrap().expect("a mutation").unwrap().0;
        let made = patched(object, &patch);
        let wanted = write(&without_case(&made));
        let deadline = Instant::now() + patience;
        let compared = loop {
            let found = write(object);
            let is_alike = match (&found, &wanted) {
                (Ok(found), Ok(wanted)) => found == wanted,
                (Err(_), Err(_)) => true,
                _ => false,
            };
            if is_alike {
                break Ok(wanted.is_ok().then_some(sent.as_ref().ok() != wanted.as_ref().ok()));
            }
            if Instant::now() > deadline {
                break Err(format!(
                    "{is:?}, {writing:?}: {}{object}\nby a server: {}\nby a policy: {}",
                    self.definition,
                    wanted.unwrap_or_else(|why| format!("refused, {why}")),
                    found.unwrap_or_else(|why| format!("refused, {why}")),
                ));
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        if version.is_some() {
            let one = format!("{}/{}", self.all_of(object), object["metadata"]["name"].as_str().unwrap());
            ctx.call(Method::DELETE, &format!("{one}?gracePeriodSeconds=0"), None).ok();
        }
        compared
    }
}

/// The path of policies or bindings.
pub(crate) fn all_like(policy: &Value) -> String {
    let kind = policy["kind"].as_str().unwrap().to_lowercase();
    let plural = kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |kind| format!("{kind}ies"));
    format!("/apis/admissionregistration.k8s.io/v1/{plural}")
}

/// A kind without a strict schema, so that its objects can be invalid in every way.
pub(crate) fn anything_is_taken(ctx: &TestContext<'_>) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("boxes.{}", ctx.group)},
        "spec": {
            "group": ctx.group, "scope": "Namespaced", "names": {"kind": "Box", "plural": "boxes"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}},
                {"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": any}},
            ],
        },
    });
    ctx.post(CRDS, &crd).ok();
    ctx.eventually(|| (ctx.call(Method::GET, &boxes(ctx), None).code == 200).then_some(()));
}

pub(crate) fn boxes(ctx: &TestContext<'_>) -> String {
    format!("/apis/{}/v1/namespaces/{}/boxes", ctx.group, ctx.ns)
}

/// Makes all facts true or false.
pub(crate) fn turn(ctx: &TestContext<'_>, is: FactValue) {
    let is = is == FactValue::True;
    let word = if is { "yes" } else { "no" };
    let namespace = format!("/api/v1/namespaces/{}", ctx.ns);
    let change = |path: &str, fields: Value| ctx.call(Method::PATCH, path, Some((MERGE, fields.to_string()))).ok();
    let said = json!({"metadata": {"labels": {"moved": word}, "annotations": {"example.com/moved": word}}});
    change(&namespace, said);
    let there = if is { json!("") } else { Value::Null };
    change(&format!("{namespace}/configmaps/facts"), json!({"data": {"moved": word, "there": there}}));
    let said = json!({
        "on": is, "number": if is { 7 } else { 8 }, "small": if is { json!(0.00001) } else { json!(0.5) },
        "text": if is { "7" } else { "07" }, "here": if is { json!({"x": []}) } else { Value::Null },
        "list": if is { json!(1.5) } else { json!(["1.5"]) },
    });
    change(&format!("{}/facts", boxes(ctx)), json!({"spec": said}));
}

/// A policy with ConfigMap parameters, which exists as long as the API server. After the deletion of the last such
/// policy, an API server stops watching ConfigMaps and never restarts the watch. Later policies then see outdated
/// ConfigMaps. Source: `k8s.io/apiserver pkg/admission/plugin/policy/generic/policy_source.go`,
/// `ensureParamsForPolicyLocked`.
fn keeps_hearing_of_maps(ctx: &TestContext<'_>) {
    let (metadata, api) = (json!({"name": "keeps-hearing-of-maps"}), "admissionregistration.k8s.io/v1");
    let rule = json!({
        "apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nobodies"],
    });
    let mutation = json!({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/kind', value: 'X'}]"}});
    let policy = json!({"apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": metadata, "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": {"resourceRules": [rule]},
        "failurePolicy": "Ignore", "reinvocationPolicy": "Never", "mutations": [mutation],
    }});
    let binding = json!({"apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata, "spec": {
        "policyName": metadata["name"], "paramRef": {"name": "nobody", "parameterNotFoundAction": "Allow"},
    }});
    for document in [policy, binding] {
        let made = ctx.post(&all_like(&document), &document);
        assert!(made.is_ok() || made.code == 409, "{}", made.message());
    }
}

/// Creates the objects with the facts, and returns the facts.
pub(crate) fn facts(ctx: &TestContext<'_>) -> Vec<String> {
    keeps_hearing_of_maps(ctx);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "facts"}, "data": {"moved": "no"}});
    ctx.post(&format!("/api/v1/namespaces/{}/configmaps", ctx.ns), &map).ok();
    let api = format!("{}/v1", ctx.group);
    let facts = json!({"apiVersion": api, "kind": "Box", "metadata": {"name": "facts"}, "spec": {}});
    ctx.post(&boxes(ctx), &facts).ok();
    let of_namespace = "{resource: namespaces, name: '{namespace}', ";
    let of_map = "{resource: configmaps, version: v1, kind: ConfigMap, namespace: '{namespace}', name: facts, ";
    let of_box =
        format!("{{resource: boxes.{}, version: v1, kind: Box, namespace: '{}', name: facts, ", ctx.group, ctx.ns);
    let said = |of: &str, what: &str| format!("{of}{what}}}");
    [
        said(of_namespace, "label: moved, is: 'yes'"),
        said(of_namespace, "annotation: example.com/moved, is: 'yes'"),
        said(of_map, "field: data.moved, is: 'yes'"),
        said(of_map, "field: data.there"),
        said(&of_box, "field: spec.on, is: 'true'"),
        said(&of_box, "field: spec.number, is: '7'"),
        said(&of_box, "field: spec.small, is: '0.00001'"),
        said(&of_box, "field: spec.text, is: '7'"),
        said(&of_box, "field: spec.here"),
        said(&of_box, "field: spec.list, is: '1.5'"),
    ]
    .into()
}

pub(crate) fn patched(object: &Value, patch: &[PatchOperation]) -> Value {
    let operations = patch.iter().map(|operation| match operation.op {
        "remove" => json!({"op": "remove", "path": operation.path}),
        op => {
            let value: Value = serde_json::from_str(&operation.value).unwrap();
            json!({"op": op, "path": operation.path, "value": value})
        }
    });
    let operations: json_patch::Patch = serde_json::from_value(operations.collect()).unwrap();
    let mut object = object.clone();
    json_patch::patch(&mut object, &operations).unwrap();
    object
}

/// An object that no policy selects.
pub(crate) fn without_case(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["labels"]["case"] = json!("none");
    object
}

/// The parts of an object that mutations change.
pub(crate) fn parts(object: &Value) -> String {
    let mut object = object.clone();
    let mut labels = object["metadata"]["labels"].take();
    if let Some(labels) = labels.as_object_mut() {
        labels.remove("case");
    }
    let annotations = object["metadata"]["annotations"].take();
    if let Some(members) = object.as_object_mut() {
        for other in ["metadata", "status", "apiVersion", "kind"] {
            members.remove(other);
        }
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        for chance in ["clusterIP", "clusterIPs"] {
            spec.remove(chance);
        }
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            port.as_object_mut().and_then(|port| port.remove("nodePort"));
        }
    }
    json!([object, labels, annotations]).to_string()
}
