//! What all objects together come to.

use std::collections::BTreeMap;

use super::assessment::{Assessed, Severity};
use crate::commands::json_tree::JsonTree;

/// All objects, and what they come to.
pub(super) struct PlanReport {
    /// The worst first, then by kind and name.
    pub(super) objects: Vec<Assessed>,
    /// The controller version that was asked whether it would take them.
    pub(super) controller: Option<String>,
}

impl PlanReport {
    pub(super) fn new(mut objects: Vec<Assessed>, controller: Option<String>) -> Self {
        objects.sort_by_cached_key(|object| {
            let worst = object.remarks.iter().map(|remark| remark.what).min();
            (worst.is_none(), worst, object.kind.clone(), object.name.clone())
        });
        Self { objects, controller }
    }

    /// How many objects have this said about them.
    pub(super) fn count(&self, what: Severity) -> usize {
        let has = |object: &&Assessed| object.remarks.iter().any(|remark| remark.what == what);
        self.objects.iter().filter(has).count()
    }

    /// Whether something has to be mended first.
    pub(super) fn stops(&self) -> bool {
        Severity::ALL.into_iter().any(|what| what.stops() && self.count(what) > 0)
    }

    /// Bytes that are kept of an object: the median, and those of the one with the most, which is named.
    pub(super) fn kept(&self) -> Option<(usize, &Assessed)> {
        let mut sizes: Vec<usize> = self.objects.iter().map(Assessed::kept).collect();
        sizes.sort_unstable();
        let middle = sizes.get(sizes.len() / 2).copied()?;
        Some((middle, self.objects.iter().max_by_key(|object| object.kept())?))
    }

    /// For each version and field, how many objects have a value that the version does not show.
    pub(super) fn hidden(&self) -> BTreeMap<(&str, &str), usize> {
        let mut counts = BTreeMap::new();
        for (to, preview) in self.objects.iter().flat_map(|object| &object.previews) {
            for path in &preview.hidden {
                *counts.entry((to.as_str(), path.as_str())).or_default() += 1;
            }
        }
        counts
    }

    /// How many conversions an API server makes when it starts: of every object, for each version but the stored one.
    pub(super) fn conversions(&self) -> usize {
        self.objects.iter().map(|object| object.previews.len()).sum()
    }

    /// Seconds that these take.
    pub(super) fn cold(&self) -> f64 {
        self.conversions() as f64 * PER_CONVERSION
    }

    /// Whether a cold cache takes longer than etcd remembers what it was filled from.
    pub(super) fn outlives_compaction(&self) -> bool {
        self.cold() > COMPACTION
    }

    /// For programs.
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

/// Seconds: what one object costs a cold cache, on a machine with two cores that the API server shares with a debug
/// build of the server (docs/api-calls.md).
const PER_CONVERSION: f64 = 0.000_84;

/// Seconds: the default of the API server's `--etcd-compaction-interval`. A list that takes longer begins again.
const COMPACTION: f64 = 300.0;
