//! Output of a migration: on a terminal a progress line, otherwise a line for each page.

use std::io::{self, IsTerminal};
use std::time::Instant;

use clap::ValueEnum;
use pointsman_cluster::{FailedWrite, MigrateEvent, Migrated};
use serde_json::{Value, json};

use crate::commands::output::{json_line, talk};
use crate::commands::progress_line;
use crate::commands::table::table;
use crate::hint::Hint;

/// The output format of a migration.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum MigrateFormat {
    /// JSON, one document a line.
    Json,
    /// Text for people.
    Text,
}

/// The output of a migration.
pub(super) struct MigratePrinter {
    format: MigrateFormat,
    on_terminal: bool,
    began: Instant,
}

impl MigratePrinter {
    pub(super) fn new(format: MigrateFormat) -> Self {
        Self { format, on_terminal: io::stderr().is_terminal(), began: Instant::now() }
    }

    pub(super) fn on_event(&self, event: &MigrateEvent) {
        match self.format {
            // A closed output is reported at the end.
            MigrateFormat::Json => drop(json(event).map(|line| json_line(&line))),
            MigrateFormat::Text => self.print_event(event),
        }
    }

    fn print_event(&self, event: &MigrateEvent) {
        let line = match event {
            MigrateEvent::Flipped { from, to } => format!("stored from now on: {to}, no longer {from}"),
            MigrateEvent::Deleted { document } => {
                format!("deleted, because its version is no longer stored: {document}")
            }
            MigrateEvent::Left { document, error } => {
                let (kind, name) = document.split_once(' ').unwrap_or((document, ""));
                let kind = kind.to_lowercase();
                format!("left, because the deletion failed ({error}): kubectl delete {kind} {name}")
            }
            MigrateEvent::Settling(time) => {
                format!("waiting {} s until every API server has seen the change", time.as_secs())
            }
            MigrateEvent::Resumed => "continuing an earlier run".to_owned(),
            MigrateEvent::Delegated { name } => {
                format!("the cluster rewrites the objects: StorageVersionMigration {name}")
            }
            MigrateEvent::Fallback { reason } => {
                format!("the cluster did not rewrite all objects: {reason}; continuing here")
            }
            MigrateEvent::Looking => "everything was written; checking again".to_owned(),
            MigrateEvent::Trying { error, pause } => format!("{error}; retrying in {} s", pause.as_secs()),
            MigrateEvent::Page { written, passed_over, failed, remaining, max_in_flight } => {
                let seconds = self.began.elapsed().as_secs_f64().max(0.001);
                let rate = *written as f64 / seconds;
                let left = match remaining {
                    Some(left) if rate > 0.0 => {
                        format!(", {} to check, {:.0} s at most", count(*left), *left as f64 / rate)
                    }
                    Some(left) => format!(", {} to check", count(*left)),
                    None => String::new(),
                };
                let failures = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
                let line = format!(
                    "{written} written, {passed_over} already current{failures}{left} ({rate:.0} a second, \
                         {max_in_flight} in flight)"
                );
                return self.progress(&line);
            }
            _ => return,
        };
        talk(&line);
    }

    fn progress(&self, line: &str) {
        match self.on_terminal {
            true => progress_line::draw(line),
            false => talk(line),
        }
    }

    /// Passes on the result. Prints an error as JSON for programs. For people, the caller prints it.
    pub(super) fn end<T>(self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        progress_line::clear();
        result.inspect_err(|error| self.fail(error))
    }

    fn fail(&self, error: &anyhow::Error) {
        if self.format == MigrateFormat::Json {
            let hint = error.downcast_ref::<Hint>().map(ToString::to_string);
            let causes = error.chain().map(ToString::to_string).filter(|cause| Some(cause) != hint.as_ref());
            let causes: Vec<String> = causes.collect();
            let line = json!({"event": "error", "message": causes.join(": "), "hint": hint});
            // If stdout is closed, there is no other output.
            drop(json_line(&line));
        }
    }
}

fn json(event: &MigrateEvent) -> Option<Value> {
    let value = match event {
        MigrateEvent::Flipped { from, to } => json!({"event": "flipped", "from": from, "to": to}),
        MigrateEvent::Deleted { document } => json!({"event": "deleted", "document": document}),
        MigrateEvent::Left { document, error } => {
            json!({"event": "left", "document": document, "error": error.to_string()})
        }
        MigrateEvent::Settling(time) => json!({"event": "settling", "seconds": time.as_secs_f64()}),
        MigrateEvent::Resumed => json!({"event": "goesOn"}),
        MigrateEvent::Delegated { name } => json!({"event": "delegated", "name": name}),
        MigrateEvent::Fallback { reason } => json!({"event": "fallback", "reason": reason}),
        MigrateEvent::Looking => json!({"event": "looking"}),
        MigrateEvent::Trying { error, pause } => {
            json!({"event": "trying", "error": error.to_string(), "seconds": pause.as_secs_f64()})
        }
        MigrateEvent::Page { written, passed_over, failed, remaining, max_in_flight } => json!({
            "event": "page", "written": written, "new": passed_over, "failed": failed, "remaining": remaining,
            "maxInFlight": max_in_flight,
        }),
        _ => return None,
    };
    Some(value)
}

