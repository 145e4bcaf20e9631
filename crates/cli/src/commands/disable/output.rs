//! Progress and result of `disable`.

use pointsman_cluster::{DisableEvent, DisableStep, Disabled, DryRun};
use serde_json::json;

use crate::commands::json_tree::JsonTree;
use crate::commands::migrate::count;
use crate::commands::output::{numbered, talk, warn};

/// Prints an event.
pub(super) fn print_event(event: DisableEvent) {
    match event {
        DisableEvent::Plan(steps) => {
            numbered(&steps);
            steps.iter().filter_map(uncounted).for_each(|line| warn(&line));
        }
        DisableEvent::Renamed { objects } => talk(&format!("renamed: owner references in {}", count(objects))),
        DisableEvent::Done(step) => talk(&done(&step)),
        DisableEvent::Accepted(step) => talk(&accepted(&step)),
        DisableEvent::Translated { objects } => {
            talk(&format!("translated: field ownership in {}", count(objects)));
        }
        DisableEvent::Settling(time) => {
            talk(&format!("waiting {} s until every API server has seen the change", time.as_secs()))
        }
        DisableEvent::Trying { error, pause } => talk(&format!("{error}; retrying in {} s", pause.as_secs())),
        _ => {}
    }
}

/// The warning for dependents of the objects, which may be of any kind and are not counted.
fn uncounted(step: &DisableStep) -> Option<String> {
    let DisableStep::Unserve { removed: unserved, .. } = step else { return None };
    (!unserved.is_empty()).then(|| {
        format!(
            "objects of other kinds with owner references to {} may be deleted: docs/uninstall.md shows how to \
                 find these objects",
            unserved.join(" or ")
        )
    })
}

fn done(step: &DisableStep) -> String {
    format!("done: {step}")
}

fn accepted(step: &DisableStep) -> String {
    format!("would {step}")
}

/// The result, for people.
pub(super) fn sentence(done: &Disabled, dry_run: Option<DryRun>) -> String {
    let Disabled { crd, version, steps, objects, .. } = done;
    let objects = objects.unwrap_or_default();
    let listed = format!("{objects} object{} listed at {version}", if objects == 1 { "" } else { "s" });
    let mut text = match (steps.is_empty(), dry_run) {
        (true, None) => format!("{crd} is already disabled; {listed}\n"),
        (true, Some(_)) => format!("{crd} is already disabled\n"),
        (false, None) => format!("{crd} is disabled: {listed} without a webhook\n"),
        (false, Some(DryRun::Client)) => format!("{crd} can be disabled; the cluster is unchanged\n"),
        (false, Some(DryRun::Server)) => {
            format!("{crd} can be disabled: the API server accepts every change; the cluster is unchanged\n")
        }
    };
    for (kept, count) in &done.kept {
        text.push_str(&format!(
            "left: values of {kept} in an annotation of {count}: pointsman migrate {crd} --forget {kept}\n"
        ));
    }
    let named = [("last-applied annotation", &done.named.applied), ("owner references", &done.named.owned)];
    for (place, counts) in named {
        for (version, count) in counts {
            text.push_str(&format!(
                "left: {version} in the {place} of {count}: pointsman migrate {crd} --forget {version}\n"
            ));
        }
    }
    for document in &done.registered {
        text.push_str(&format!("left: {document}; run with --admission to delete the document\n"));
    }
    if let Some(reason) = &done.unlisted {
        text.push_str(&format!("unknown: which webhook configurations and policies are left ({reason})\n"));
    }
    text
}

/// The result, for programs.
pub(super) fn document(done: &Disabled, dry_run: Option<DryRun>) -> anyhow::Result<JsonTree> {
    let Disabled { crd, version, steps, objects, kept, named, registered, unlisted } = done;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let value = json!({
        "crd": crd, "version": version, "steps": steps, "objects": objects, "kept": kept, "lastApplied": named.applied,
        "ownerReferences": named.owned, "registered": registered,
        "unlisted": unlisted,
        "dryRun": dry_run.map(DryRun::name),
    });
    JsonTree::from_json(&value.to_string())
}

#[cfg(test)]
mod tests {
    use pointsman_cluster::{DisableStep, VersionCounts};

    use super::*;

    #[test]
    fn dry_run_prints_plan() {
        let step = DisableStep::Delete { document: "ValidatingWebhookConfiguration w".to_owned() };
        assert_eq!(accepted(&step), "would delete ValidatingWebhookConfiguration w");
        assert_eq!(uncounted(&step), None);
        let unserve = DisableStep::Unserve { stays: "v2".to_owned(), removed: vec!["v1".to_owned()] };
        assert!(
            uncounted(&unserve).unwrap().contains("objects of other kinds with owner references to v1 may be deleted")
        );
        assert_eq!(done(&step), "done: delete ValidatingWebhookConfiguration w");
    }

    #[test]
    fn leftovers_name_their_removal() {
        let mut done = Disabled {
            crd: "widgets.example.com".to_owned(),
            version: "v2".to_owned(),
            steps: vec![DisableStep::RemoveConversion],
            objects: Some(1),
            kept: [("v1".to_owned(), 3)].into(),
            named: VersionCounts::default(),
            registered: vec!["ValidatingWebhookConfiguration w".to_owned()],
            unlisted: None,
        };
        let text = "widgets.example.com is disabled: 1 object listed at v2 without a webhook\n\
                    left: values of v1 in an annotation of 3: pointsman migrate widgets.example.com --forget v1\n\
                    left: ValidatingWebhookConfiguration w; run with --admission to delete the document\n";
        assert_eq!(sentence(&done, None), text);
        done.named.owned = [("v1".to_owned(), 2)].into();
        let left = "left: v1 in the owner references of 2: pointsman migrate widgets.example.com --forget v1\n";
        assert!(sentence(&done, None).contains(left));
        done.named = VersionCounts::default();
        done.unlisted = Some("forbidden".to_owned());
        assert!(sentence(&done, None).ends_with("policies are left (forbidden)\n"));
        done.unlisted = None;
        (done.steps, done.kept, done.registered) = (Vec::new(), [].into(), Vec::new());
        assert!(sentence(&done, None).contains("is already disabled; 1 object listed"));
        assert!(sentence(&done, Some(DryRun::Server)).ends_with("is already disabled\n"));
    }
}
