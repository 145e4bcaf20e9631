//! The server has no write permission, in the manifests, in the chart, and by the documented role.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The documents of all YAML files below a folder that are applied unchanged.
fn applied(folder: &Path) -> Vec<Value> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            all.extend(applied(&entry));
        } else if entry.extension().is_some_and(|end| end == "yaml") {
            all.extend(serde_saphyr::from_multiple::<Value>(&fs::read_to_string(&entry).unwrap()).unwrap());
        }
    }
    all
}

/// No Pod of a Deployment has a token, no role is bound to its service account, and the only role belongs to the
/// migration Job.
#[test]
fn manifests_give_server_no_rights() {
    let documents = applied(Path::new("manifests/plain"));
    let of = |kind: &str| documents.iter().filter(|one| one["kind"] == kind).collect::<Vec<_>>();
    let deployments = of("Deployment");
    assert!(!deployments.is_empty());
    for deployment in &deployments {
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["automountServiceAccountToken"], false, "{deployment:#}");
        for binding in [of("ClusterRoleBinding"), of("RoleBinding")].concat() {
            for subject in binding["subjects"].as_array().unwrap() {
                assert_ne!(subject["name"], pod["serviceAccountName"], "{binding:#}");
            }
        }
    }
    for role in [of("ClusterRole"), of("Role")].concat() {
        assert_eq!(role["metadata"]["labels"]["app.kubernetes.io/component"], "migrate", "{role:#}");
    }
}

/// The same for the chart: each role belongs to another service account than that of the server.
#[test]
fn chart_role_is_job_only() {
    let mut with_roles = Vec::new();
    let files = |folder: &str| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let templates = files("manifests/chart/templates").filter(|path| path.is_file());
    for template in templates.chain(files("manifests/chart/templates/tests")) {
        let text = fs::read_to_string(&template).unwrap();
        let is_role = |line: &str| ["kind: Role", "kind: ClusterRole"].iter().any(|kind| line.starts_with(kind));
        if text.lines().any(is_role) {
            with_roles.push(template.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(with_roles, ["migrate.yaml"]);
    let deployment = fs::read_to_string("manifests/chart/templates/deployment.yaml").unwrap();
    assert!(deployment.contains("\n      automountServiceAccountToken: false\n"));
}

/// A server with mutations can only read the objects of its facts.
#[test]
fn documented_server_role_is_read_only() {
    let page = fs::read_to_string("docs/rights.md").unwrap();
    let sections: Vec<&str> = page.split("\n## ").filter(|section| section.starts_with("serve")).collect();
    assert!(!sections.is_empty());
    for block in sections.iter().flat_map(|section| section.split("```yaml\n").skip(1)) {
        let role: Value = serde_saphyr::from_str(block.split("```").next().unwrap()).unwrap();
        for rule in role["rules"].as_array().unwrap() {
            assert_eq!(rule["verbs"], serde_json::json!(["list", "watch"]), "{rule}");
        }
    }
}
