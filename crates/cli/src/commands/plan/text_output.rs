//! A plan, for people.

use super::assessment::Severity;
use super::report::PlanReport;
use crate::commands::output::counted;
use crate::commands::table::{shortened, table};

/// The verdict, totals, and a table of findings. `all` includes totals of 0.
pub(super) fn text(report: &PlanReport, all: bool) -> String {
    let mut text = format!("{}\n", report.verdict());
    for what in Severity::ALL {
        // Omits the check that was not requested.
        let is_checked = what != Severity::Denied || report.controller.is_some();
        let count = report.count(what);
        if is_checked && (all || count > 0) {
            text.push_str(&format!("  {count:>6} {}\n", what.meaning()));
        }
    }
    if let Some((middle, most)) = report.kept() {
        let (most, name) = (most.kept(), &most.name);
        text.push_str(&format!(
            "size of kept annotations: median {middle} B, largest {most} B ({name}); the limit for all annotations is 256 KiB\n"
        ));
    }
    let hidden = report.hidden();
    if !hidden.is_empty() {
        text.push_str("hidden values, kept for the version with the field:\n");
    }
    for ((to, path), objects) in hidden {
        text.push_str(&format!("  {objects:>6} with {path}, which {to} shows differently or not at all\n"));
    }
    text.push_str(&format!(
        "filling an empty API server cache: about {:.0} s ({})",
        report.cold().max(1.0),
        conversions(report)
    ));
    if report.outlives_compaction() {
        text.push_str("; longer than the compaction interval of etcd (5 min), so the migration may restart repeatedly");
    }
    text.push('\n');
    let rows: Vec<[String; 4]> = report
        .objects
        .iter()
        .flat_map(|object| {
            let remarks = object.remarks.iter();
            remarks.map(|remark| {
                let to = remark.to.clone().unwrap_or_else(|| "-".to_owned());
                let detail = remark.detail.replace('\n', " ");
                let detail = if all { detail } else { shortened(&detail, DETAIL) };
                [object.name.clone(), to, remark.what.name().to_owned(), detail]
            })
        })
        .collect();
    if rows.is_empty() {
        return text;
    }
    let shown = if all { rows.len() } else { rows.len().min(ROWS) };
    text.push('\n');
    text.push_str(&table(["OBJECT", "AT", "FINDING", "DETAIL"], rows.get(..shown).unwrap_or_default()));
    if shown < rows.len() {
        text.push_str(&format!("and {} more: -o wide shows all, -o json for programs\n", rows.len() - shown));
    }
    text
}

fn conversions(report: &PlanReport) -> String {
    counted(report.conversions(), "conversion")
}

/// The maximum number of rows, and of characters of a detail, so that the totals stay on the screen.
const ROWS: usize = 20;
const DETAIL: usize = 100;
