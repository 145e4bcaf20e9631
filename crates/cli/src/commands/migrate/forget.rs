//! `--forget`: removes the kept values of a version.

use std::process::ExitCode;

use pointsman_cluster::{ForgetOptions, Forgotten, MigrateError, ObjectConversion, RewrittenObjects, forget};
use pointsman_core::definition::Kind;
use pointsman_core::webhook::is_kept;
use serde_json::{Value, json};

use super::output::{MigrateFormat, MigratePrinter, count, failures, unwritten};
use crate::commands::cluster_args::{ClusterArgs, advised};
use crate::commands::output::{self, talk};
use crate::commands::stop::{INTERRUPTED, Stop};

/// A requested removal, with its output options.
pub(super) struct ForgetRequest<'a> {
    pub(super) kind: &'a Kind,
    pub(super) conversion: ObjectConversion,
    pub(super) version: &'a str,
    pub(super) page: u32,
    pub(super) max_in_flight: u16,
    pub(super) dry_run: bool,
    pub(super) output: MigrateFormat,
}

impl ForgetRequest<'_> {
    pub(super) fn run(&self, cluster: &ClusterArgs) -> anyhow::Result<ExitCode> {
        let options = ForgetOptions {
            version: self.version.to_owned(),
            order: self.kind.versions().map(str::to_owned).collect(),
            is_ours: &is_kept,
            conversion: Some(self.conversion.clone()),
            page: self.page,
            max_in_flight: self.max_in_flight,
            dry_run: self.dry_run,
        };
        let name = format!("{}.{}", self.kind.plural(), self.kind.group());
        let stop = Stop::on_interrupt()?;
        let printer = MigratePrinter::new(self.output);
        let forgotten = cluster.with(async |cluster| {
            let on_event = &mut |event| printer.on_event(&event);
            let result = forget(&cluster, &name, &options, on_event, &|| stop.is_wanted()).await;
            result.map_err(|error| advised(error, MigrateError::call))
        });
        let forgotten = printer.end(forgotten)?;
        match self.output {
            MigrateFormat::Json => output::json_line(&self.outcome(&forgotten))?,
            MigrateFormat::Text => output::text(&self.summary(&forgotten))?,
        }
        if forgotten.objects.interrupted {
            talk("Stopped. Run the same command again to continue");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Ok(if forgotten.objects.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn outcome(&self, forgotten: &Forgotten) -> Value {
        let Forgotten { crd, version, foreign, objects } = forgotten;
        let RewrittenObjects { written, failures, interrupted, .. } = objects;
        json!({
            "event": "result", "crd": crd, "version": version, "objects": objects.seen(), "written": written, "foreign": foreign,
            "failures": unwritten(failures), "interrupted": interrupted, "dryRun": self.dry_run,
        })
    }

    fn summary(&self, forgotten: &Forgotten) -> String {
        let Forgotten { crd, version, foreign, objects } = forgotten;
        let (written, objects) = (count(objects.written), count(objects.seen()));
        let what = match self.dry_run {
            true => format!("would remove the annotation from {written}"),
            false => format!("removed from {written}"),
        };
        let mut text = format!("{crd}: kept values for {version}: {what}, {objects} checked\n");
        if *foreign > 0 {
            let of = count(*foreign);
            text.push_str(&format!("left on {of}: an annotation of this name in an unknown form\n"));
        }
        text.push_str(&failures(&forgotten.objects.failures));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgotten_and_remaining_are_reported() {
        let kinds = Kind::embedded().unwrap();
        let mut requested = ForgetRequest {
            kind: &kinds[0],
            conversion: ObjectConversion::new(|_, _| None),
            version: "v1",
            page: 1,
            max_in_flight: 1,
            dry_run: false,
            output: MigrateFormat::Text,
        };
        let forgotten = Forgotten {
            crd: "widgets.example.com".to_owned(),
            version: "v1".to_owned(),
            foreign: 1,
            objects: RewrittenObjects { written: 1, passed_over: 6, ..RewrittenObjects::default() },
        };
        let text = "widgets.example.com: kept values for v1: removed from 1 object, 7 objects checked\n\
                    left on 1 object: an annotation of this name in an unknown form\n";
        assert_eq!(requested.summary(&forgotten), text);
        requested.dry_run = true;
        assert!(requested.summary(&forgotten).contains("would remove the annotation from 1 object"));
        assert_eq!(requested.outcome(&forgotten)["dryRun"], true);
    }
}
