//! Obstacles to the recreation of a Deployment: checked before the first step of its object, and again right before the
//! deletion.

use super::observed_object::{ObservedObject, deployment_lookup, list, observed, place, selector, text};
use super::recreation_source::{new, selector_of};
use crate::definition::workflows::Recreation;
use crate::lookup::request::LookupRequest;
use crate::lookup::results::LookupResults;
use crate::observe::field_managers::git_manager;
use crate::steps::context::StepContext;
use crate::steps::outcome::PreflightFailure;
use pointsman_core::apimachinery::ResourceName;
use serde_json::Value;
use std::collections::BTreeMap;

/// Lookups for this check.
pub(in crate::steps) fn obstacle_lookups(context: StepContext<'_>, recreation: &Recreation) -> Vec<LookupRequest> {
    vec![
        deployment_lookup(context, recreation),
        all(context, &recreation.resource),
        quotas(context),
        limit_ranges(context),
        autoscalers(context),
    ]
}

/// The reason not to recreate a Deployment, or to wait. `others` are Pods about to start in the same namespace.
pub(in crate::steps) fn obstacle(
    context: StepContext<'_>,
    recreation: &Recreation,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    stands_against(context, recreation, &selector(context, recreation), answers, others)
}

/// The same for a given Pod selector.
pub(in crate::steps) fn stands_against(
    context: StepContext<'_>,
    recreation: &Recreation,
    wanted: &BTreeMap<String, String>,
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    let lookup = deployment_lookup(context, recreation);
    let object = match observed(answers, &lookup) {
        ObservedObject::Unknown(why) => return Some(PreflightFailure::Waits(why)),
        ObservedObject::Absent => return Some(PreflightFailure::Waits(format!("{lookup} does not exist"))),
        ObservedObject::Terminating(_) => return Some(PreflightFailure::Waits(format!("{lookup} is being deleted"))),
        ObservedObject::There(object) => object,
    };
    if selector_of(object).as_ref() == Some(wanted) {
        return None;
    }
    let anothers = is_anothers(context, object).map(|why| PreflightFailure::Refused(format!("{lookup} {why}")));
    anothers.or_else(|| obstacles_around(context, recreation, (object, wanted), answers, others))
}

/// Obstacles regardless of ownership.
pub(in crate::steps) fn obstacles_around(
    context: StepContext<'_>,
    recreation: &Recreation,
    (object, wanted): (&Value, &BTreeMap<String, String>),
    answers: &LookupResults,
    others: &[PodSet],
) -> Option<PreflightFailure> {
    let lookup = deployment_lookup(context, recreation);
    if let Some(by) = git_manager(object) {
        let why = format!("{lookup} is applied by {by}, which would recreate the object: remove the object from Git");
        return Some(PreflightFailure::Refused(why));
    }
    let found = among_others(context, recreation, answers, (object, wanted));
    found.unwrap_or_else(|why| Some(PreflightFailure::Waits(why))).or_else(|| {
        let (quotas, limits) = match (list(answers, &quotas(context)), list(answers, &limit_ranges(context))) {
            (Ok(quotas), Ok(limits)) => (quotas, limits),
            (Err(why), _) | (_, Err(why)) => return Some(PreflightFailure::Waits(why)),
        };
        Some(match no_room(quotas, &PodSet::of(object, limits), others)? {
            PreflightFailure::Refused(why) => PreflightFailure::Refused(format!("{lookup}: {why}")),
            PreflightFailure::Waits(why) => PreflightFailure::Waits(format!("{lookup}: {why}")),
        })
    })
}

/// The reason why a Deployment does not belong to the object, or has an unsupported selector.
pub(in crate::steps) fn is_anothers(context: StepContext<'_>, deployment: &Value) -> Option<String> {
    if place(deployment, context.object.uid()).is_none() {
        return Some(
            "has no owner reference to the object. Rename it, or set the owner reference if it belongs to the object"
                .to_owned(),
        );
    }
    let has_labels = selector_of(deployment).is_some();
    (!has_labels).then(|| "selects its Pods by matchExpressions, not only by labels".to_owned())
}