/// The result, for programs.
pub(super) fn outcome(migrated: &Migrated, dry_run: bool) -> Value {
    json!({
        "event": "result",
        "crd": migrated.crd,
        "storage": migrated.storage,
        "storedBefore": migrated.stored_before,
        "stored": migrated.stored,
        "written": migrated.objects.written,
        "new": migrated.objects.passed_over,
        "gone": migrated.objects.deleted,
        "raced": migrated.objects.raced,
        "left": migrated.objects.left,
        "failures": unwritten(&migrated.objects.failures),
        "complete": migrated.is_complete(),
        "interrupted": migrated.objects.interrupted,
        "dryRun": dry_run,
    })
}

/// The result, for people.
pub(super) fn summary(migrated: &Migrated, dry_run: bool) -> String {
    let Migrated { crd, storage, .. } = migrated;
    if migrated.objects.interrupted && storage.is_empty() {
        return format!("{crd}: no object was written yet\n");
    }
    let (before, stored) = (migrated.stored_before.join(", "), migrated.stored.join(", "));
    if dry_run {
        let objects = count(migrated.objects.left.unwrap_or_default());
        return match migrated.is_complete() && migrated.objects.left.is_none() {
            true => format!("{crd}: everything is already stored as {storage}\n"),
            false => format!(
                "{crd}: stored as {before}; would check {objects}, write all objects in other versions as \
                     {storage}, and set storedVersions to {storage}\n"
            ),
        };
    }
    let done = done(migrated);
    let mut text = match (migrated.is_complete(), before == stored) {
        (true, true) => format!("{crd}: every object is stored as {storage} already\n"),
        (true, false) => format!("{crd}: every object is stored as {storage} ({done}); storedVersions was {before}\n"),
        (false, _) => {
            format!("{crd}: not everything is stored as {storage} ({done}); storedVersions is still {stored}\n")
        }
    };
    text.push_str(&failures(&migrated.objects.failures));
    text
}

/// The counts.
fn done(migrated: &Migrated) -> String {
    let mut done = format!("{} written, {} new already", count(migrated.objects.written), migrated.objects.passed_over);
    for (objects, what) in
        [(migrated.objects.deleted, "deleted meanwhile"), (migrated.objects.raced, "written by others meanwhile")]
    {
        if objects > 0 {
            done.push_str(&format!(", {objects} {what}"));
        }
    }
    match migrated.objects.left {
        Some(left) => format!("{done}, {} to check", count(left)),
        None => done,
    }
}

/// Objects that could not be written, for programs.
pub(super) fn unwritten(failures: &[FailedWrite]) -> Vec<Value> {
    let listed = failures
        .iter()
        .map(|FailedWrite { namespace, name, reason }| json!({"namespace": namespace, "name": name, "reason": reason}));
    listed.collect()
}

/// Objects that could not be written, for people. Empty if there are none.
pub(super) fn failures(failures: &[FailedWrite]) -> String {
    if failures.is_empty() {
        return String::new();
    }
    let rows: Vec<[String; 3]> = failures.iter().take(SHOWN).map(row).collect();
    let mut text = table(["NAMESPACE", "NAME", "REASON"], &rows);
    let more = failures.len().saturating_sub(SHOWN);
    if more > 0 {
        text.push_str(&format!("and {more} more: see -o json\n"));
    }
    text.push_str("Fix these objects, and run the same command again: the command then writes only these objects.\n");
    text
}

fn row(failure: &FailedWrite) -> [String; 3] {
    [failure.namespace.clone().unwrap_or_default(), failure.name.clone(), failure.reason.clone()]
}

pub(crate) fn count(objects: u64) -> String {
    if objects == 1 { "1 object".to_owned() } else { format!("{objects} objects") }
}

/// The maximum number of failures in the table.
const SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use pointsman_cluster::RewrittenObjects;

    use super::*;

    fn migrated() -> Migrated {
        Migrated {
            crd: "widgets.example.com".to_owned(),
            storage: "v2".to_owned(),
            stored_before: vec!["v1".to_owned(), "v2".to_owned()],
            stored: vec!["v2".to_owned()],
            objects: RewrittenObjects { written: 1, passed_over: 2, ..RewrittenObjects::default() },
        }
    }

    #[test]
    fn outcome_is_one_sentence() {
        let done = migrated();
        let text = "widgets.example.com: every object is stored as v2 (1 object written, 2 new already); storedVersions \
                    was v1, v2\n";
        assert_eq!(summary(&done, false), text);
        let nothing = Migrated { stored_before: vec!["v2".to_owned()], ..migrated() };
        assert!(summary(&nothing, false).ends_with("every object is stored as v2 already\n"));
        assert!(summary(&nothing, true).ends_with("everything is already stored as v2\n"));
    }

    #[test]
    fn unwritten_objects_are_named() {
        let failure = |at: usize| FailedWrite {
            namespace: Some("n".to_owned()),
            name: format!("w-{at}"),
            reason: "spec.size: Invalid value".to_owned(),
        };
        let stored = vec!["v1".to_owned(), "v2".to_owned()];
        let failed = Migrated {
            stored,
            objects: RewrittenObjects { failures: (0..22).map(failure).collect(), ..RewrittenObjects::default() },
            ..migrated()
        };
        let text = summary(&failed, false);
        assert!(text.contains("not everything is stored as v2"), "{text}");
        assert!(text.contains("\nn           w-19   spec.size: Invalid value\nand 2 more: see -o json"), "{text}");
        assert_eq!(outcome(&failed, false)["failures"].as_array().map(Vec::len), Some(22));
    }
}
