//! `--forget`: what was kept for a version goes, too.

use std::process::ExitCode;

use pointsman_cluster::{ForgetError, ForgetEvent, ForgetOptions, Forgotten, forget};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::is_kept;
use serde_json::{Value, json};

use super::told::{MigrateFormat, count, failures, unwritten};
use crate::commands::connected::{ClusterArgs, advised};
use crate::commands::output::{self, data, talk};
use crate::commands::stop::{INTERRUPTED, Stop};

/// What is to be forgotten, and how that is told.
pub(super) struct ForgetAsked<'a> {
    pub(super) kind: &'a Kind,
    pub(super) version: &'a str,
    pub(super) page: u32,
    pub(super) at_once: u16,
    pub(super) dry_run: bool,
    pub(super) output: MigrateFormat,
}

impl ForgetAsked<'_> {
    pub(super) fn run(&self, cluster: &ClusterArgs) -> anyhow::Result<ExitCode> {
        let options = ForgetOptions {
            version: self.version.to_owned(),
            order: self.kind.versions().map(str::to_owned).collect(),
            is_ours: &is_kept,
            page: self.page,
            at_once: self.at_once,
            dry_run: self.dry_run,
        };
        let name = format!("{}.{}", self.kind.plural(), self.kind.group());
        let stop = Stop::on_interrupt()?;
        let forgotten = cluster.with(async |cluster| {
            let result = forget(&cluster, &name, &options, &mut |event| self.hear(&event), &|| stop.is_wanted()).await;
            result.map_err(|error| advised(error, ForgetError::call))
        })?;
        match self.output {
            MigrateFormat::Json => data(&format!("{}\n", self.outcome(&forgotten)))?,
            MigrateFormat::Text => output::text(&self.summary(&forgotten))?,
        }
        if forgotten.interrupted {
            talk("stopped: the same command goes on");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Ok(if forgotten.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn hear(&self, event: &ForgetEvent) {
        let (line, value) = match event {
            ForgetEvent::Looked { objects, written, at_once } => (
                format!("{objects} looked at, {written} written ({at_once} at once)"),
                json!({"event": "page", "objects": objects, "written": written, "atOnce": at_once}),
            ),
            ForgetEvent::Trying { error, pause } => (
                format!("{error}; trying again in {} s", pause.as_secs()),
                json!({"event": "trying", "error": error.to_string(), "seconds": pause.as_secs_f64()}),
            ),
            _ => return,
        };
        match self.output {
            // Whoever reads JSON and goes away is told at the end.
            MigrateFormat::Json => drop(data(&format!("{value}\n"))),
            MigrateFormat::Text => talk(&line),
        }
    }

    fn outcome(&self, forgotten: &Forgotten) -> Value {
        let Forgotten { crd, version, objects, written, foreign, failures, interrupted } = forgotten;
        json!({
            "event": "result", "crd": crd, "version": version, "objects": objects, "written": written, "foreign": foreign,
            "failures": unwritten(failures), "interrupted": interrupted, "dryRun": self.dry_run,
        })
    }

    fn summary(&self, forgotten: &Forgotten) -> String {
        let Forgotten { crd, version, objects, written, foreign, .. } = forgotten;
        let written = count(*written);
        let what = match self.dry_run {
            true => format!("would take it off {written}"),
            false => format!("taken off {written}"),
        };
        let mut text = format!("{crd}: what was kept for {version}: {what}, {objects} looked at\n");
        if *foreign > 0 {
            let of = count(*foreign);
            text.push_str(&format!("left on {of}: an annotation of that name that is not of the form that we write\n"));
        }
        text.push_str(&failures(&forgotten.failures));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_and_what_was_not_is_said() {
        let kinds = Kind::embedded().unwrap();
        let mut asked = ForgetAsked {
            kind: &kinds[0],
            version: "v1",
            page: 1,
            at_once: 1,
            dry_run: false,
            output: MigrateFormat::Text,
        };
        let forgotten = Forgotten {
            crd: "widgets.example.com".to_owned(),
            version: "v1".to_owned(),
            objects: 7,
            written: 1,
            foreign: 1,
            ..Forgotten::default()
        };
        let text = "widgets.example.com: what was kept for v1: taken off 1 object, 7 looked at\n\
                    left on 1 object: an annotation of that name that is not of the form that we write\n";
        assert_eq!(asked.summary(&forgotten), text);
        asked.dry_run = true;
        assert!(asked.summary(&forgotten).contains("would take it off 1 object"));
        assert_eq!(asked.outcome(&forgotten)["dryRun"], true);
    }
}
