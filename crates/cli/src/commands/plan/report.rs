//! The summary of all objects.

use std::collections::BTreeMap;

use super::assessment::{Assessed, Severity};
use crate::commands::json_tree::JsonTree;
use crate::commands::output::counted;
use crate::commands::verdict::{Outcome, Verdict};

/// All objects with a summary.
pub(super) struct PlanReport {
    /// Worst first, then by kind and name.
    pub(super) objects: Vec<Assessed>,
    /// The controller version that was checked.
    pub(super) controller: Option<String>,
    /// The address of the API server. `None` for objects from files.
    pub(super) cluster: Option<String>,
}

impl PlanReport {
    pub(super) fn new(mut objects: Vec<Assessed>, controller: Option<String>, cluster: Option<String>) -> Self {
        objects.sort_by_cached_key(|object| {
            let worst = object.remarks.iter().map(|remark| remark.what).min();
            (worst.is_none(), worst, object.kind.clone(), object.name.clone())
        });
        Self { objects, controller, cluster }
    }

    /// The number of objects with a finding of this severity.
    pub(super) fn count(&self, what: Severity) -> usize {
        let has = |object: &&Assessed| object.remarks.iter().any(|remark| remark.what == what);
        self.objects.iter().filter(has).count()
    }

    /// Whether the conversion is safe for all objects.
    pub(super) fn verdict(&self) -> Verdict {
        let stops = |object: &&Assessed| object.remarks.iter().any(|remark| remark.what.stops());
        let (stopped, all) = (self.objects.iter().filter(stops).count(), counted(self.objects.len(), "object"));
        match stopped {
            0 => {
                let found = self.objects.iter().filter(|object| !object.remarks.is_empty()).count();
                let more = if found == 0 { String::new() } else { format!(", {found} with findings") };
                Verdict::new(Outcome::Good, format!("{all} converted and back without loss{more}"))
            }
            _ => Verdict::new(Outcome::Unsafe, format!("conversion fails or loses a value for {stopped} of {all}")),
        }
    }

    /// The median size of kept values in bytes, and the object with the largest.
    pub(super) fn kept(&self) -> Option<(usize, &Assessed)> {
        let mut sizes: Vec<usize> = self.objects.iter().map(Assessed::kept).collect();
        sizes.sort_unstable();
        let middle = sizes.get(sizes.len() / 2).copied()?;
        Some((middle, self.objects.iter().max_by_key(|object| object.kept())?))
    }

    /// For each version and field, the number of objects with a value that the version does not show.
    pub(super) fn hidden(&self) -> BTreeMap<(&str, &str), usize> {
        let mut counts = BTreeMap::new();
        for (to, preview) in self.objects.iter().flat_map(|object| &object.previews) {
            for path in &preview.hidden {
                *counts.entry((to.as_str(), path.as_str())).or_default() += 1;
            }
        }
        counts
    }

    /// The number of conversions at the start of an API server: of every object, to each version except the storage
    /// version.
    pub(super) fn conversions(&self) -> usize {
        self.objects.iter().map(|object| object.previews.len()).sum()
    }

    /// The duration of these conversions in seconds.
    pub(super) fn cold(&self) -> f64 {
        self.conversions() as f64 * PER_CONVERSION
    }

    /// Returns whether filling a cold cache takes longer than the compaction interval of etcd.
    pub(super) fn outlives_compaction(&self) -> bool {
        self.cold() > COMPACTION
    }

    /// The report, for programs.
    pub(super) fn json(&self) -> JsonTree {
        let number = |number: usize| JsonTree::Number(number.to_string());
        let counts = Severity::ALL.map(|what| (what.name(), number(self.count(what))));
        let kept = self.kept().map_or(JsonTree::Null, |(middle, most)| {
            JsonTree::object([
                ("median", number(middle)),
                ("most", number(most.kept())),
                ("mostOf", JsonTree::string(&most.name)),
            ])
        });
        let hidden = self.hidden().into_iter().map(|((to, path), objects)| {
            JsonTree::object([
                ("to", JsonTree::string(to)),
                ("path", JsonTree::string(path)),
                ("objects", number(objects)),
            ])
        });
        let objects = self.objects.iter().map(Assessed::json);
        JsonTree::object([
            ("verdict", JsonTree::string(self.verdict().outcome.name())),
            ("objects", number(self.objects.len())),
            ("controllerVersion", self.controller.as_ref().map_or(JsonTree::Null, JsonTree::string)),
            ("counts", JsonTree::object(counts)),
            ("keptBytes", kept),
            ("hidden", JsonTree::Array(hidden.collect())),
            (
                "coldCache",
                JsonTree::object([
                    ("conversions", number(self.conversions())),
                    ("seconds", JsonTree::Number(format!("{:.1}", self.cold()))),
                    ("outlivesCompaction", JsonTree::Bool(self.outlives_compaction())),
                ]),
            ),
            ("items", JsonTree::Array(objects.collect())),
        ])
    }
}

/// The duration of one object in a cold cache in seconds, measured on a machine with two cores that the API server
/// shares with a debug build of the server (docs/api-calls.md).
const PER_CONVERSION: f64 = 0.000_84;

/// The default of the API server's `--etcd-compaction-interval` in seconds. A list that takes longer starts again.
const COMPACTION: f64 = 300.0;
