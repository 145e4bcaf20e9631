//! Progress and result of `enable`.

use pointsman_cluster::{DryRun, EnableEvent, Enabled};
use serde_json::json;

use crate::commands::json_tree::JsonTree;
use crate::commands::output::{numbered, talk, warn};

/// Prints an event.
pub(super) fn print_event(event: EnableEvent, dry_run: Option<DryRun>) {
    match event {
        EnableEvent::Plan(steps) => numbered(&steps),
        EnableEvent::Answers { endpoint, probes } => talk(&format!("{endpoint} passes all {probes} test conversions")),
        EnableEvent::TakenOver { document, conflict } => {
            let takes_over = if dry_run.is_some() { "would take ownership" } else { "takes ownership" };
            talk(&format!("{takes_over} of {document}: {conflict}"));
        }
        EnableEvent::BundleReplaced { document, managers } => {
            let managers = if managers.is_empty() { "an unknown manager".to_owned() } else { managers.join(", ") };
            let replaces = if dry_run.is_some() { "would replace" } else { "replaces" };
            talk(&format!("{replaces} the caBundle of {document}, set by {managers}"));
        }
        EnableEvent::BundleInjected { document, annotation, value } => talk(&format!(
            "warning: cert-manager will overwrite the caBundle of {document} because of the annotation \
                 {annotation} ({value}). Remove the annotation, or run enable with --cert-manager {value} instead \
                 of --ca-file"
        )),
        EnableEvent::Applied { document } => talk(&format!("applied {document}")),
        EnableEvent::Reads { version } => talk(&format!("{version} can be read")),
        EnableEvent::Creates { version, refused: None } => talk(&format!("an object can be created at {version}")),
        EnableEvent::Creates { version, refused: Some(reason) } => {
            talk(&format!("the API server refused a sample object at {version} (dry run): {reason}"))
        }
        EnableEvent::NoteLeft { annotation, reason } => warn(&format!(
            "cannot remove the annotation {annotation} of an interrupted disable: {reason}. Run enable again"
        )),
        EnableEvent::PutBack => talk("restored the previous CRD"),
        _ => {}
    }
}

/// The result, for people.
pub(super) fn sentence(enabled: &Enabled, dry_run: Option<DryRun>) -> String {
    let Enabled { crd, endpoints, versions, unchanged, .. } = enabled;
    let tested = format!("{} endpoint{} tested", endpoints.len(), if endpoints.len() == 1 { "" } else { "s" });
    match (dry_run.is_some(), unchanged) {
        (true, true) => format!("{crd} is already enabled; {tested}\n"),
        (true, false) => format!("{crd} can be enabled; {tested}; the cluster is unchanged\n"),
        (false, _) => format!("{crd} is enabled; {tested}, {} can be read\n", versions.join(" and ")),
    }
}

/// The result, for programs.
pub(super) fn document(enabled: &Enabled, dry_run: Option<DryRun>) -> anyhow::Result<JsonTree> {
    let Enabled { crd, steps, endpoints, versions, unchanged } = enabled;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let value = json!({
        "crd": crd, "endpoints": endpoints, "versions": versions, "enabledBefore": unchanged, "steps": steps,
        "dryRun": dry_run.map(DryRun::name),
    });
    JsonTree::from_json(&value.to_string())
}