/// Other objects in the namespace that would act on its Pods, or on the Deployment.
fn among_others(
    context: StepContext<'_>,
    recreation: &Recreation,
    answers: &LookupResults,
    (object, wanted): (&Value, &BTreeMap<String, String>),
) -> Result<Option<PreflightFailure>, String> {
    let lookup = deployment_lookup(context, recreation);
    let name = text(object, "/metadata/name");
    if let Some(one) = list(answers, &autoscalers(context))?.iter().find(|one| scales(one, name)) {
        let scaler = text(one, "/metadata/name");
        return Ok(Some(PreflightFailure::Refused(format!(
            "horizontalpodautoscalers.autoscaling {scaler} scales {lookup}: delete the autoscaler for this \
                 step, and create it again afterwards"
        ))));
    }
    let made = new(object, wanted);
    let all = list(answers, &all(context, &recreation.resource))?;
    let takes = |one: &&Value| text(one, "/metadata/name") != name && [object, &made].iter().any(|of| selects(one, of));
    Ok(all.iter().find(takes).map(|one| {
        let other = text(one, "/metadata/name");
        PreflightFailure::Refused(format!(
            "{} {other} also selects the Pods of {lookup}, and would adopt its orphaned ReplicaSets: use a \
                 distinct selector",
            recreation.resource
        ))
    }))
}

/// Pods that a recreated Deployment has yet to start.
pub(crate) fn pending_pods(
    context: StepContext<'_>,
    recreation: &Recreation,
    answers: &LookupResults,
) -> Option<PodSet> {
    let ObservedObject::There(object) = observed(answers, &deployment_lookup(context, recreation)) else { return None };
    let is_new = selector_of(object).as_ref() == Some(&selector(context, recreation));
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    let has_them = number("/status/replicas").unwrap_or_default() >= number("/spec/replicas").unwrap_or(1);
    let limits = list(answers, &limit_ranges(context)).unwrap_or_default();
    (!is_new || !has_them).then(|| PodSet::of(object, limits))
}

