//! Progress and result of `rotate-ca`.

use pointsman_cluster::{DryRun, RotateEvent, RotateStep, Rotated, Trusting};
use serde_json::json;

use crate::commands::json_tree::JsonTree;
use crate::commands::output::{counted, numbered, talk};

/// The output of a rotation.
#[derive(Default)]
pub(super) struct RotatePrinter {
    /// The number of CRD changes so far.
    crd_changes: u32,
}

impl RotatePrinter {
    pub(super) fn on_event(&mut self, event: RotateEvent) {
        match event {
            RotateEvent::Plan(steps) => numbered(&steps),
            RotateEvent::Done(step) => talk(&self.done(&step)),
            RotateEvent::Accepted(step) => talk(&accepted(&step)),
            RotateEvent::Settling(time) => {
                talk(&format!("waiting {} s until every API server has seen the change", time.as_secs()))
            }
            RotateEvent::Shows { endpoint } => talk(&format!("{endpoint} shows a certificate of the new authority")),
            RotateEvent::Waiting { reason } => talk(&format!("waiting: {reason}")),
            _ => {}
        }
    }

    fn done(&mut self, step: &RotateStep) -> String {
        if !of(step).is_some_and(|one| one.is_crd) {
            return format!("done: {step}");
        }
        self.crd_changes += 1;
        format!("done: {step} (change {} of a CRD: the API server rebuilds its caches)", self.crd_changes)
    }
}

fn accepted(step: &RotateStep) -> String {
    format!("would {step}")
}

/// The document that a step changes.
fn of(step: &RotateStep) -> Option<&Trusting> {
    match step {
        RotateStep::Publish(one) | RotateStep::Drop(one) | RotateStep::Restore(one) => Some(one),
        _ => None,
    }
}

/// The result, for people.
pub(super) fn sentence(rotated: &Rotated, dry_run: Option<DryRun>) -> String {
    let Rotated { steps, documents, endpoints, crd_changes } = rotated;
    let all = counted(documents.len(), "document");
    if dry_run.is_some() {
        return format!("the authority in {all} can be replaced; the cluster is unchanged\n");
    }
    let shown = format!("{} it", if endpoints.len() == 1 { "shows" } else { "show" });
    let shown = format!("{} {shown}", counted(endpoints.len(), "endpoint"));
    match steps.iter().any(|step| of(step).is_some()) {
        true => format!(
            "only the new authority is trusted in {all}, and {shown}; {} of CRDs\n",
            counted(*crd_changes as usize, "change")
        ),
        false => format!("only this authority is already trusted in {all}, and {shown}; no changes were needed\n"),
    }
}

/// The result, for programs.
pub(super) fn document(rotated: &Rotated, dry_run: Option<DryRun>) -> anyhow::Result<JsonTree> {
    let Rotated { steps, documents, endpoints, crd_changes } = rotated;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let value = json!({
        "steps": steps, "documents": documents, "endpoints": endpoints, "crdChanges": crd_changes,
        "dryRun": dry_run.map(DryRun::name),
    });
    JsonTree::from_json(&value.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dry_run_prints_plan() {
        let webhooks = Trusting { document: "ValidatingWebhookConfiguration w".to_owned(), is_crd: false };
        let text = "would trust the new authority in addition to the old one in ValidatingWebhookConfiguration w";
        assert_eq!(accepted(&RotateStep::Publish(webhooks)), text);
    }

    #[test]
    fn each_crd_change_is_counted() {
        let crd = Trusting { document: "CustomResourceDefinition w".to_owned(), is_crd: true };
        let webhooks = Trusting { document: "ValidatingWebhookConfiguration w".to_owned(), is_crd: false };
        let mut printer = RotatePrinter::default();
        assert!(!printer.done(&RotateStep::Publish(webhooks)).contains("change"));
        assert!(printer.done(&RotateStep::Publish(crd.clone())).contains("(change 1 of a CRD"));
        assert!(printer.done(&RotateStep::Drop(crd.clone())).contains("(change 2 of a CRD"));
        let rotated = Rotated {
            steps: vec![RotateStep::Prove(Duration::ZERO), RotateStep::Drop(crd)],
            documents: vec!["CustomResourceDefinition w".to_owned()],
            endpoints: vec!["h:1".to_owned(), "h:2".to_owned()],
            crd_changes: 2,
        };
        let text = "only the new authority is trusted in 1 document, and 2 endpoints show it; 2 changes of CRDs\n";
        assert_eq!(sentence(&rotated, None), text);
        let again =
            Rotated { steps: vec![RotateStep::Prove(Duration::ZERO)], endpoints: vec!["h:1".to_owned()], ..rotated };
        assert!(sentence(&again, None).contains("1 endpoint shows it; no changes were needed"));
        assert!(sentence(&again, Some(DryRun::Client)).ends_with("the cluster is unchanged\n"));
    }
}
