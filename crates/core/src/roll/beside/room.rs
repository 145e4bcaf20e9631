//! Whether a namespace has room for a second set of Pods of a Deployment.

use std::collections::BTreeMap;

use serde_json::Value;

use super::seen::text;

/// What a second set of Pods takes, by the names of quotas.
/// Source: `kubernetes pkg/quota/v1/evaluator/core/pods.go`, `podComputeUsageHelper`.
pub(super) fn needs(deployment: &Value) -> BTreeMap<String, f64> {
    let pods = deployment.pointer("/spec/replicas").and_then(Value::as_f64).unwrap_or(1.0);
    let mut needs = BTreeMap::new();
    for name in ["pods", "count/pods"] {
        needs.insert(name.to_owned(), pods);
    }
    needs.insert("count/replicasets.apps".to_owned(), 1.0);
    let spec = deployment.pointer("/spec/template/spec").unwrap_or(&Value::Null);
    for what in ["requests", "limits"] {
        let mut all = summed(spec, "containers", what);
        for (name, value) in greatest(spec, "initContainers", what) {
            let most = all.entry(name).or_default();
            *most = most.max(value);
        }
        for (name, value) in all {
            if what == "requests" {
                needs.insert(name.clone(), value * pods);
            }
            needs.insert(format!("{what}.{name}"), value * pods);
        }
    }
    needs
}

/// Why quotas leave no room for it. Quotas for Pods of other sorts than those of a Deployment are passed over.
pub(super) fn quota_refuses(quotas: &[Value], needs: &BTreeMap<String, f64>) -> Option<String> {
    quotas.iter().filter(|quota| is_for_deployments(quota)).find_map(|quota| {
        let member = |what: &str, name: &str| {
            quota.get("status").and_then(|status| status.get(what)?.get(name)?.as_str()).and_then(quantity)
        };
        needs.iter().find_map(|(name, need)| {
            let hard = quota.pointer("/spec/hard")?.get(name)?.as_str().and_then(quantity)?;
            let used = member("used", name).unwrap_or_default();
            (used + need > hard + ROUNDING).then(|| {
                format!(
                    "for a while it needs a second set of Pods, and resourcequotas {} leaves {} of {name}, where {need} are \
                     needed: raise it for so long",
                    text(quota, "/metadata/name"),
                    (hard - used).max(0.0),
                )
            })
        })
    })
}

/// Whether a quota counts Pods that run on and on, of whatever priority.
fn is_for_deployments(quota: &Value) -> bool {
    let scopes = quota.pointer("/spec/scopes").and_then(Value::as_array);
    let has_selector = quota.pointer("/spec/scopeSelector").is_some_and(|selector| !selector.is_null());
    !has_selector && scopes.into_iter().flatten().all(|scope| scope == "NotTerminating")
}

fn summed(spec: &Value, list: &str, what: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for (name, value) in each(spec, list, what) {
        *all.entry(name).or_insert(0.0) += value;
    }
    all
}

fn greatest(spec: &Value, list: &str, what: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for (name, value) in each(spec, list, what) {
        let most = all.entry(name).or_insert(0.0_f64);
        *most = most.max(value);
    }
    all
}

/// What each container asks for. What it does not ask for is what it may have at most.
fn each(spec: &Value, list: &str, what: &str) -> Vec<(String, f64)> {
    let containers = spec.get(list).and_then(Value::as_array).into_iter().flatten();
    let of = |container: &Value| {
        let resources =
            |what: &str| container.pointer(&format!("/resources/{what}")).and_then(Value::as_object).cloned();
        let mut named = resources("limits").filter(|_| what == "requests").unwrap_or_default();
        named.extend(resources(what).unwrap_or_default());
        named
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_str().and_then(quantity).or_else(|| value.as_f64())?)))
            .collect::<Vec<_>>()
    };
    containers.flat_map(of).collect()
}

/// A quantity as Kubernetes writes it, as a number.
/// Source: `apimachinery pkg/api/resource/suffix.go`.
fn quantity(text: &str) -> Option<f64> {
    let digits = text.find(|sign: char| sign.is_ascii_alphabetic() && !matches!(sign, 'e' | 'E')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    if let Some(exa) = number.strip_suffix('E') {
        // `E` alone is a suffix, and before digits an exponent.
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

/// Far less than anybody asks for: a thousandth of a thousandth.
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

    #[test]
    fn a_quota_refuses_what_it_leaves_no_room_for() {
        let container = json!({"resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}});
        let deployment = json!({"spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}}});
        let quota = |hard: Value, used: Value| json!({"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"used": used}});
        let refuses = |quota: Value| quota_refuses(&[quota], &needs(&deployment));
        assert_eq!(refuses(quota(json!({"pods": "4"}), json!({"pods": "2"}))), None);
        let why = refuses(quota(json!({"pods": "3"}), json!({"pods": "2"}))).unwrap();
        assert!(why.contains("resourcequotas q leaves 1 of pods, where 2 are needed"), "{why}");
        assert_eq!(refuses(quota(json!({"cpu": "200m"}), json!({"cpu": "0"}))), None);
        assert!(refuses(quota(json!({"requests.cpu": "200m"}), json!({"requests.cpu": "1m"}))).is_some());
        assert!(refuses(quota(json!({"requests.memory": "1Gi"}), json!({}))).is_some(), "a limit is a request");
        let mut scoped = quota(json!({"pods": "1"}), json!({}));
        scoped["spec"]["scopes"] = json!(["BestEffort"]);
        assert_eq!(refuses(scoped), None);
    }
}