/// True if a Deployment selects the Pods of another one.
fn selects(deployment: &Value, other: &Value) -> bool {
    let labels = |label: &str| other.pointer("/spec/template/metadata/labels")?.get(label)?.as_str();
    let selector = deployment.pointer("/spec/selector").unwrap_or(&Value::Null);
    let members = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    members.into_iter().all(|(label, value)| labels(label) == value.as_str())
        && expressions.into_iter().all(|expression| {
            let found = labels(text(expression, "/key"));
            let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
            let is_one = values.into_iter().any(|value| found.is_some() && value.as_str() == found);
            match text(expression, "/operator") {
                "In" => is_one,
                "NotIn" => !is_one,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

fn scales(autoscaler: &Value, name: &str) -> bool {
    let target = |member: &str| text(autoscaler, &format!("/spec/scaleTargetRef/{member}"));
    (target("kind"), target("name")) == ("Deployment", name)
}

fn all(context: StepContext<'_>, resource: &ResourceName) -> LookupRequest {
    LookupRequest::of_all(resource, context.object.namespace())
}

fn quotas(context: StepContext<'_>) -> LookupRequest {
    all(context, &resource("resourcequotas", ""))
}

fn limit_ranges(context: StepContext<'_>) -> LookupRequest {
    all(context, &resource("limitranges", ""))
}

fn autoscalers(context: StepContext<'_>) -> LookupRequest {
    all(context, &resource("horizontalpodautoscalers", "autoscaling"))
}

fn resource(plural: &str, group: &str) -> ResourceName {
    ResourceName { plural: plural.to_owned(), group: group.to_owned() }
}

/// A set of Pods about to start: their usage by quota resource, and the properties that quota scopes match.
#[derive(Clone, Debug)]
pub(crate) struct PodSet {
    needs: BTreeMap<String, f64>,
    is_best_effort: bool,
    priority_class: Option<String>,
}

/// Whether a quota counts some Pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Counts {
    Yes,
    No,
    /// Unknown: a scope depends on properties of existing Pods.
    Unknown,
}

impl PodSet {
    /// The Pods of a Deployment in a namespace with these LimitRanges. Source: `kubernetes
    /// pkg/quota/v1/evaluator/core/pods.go`, `podComputeUsageHelper`.
    pub(in crate::steps) fn of(deployment: &Value, limit_ranges: &[Value]) -> Self {
        let pods = deployment.pointer("/spec/replicas").and_then(Value::as_f64).unwrap_or(1.0);
        let ones = ["count/replicasets.apps", "count/controllerrevisions.apps"];
        let mut needs: BTreeMap<String, f64> = ones.map(|name| (name.to_owned(), 1.0)).into();
        needs.extend(["pods", "count/pods"].map(|name| (name.to_owned(), pods)));
        let spec = deployment.pointer("/spec/template/spec").unwrap_or(&Value::Null);
        let mut is_best_effort = true;
        for what in ["requests", "limits"] {
            for (name, value) in of_pod(spec, what, limit_ranges) {
                is_best_effort &= value <= 0.0 || !["cpu", "memory"].contains(&name.as_str());
                if what == "requests" {
                    needs.insert(name.clone(), value * pods);
                }
                needs.insert(format!("{what}.{name}"), value * pods);
            }
        }
        let priority_class = spec.get("priorityClassName").and_then(Value::as_str).map(str::to_owned);
        Self { needs, is_best_effort, priority_class }
    }

    fn need(&self, name: &str) -> f64 {
        self.needs.get(name).copied().unwrap_or_default()
    }
}

/// The quota that would be exceeded by some Pods, alone or with others about to start in the same namespace. A dry run
/// of the API server cannot answer this: it charges no quota, so each of two Pods fits alone where only one has room.
pub(in crate::steps) fn no_room(quotas: &[Value], pods: &PodSet, others: &[PodSet]) -> Option<PreflightFailure> {
    quotas.iter().find_map(|quota| {
        let counts = counts(quota, pods);
        let concurrent: Vec<&PodSet> = others.iter().filter(|other| self::counts(quota, other) != Counts::No).collect();
        if counts == Counts::No {
            return None;
        }
        pods.needs.iter().find_map(|(name, need)| {
            let number = |path: &str| quota.pointer(path).and_then(|all| all.get(name)?.as_str()).and_then(quantity);
            let hard = number("/spec/hard")?;
            let left = hard - number("/status/used").unwrap_or_default();
            let more: f64 = concurrent.iter().map(|other| other.need(name)).sum();
            let message = format!(
                "the step needs a second set of Pods, but resourcequotas {} leaves {} of {name}, where {need} \
                     are needed",
                text(quota, "/metadata/name"),
                left.max(0.0),
            );
            match (*need > left + ROUNDING, counts) {
                (true, Counts::Yes) => {
                    Some(PreflightFailure::Refused(format!("{message}: raise the quota for the rollout")))
                }
                (true, _) => Some(PreflightFailure::Waits(format!(
                    "{message}, if its scopes count the new Pods (known once the objects exist): raise the \
                         quota for the rollout"
                ))),
                (false, _) if need + more > left + ROUNDING => Some(PreflightFailure::Waits(format!(
                    "{message}, and {more} for other objects in flight: waiting for these"
                ))),
                (false, _) => None,
            }
        })
    })
}

/// Whether a quota counts long-running Pods. Source: `kubernetes pkg/quota/v1/evaluator/core/pods.go`,
/// `podMatchesScopeFunc`.
fn counts(quota: &Value, pods: &PodSet) -> Counts {
    let known = |is: bool| if is { Counts::Yes } else { Counts::No };
    let scopes = quota.pointer("/spec/scopes").and_then(Value::as_array).into_iter().flatten();
    let plain = scopes.map(|scope| (scope.as_str().unwrap_or_default(), "Exists", &[][..]));
    let selected = quota.pointer("/spec/scopeSelector/matchExpressions").and_then(Value::as_array);
    let selected = selected.into_iter().flatten().map(|one| {
        let values = one.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        (text(one, "/scopeName"), text(one, "/operator"), values)
    });
    let all = plain.chain(selected).map(|(scope, operator, values)| match (scope, operator) {
        ("BestEffort", "Exists") => known(pods.is_best_effort),
        ("NotBestEffort", "Exists") => known(!pods.is_best_effort),
        ("Terminating", "Exists") => Counts::No,
        ("NotTerminating", "Exists") => Counts::Yes,
        // A Pod without class receives the default class of the cluster.
        ("PriorityClass", operator) => pods.priority_class.as_ref().map_or(Counts::Unknown, |name| {
            let is_one = values.iter().any(|value| value.as_str() == Some(name));
            match operator {
                "In" => known(is_one),
                "NotIn" => known(!is_one),
                "Exists" => Counts::Yes,
                _ => Counts::No,
            }
        }),
        _ => Counts::Unknown,
    });
    all.fold(Counts::Yes, |whole, one| match (whole, one) {
        (Counts::No, _) | (_, Counts::No) => Counts::No,
        (Counts::Unknown, _) | (_, Counts::Unknown) => Counts::Unknown,
        _ => Counts::Yes,
    })
}

/// The usage of one Pod: the sum of its containers and sidecars (`restartPolicy: Always`), or the largest init
/// container if greater. Source: `kubernetes staging/src/k8s.io/component-helpers/resource/helpers.go`, `PodRequests`.
fn of_pod(spec: &Value, what: &str, limit_ranges: &[Value]) -> BTreeMap<String, f64> {
    let (mut all, mut sidecars, mut most) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for container in containers(spec, "containers") {
        add(&mut all, &of_container(container, what, limit_ranges));
    }
    for container in containers(spec, "initContainers") {
        let own = of_container(container, what, limit_ranges);
        let mut then: BTreeMap<String, f64> = sidecars.clone();
        add(&mut then, &own);
        if text(container, "/restartPolicy") == "Always" {
            add(&mut all, &own);
            sidecars.clone_from(&then);
        }
        raise(&mut most, &then);
    }
    raise(&mut all, &most);
    for (name, value) in amounts(spec.get("overhead")) {
        // A resource without limit remains without.
        if what == "requests" || all.contains_key(&name) {
            *all.entry(name).or_default() += value;
        }
    }
    // Pod-level resources replace those of containers.
    all.extend(amounts(spec.pointer(&format!("/resources/{what}"))));
    all
}

/// The requests or limits of a container, with defaults: its limit, then the LimitRange. Source: `kubernetes
/// plugin/pkg/admission/limitranger/admission.go`, `mergeContainerResources`.
fn of_container(container: &Value, what: &str, limit_ranges: &[Value]) -> BTreeMap<String, f64> {
    let member = if what == "requests" { "defaultRequest" } else { "default" };
    let ranges = limit_ranges.iter().filter_map(|range| range.pointer("/spec/limits")?.as_array()).flatten();
    let mut all = BTreeMap::new();
    for item in ranges.filter(|item| text(item, "/type") == "Container") {
        all.extend(amounts(item.get(member)));
    }
    if what == "requests" {
        all.extend(amounts(container.pointer("/resources/limits")));
    }
    all.extend(amounts(container.pointer(&format!("/resources/{what}"))));
    all
}

fn containers<'v>(spec: &'v Value, member: &str) -> impl Iterator<Item = &'v Value> {
    spec.get(member).and_then(Value::as_array).into_iter().flatten()
}

fn add(all: &mut BTreeMap<String, f64>, more: &BTreeMap<String, f64>) {
    more.iter().for_each(|(name, value)| *all.entry(name.clone()).or_default() += value);
}

fn raise(all: &mut BTreeMap<String, f64>, most: &BTreeMap<String, f64>) {
    for (name, value) in most {
        let known = all.entry(name.clone()).or_default();
        *known = known.max(*value);
    }
}

fn amounts(named: Option<&Value>) -> BTreeMap<String, f64> {
    let named = named.and_then(Value::as_object).into_iter().flatten();
    let number = |value: &Value| value.as_str().and_then(quantity).or_else(|| value.as_f64());
    named.filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect()
}

/// Parses a Kubernetes quantity to a number. Source: `apimachinery pkg/api/resource/suffix.go`.
fn quantity(text: &str) -> Option<f64> {
    let digits = text.find(|sign: char| sign.is_ascii_alphabetic() && !matches!(sign, 'e' | 'E')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    if let Some(exa) = number.strip_suffix('E') {
        // `E` at the end is a suffix, otherwise an exponent.
        return Some(exa.parse::<f64>().ok()? * if suffix == "i" { 2_f64.powi(60) } else { 1e18 });
    }
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "Ki" => 2_f64.powi(10),
        "Mi" => 2_f64.powi(20),
        "Gi" => 2_f64.powi(30),
        "Ti" => 2_f64.powi(40),
        "Pi" => 2_f64.powi(50),
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// Far less than any request: one millionth.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_numbers() {
        for (text, number) in [
            ("3", 3.0),
            ("100m", 0.1),
            ("1.5", 1.5),
            ("1Ki", 1024.0),
            ("2Gi", 2_147_483_648.0),
            ("1e3", 1000.0),
            ("1E", 1e18),
            ("-1", -1.0),
        ] {
            assert_eq!(quantity(text), Some(number), "{text}");
        }
        assert_eq!((quantity("x"), quantity("1x")), (None, None));
    }

    fn deployment(pod: Value) -> Value {
        json!({"spec": {"replicas": 2, "template": {"spec": pod}}})
    }

    fn quota(hard: Value, used: Value) -> Value {
        json!({"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"used": used}})
    }

    fn asking() -> Value {
        json!({"containers": [{"resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}}]})
    }

    #[test]
    fn quota_without_capacity_refuses() {
        let pods = PodSet::of(&deployment(asking()), &[]);
        let refuses = |hard: Value, used: Value| no_room(&[quota(hard, used)], &pods, &[]);
        assert_eq!(refuses(json!({"pods": "4"}), json!({"pods": "2"})), None);
        let why = refuses(json!({"pods": "3"}), json!({"pods": "2"})).unwrap().into_why();
        assert!(
            why.contains("resourcequotas q leaves 1 of pods, where 2 are needed: raise the quota for the rollout"),
            "{why}"
        );
        assert_eq!(refuses(json!({"cpu": "200m"}), json!({"cpu": "0"})), None);
        assert!(refuses(json!({"requests.cpu": "200m"}), json!({"requests.cpu": "1m"})).is_some());
        assert!(refuses(json!({"requests.memory": "1Gi"}), json!({})).is_some(), "a limit is a request");
        assert!(
            refuses(json!({"count/controllerrevisions.apps": "1"}), json!({"count/controllerrevisions.apps": "1"}))
                .is_some()
        );
    }

    #[test]
    fn quota_scopes_select_pods() {
        let refuses = |pod: Value, spec: Value| {
            let mut quota = quota(json!({"pods": "1"}), json!({}));
            spec.as_object().unwrap().iter().for_each(|(name, value)| quota["spec"][name] = value.clone());
            no_room(&[quota], &PodSet::of(&deployment(pod), &[]), &[])
        };
        let best_effort = json!({"containers": [{"name": "a"}]});
        let mut important = asking();
        important["priorityClassName"] = json!("high");
        let scopes = |scope: &str| json!({"scopes": [scope]});
        let class = |operator: &str, values: Value| json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}});
        let (no, yes) = (None, Some(true));
        for (pod, spec, refused) in [
            (asking(), scopes("BestEffort"), no),
            (asking(), scopes("NotBestEffort"), yes),
            (best_effort.clone(), scopes("BestEffort"), yes),
            (best_effort, scopes("NotBestEffort"), no),
            (asking(), scopes("Terminating"), no),
            (asking(), scopes("NotTerminating"), yes),
            (important.clone(), class("In", json!(["high"])), yes),
            (important.clone(), class("In", json!(["low"])), no),
            (important.clone(), class("NotIn", json!(["low"])), yes),
            (important.clone(), class("Exists", json!([])), yes),
            (important, class("DoesNotExist", json!([])), no),
            // The effective class is unknown.
            (asking(), class("In", json!(["high"])), Some(false)),
            (asking(), scopes("CrossNamespacePodAffinity"), Some(false)),
            (asking(), scopes("OfTomorrow"), Some(false)),
        ] {
            let found = refuses(pod, spec.clone()).map(|ahead| matches!(ahead, PreflightFailure::Refused(_)));
            assert_eq!(found, refused, "{spec}");
        }
    }

    #[test]
    fn pods_include_namespace_defaults() {
        let limits = json!({"spec": {"limits": [
            {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}},
            {"type": "Pod", "max": {"cpu": "8"}},
        ]}});
        let requests = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = requests("2");
        sidecar["restartPolicy"] = json!("Always");
        for (pod, cpu, limit) in [
            (json!({"containers": [{"name": "a"}, {"name": "b"}]}), 1.0, 2.0),
            (json!({"containers": [requests("3")]}), 3.0, 1.0),
            // An own limit is also the request.
            (json!({"containers": [{"resources": {"limits": {"cpu": "4"}}}]}), 4.0, 4.0),
            (json!({"containers": [requests("1")], "initContainers": [requests("3")]}), 3.0, 1.0),
            (json!({"containers": [requests("1")], "initContainers": [sidecar]}), 3.0, 2.0),
            (json!({"containers": [requests("1")], "initContainers": [sidecar, requests("3")]}), 5.0, 2.0),
            (json!({"containers": [requests("1")], "overhead": {"cpu": "250m"}}), 1.25, 1.25),
            (json!({"containers": [requests("1")], "resources": {"requests": {"cpu": "6"}}}), 6.0, 1.0),
        ] {
            let pods = PodSet::of(&deployment(pod.clone()), std::slice::from_ref(&limits));
            assert_eq!((pods.need("requests.cpu"), pods.need("limits.cpu")), (cpu * 2.0, limit * 2.0), "{pod}");
        }
    }

    #[test]
    fn neighbour_pods_use_quota() {
        let pods = PodSet::of(&deployment(asking()), &[]);
        let quota = [quota(json!({"pods": "9"}), json!({"pods": "4"}))];
        let concurrent = vec![pods.clone(); 2];
        assert_eq!(no_room(&quota, &pods, &concurrent[..1]), None);
        let why = no_room(&quota, &pods, &concurrent).unwrap();
        assert!(
            matches!(&why, PreflightFailure::Waits(why) if why.contains("and 4 for other objects in flight")),
            "{why:?}"
        );
    }
}
