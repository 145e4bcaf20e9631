//! What arming says on the way, and what came of it.

use pointsman_cluster::{ArmEvent, Armed, DryRun};
use serde_json::json;

use crate::commands::json_tree::JsonTree;
use crate::commands::output::{numbered, talk, warn};

/// Says a line to the person.
pub(super) fn tell(event: ArmEvent, dry_run: Option<DryRun>) {
    match event {
        ArmEvent::Plan(steps) => numbered(&steps),
        ArmEvent::Answers { endpoint, probes } => {
            talk(&format!("{endpoint} gives all {probes} answers that it should"))
        }
        ArmEvent::TakenOver { document, conflict } => {
            let takes_over = if dry_run.is_some() { "would take over" } else { "takes over" };
            talk(&format!("{takes_over} of {document}: {conflict}"));
        }
        ArmEvent::BundleReplaced { document, managers } => {
            let managers = if managers.is_empty() { "an unknown manager".to_owned() } else { managers.join(", ") };
            let replaces = if dry_run.is_some() { "would replace" } else { "replaces" };
            talk(&format!("{replaces} the caBundle of {document}, which {managers} has set"));
        }
        ArmEvent::BundleInjected { document, annotation, value } => talk(&format!(
            "warning: cert-manager will overwrite the caBundle of {document}: it has the annotation {annotation} ({value}). \
             Take it off, or run arm with --cert-manager {value} instead of --ca-file"
        )),
        ArmEvent::Applied { document } => talk(&format!("applied {document}")),
        ArmEvent::Reads { version } => talk(&format!("{version} can be read")),
        ArmEvent::Creates { version, refused: None } => talk(&format!("an object can be created at {version}")),
        ArmEvent::Creates { version, refused: Some(reason) } => {
            talk(&format!("an object made up at {version} was looked at, and refused: {reason}"))
        }
        ArmEvent::NoteLeft { annotation, reason } => warn(&format!(
            "the annotation {annotation}, of a disarm that was not ended, could not be taken off: {reason}: run arm again"
        )),
        ArmEvent::PutBack => talk("the CRD was put back"),
        _ => {}
    }
}

/// The result, for people.
pub(super) fn sentence(armed: &Armed, dry_run: Option<DryRun>) -> String {
    let Armed { crd, endpoints, versions, unchanged, .. } = armed;
    let tested = format!("{} endpoint{} tested", endpoints.len(), if endpoints.len() == 1 { "" } else { "s" });
    match (dry_run.is_some(), unchanged) {
        (true, true) => format!("{crd} is armed already; {tested}\n"),
        (true, false) => format!("{crd} can be armed; {tested}, nothing was changed\n"),
        (false, _) => format!("{crd} is armed; {tested}, {} can be read\n", versions.join(" and ")),
    }
}

/// The result, for programs.
pub(super) fn document(armed: &Armed, dry_run: Option<DryRun>) -> anyhow::Result<JsonTree> {
    let Armed { crd, steps, endpoints, versions, unchanged } = armed;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let value = json!({
        "crd": crd, "endpoints": endpoints, "versions": versions, "armedBefore": unchanged, "steps": steps,
        "dryRun": dry_run.map(DryRun::name),
    });
    JsonTree::from_json(&value.to_string())
}
