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
        "Nothing of this kind is written unjudged. Run two replicas, so that a restart does not mean a refusal.",
    ),
    ("failurePolicy: Ignore", "A write goes on where it does not answer."),
    (
        "matchConditions:",
        "An object that is going is let go, also while no server is up: its finalizers are removed by updates.",
    ),
    (
        "matchPolicy: Equivalent",
        "All served versions are named below, so nothing is converted for the call; a later one would be.",
    ),
    ("objectSelector:", "Matched against the old object and the new one: a change of the label reaches both versions."),
    (
        "reinvocationPolicy: IfNeeded",
        "Another webhook may change the spec after us, and the hash must be of what is stored.",
    ),
    ("sideEffects: None", "Dry runs are answered as any other."),
];

const OF_MUTATIONS: [(&str, &str); 8] = [
    (
        "failurePolicy: Fail",
        "What the mutation is about is not written while no server answers. Run two replicas, so that a rollout-out does not \
         mean a refusal.",
    ),
    ("failurePolicy: Ignore", "A write goes on as it was sent, where no server answers."),
    (
        "matchConditions:",
        "An object that is going is let go, also while no server is up: its finalizers are removed by updates.",
    ),
    ("matchPolicy: Equivalent", "A write in another version of the resource is converted for the call."),
    ("namespaceSelector:", "The namespaces of the mutation; without any, all but that of the cluster and our own."),
    ("objectSelector:", "Matched against the old object and the new one; the server looks at the new one."),
    ("reinvocationPolicy: IfNeeded", "Another webhook may change after us what the mutation has made so."),
    ("sideEffects: None", "Dry runs are answered as any other."),
];

const OF_MUTATION_POLICIES: [(&str, &str); 6] = [
    ("failurePolicy: Fail", "The API server evaluates it by itself: a write is refused where it cannot."),
    ("failurePolicy: Ignore", "A write goes on as it was sent, where the API server cannot evaluate it."),
    ("matchConditions:", "An object that is going is let go: its finalizers are removed by updates."),
    (
        "matchPolicy: Equivalent",
        "A write in another version of a custom resource is converted for it; of another resource it cannot be.",
    ),
    ("namespaceSelector:", "The namespaces of the mutation; without any, all but that of the cluster."),
    ("reinvocationPolicy: IfNeeded", "Another webhook or policy may change after it what the mutation has made so."),
];

const OF_POLICIES: [(&str, &str); 4] = [
    ("failurePolicy: Fail", "The API server evaluates it by itself: it holds while no server of ours is up."),
    ("matchConditions:", "An object that is going is let go: its finalizers are removed by updates."),
    ("matchPolicy: Equivalent", "Whatever version a write comes in."),
    ("matchPolicy: Exact", "Whoever writes in an older version need not know what is requested."),
];
