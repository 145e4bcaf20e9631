//! What enabling says on the way, and what came of it.

use pointsman_cluster::{DryRun, EnableEvent, Enabled};
use serde_json::json;

use crate::commands::json_tree::JsonTree;
use crate::commands::output::{numbered, talk, warn};

/// Says a line to the person.
pub(super) fn tell(event: EnableEvent, dry_run: Option<DryRun>) {
    match event {
        EnableEvent::Plan(steps) => numbered(&steps),
        EnableEvent::Answers { endpoint, probes } => {
            talk(&format!("{endpoint} gives all {probes} answers that it should"))
        }
        EnableEvent::TakenOver { document, conflict } => {
            let takes_over = if dry_run.is_some() { "would take over" } else { "takes over" };
            talk(&format!("{takes_over} of {document}: {conflict}"));
        }
        EnableEvent::BundleReplaced { document, managers } => {
            let managers = if managers.is_empty() { "an unknown manager".to_owned() } else { managers.join(", ") };
            let replaces = if dry_run.is_some() { "would replace" } else { "replaces" };
            talk(&format!("{replaces} the caBundle of {document}, which {managers} has set"));
        }
        EnableEvent::BundleInjected { document, annotation, value } => talk(&format!(
            "warning: cert-manager will overwrite the caBundle of {document}: it has the annotation {annotation} ({value}). \
             Take it off, or run enable with --cert-manager {value} instead of --ca-file"
        )),
        EnableEvent::Applied { document } => talk(&format!("applied {document}")),
        EnableEvent::Reads { version } => talk(&format!("{version} can be read")),
        EnableEvent::Creates { version, refused: None } => talk(&format!("an object can be created at {version}")),
        EnableEvent::Creates { version, refused: Some(reason) } => {
            talk(&format!("an object made up at {version} was looked at, and refused: {reason}"))
        }
        EnableEvent::NoteLeft { annotation, reason } => warn(&format!(
            "the annotation {annotation}, of a disable that was not ended, could not be taken off: {reason}: run enable again"
        )),
        EnableEvent::PutBack => talk("the CRD was put back"),
        _ => {}
    }
}

/// The result, for people.
pub(super) fn sentence(enabled: &Enabled, dry_run: Option<DryRun>) -> String {
    let Enabled { crd, endpoints, versions, unchanged, .. } = enabled;
    let tested = format!("{} endpoint{} tested", endpoints.len(), if endpoints.len() == 1 { "" } else { "s" });
    match (dry_run.is_some(), unchanged) {
        (true, true) => format!("{crd} is enabled already; {tested}\n"),
        (true, false) => format!("{crd} can be enabled; {tested}, nothing was changed\n"),
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
