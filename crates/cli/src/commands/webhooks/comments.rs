//! Comments in printed documents that explain their settings.

use crate::commands::{json_tree::JsonTree, yaml};

/// The purpose of webhooks: the settings are similar, with different reasons.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum WebhookTask {
    /// Admission of a pointsman kind.
    OfOurs,
    /// Mutations.
    OfMutations,
}

/// Documents in YAML with comments.
pub(super) fn commented(documents: &[JsonTree], task: WebhookTask) -> String {
    let texts: Vec<String> = documents.iter().map(|one| document(one, task)).collect();
    texts.join("---\n")
}

fn document(document: &JsonTree, task: WebhookTask) -> String {
    let kind = document.get("kind").and_then(JsonTree::as_str).unwrap_or_default();
    let why = match (kind.ends_with("WebhookConfiguration"), task) {
        (true, WebhookTask::OfOurs) => &OF_WEBHOOKS[..],
        (true, WebhookTask::OfMutations) => &OF_MUTATIONS[..],
        (false, _) if kind == "MutatingAdmissionPolicy" => &OF_MUTATION_POLICIES[..],
        (false, _) => &OF_POLICIES[..],
    };
    let mut out = String::new();
    for line in yaml::write(document).lines() {
        let plain = line.trim_start().trim_start_matches("- ");
        if let Some((_, why)) = why.iter().find(|(key, _)| plain.starts_with(key)) {
            let indent = line.len() - plain.len();
            let indent = if line.trim_start().starts_with("- ") { indent.saturating_sub(2) } else { indent };
            out.push_str(&format!("{:indent$}# {why}\n", ""));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

const OF_WEBHOOKS: [(&str, &str); 7] = [
    (
        "failurePolicy: Fail",
        "While no replica answers, writes of this kind are refused. Run two replicas, so that a restart refuses no write.",
    ),
    ("failurePolicy: Ignore", "Writes are accepted while no server responds."),
    (
        "matchConditions:",
        "Terminating objects are excluded, so that their finalizers can be removed while no server is up.",
    ),
    (
        "matchPolicy: Equivalent",
        "All served versions are listed, so the API server calls without a conversion; without the list, \
             objects of a later version would be converted.",
    ),
    ("objectSelector:", "Matched against the old and the new object: a change of the label reaches both versions."),
    (
        "reinvocationPolicy: IfNeeded",
        "Another webhook may change the spec later, and the hash must match the stored object.",
    ),
    ("sideEffects: None", "Dry runs are answered as any other."),
];

const OF_MUTATIONS: [(&str, &str); 8] = [
    (
        "failurePolicy: Fail",
        "Writes of these objects fail while no server is up. Run two replicas, so that a restart refuses no write.",
    ),
    ("failurePolicy: Ignore", "Writes are accepted unchanged while no server responds."),
    (
        "matchConditions:",
        "Terminating objects are excluded, so that their finalizers can be removed while no server is up.",
    ),
    ("matchPolicy: Equivalent", "A write in another version of the resource is converted for the call."),
    (
        "namespaceSelector:",
        "The namespaces of the mutation; by default all, except those of the cluster and of pointsman.",
    ),
    ("objectSelector:", "Matched against the old and the new object; the server evaluates the new one."),
    ("reinvocationPolicy: IfNeeded", "Another webhook may change the field later, after the mutation."),
    ("sideEffects: None", "Dry runs are answered as any other."),
];

const OF_MUTATION_POLICIES: [(&str, &str); 6] = [
    ("failurePolicy: Fail", "The API server evaluates the policy; a failed evaluation refuses the write."),
    ("failurePolicy: Ignore", "Writes are accepted unchanged if the API server cannot evaluate the policy."),
    ("matchConditions:", "Terminating objects are excluded: their finalizers are removed by updates."),
    (
        "matchPolicy: Equivalent",
        "The API server converts a write in another version of a custom resource; other resources cannot be \
             converted.",
    ),
    ("namespaceSelector:", "The namespaces of the mutation; by default all, except those of the cluster."),
    ("reinvocationPolicy: IfNeeded", "Another webhook or policy may change the field later, after the mutation."),
];

const OF_POLICIES: [(&str, &str); 4] = [
    ("failurePolicy: Fail", "The API server evaluates the policy, also while no pointsman server runs."),
    ("matchConditions:", "Terminating objects are excluded: their finalizers are removed by updates."),
    ("matchPolicy: Equivalent", "Writes in every version."),
    ("matchPolicy: Exact", "A client of an older version may not have the request field."),
];
