//! A plan as an HTML page.

use std::collections::BTreeSet;

use super::assessment::{Assessed, Severity};
use super::report::PlanReport;
use crate::commands::objects_page::{ObjectsPage, bar, escaped};
use crate::commands::output::counted;

/// The page.
pub(super) fn page(report: &PlanReport) -> String {
    let objects = counted(report.objects.len(), "object");
    let title = format!("Conversion plan: {objects}");
    let above = totals(report) + &sizes(report);
    let columns = ["Object", "Kind", "Read at", "Kept bytes", "Findings"];
    let (verdict, objects) = (&report.verdict(), report.objects.len());
    let cluster = report.cluster.as_deref();
    ObjectsPage { title, verdict, cluster, above, columns: &columns, numbers: &[3], rows: rows(report), objects }.html()
}

fn totals(report: &PlanReport) -> String {
    let most = report.objects.len();
    let found = Severity::ALL.map(|what| (what, report.count(what))).into_iter().filter(|(_, count)| *count > 0);
    let rows = found.map(|(what, count)| {
        let class = if what.stops() { " class=\"stop\"" } else { "" };
        let bar = bar(count, most, 200);
        format!("<tr{class}><td class=\"number\">{count}</td><td>{bar}</td><td>{}</td></tr>\n", what.meaning())
    });
    let rows: String = rows.collect();
    let found = match rows.is_empty() {
        true => "<p>No findings.</p>\n".to_owned(),
        false => format!("<table class=\"totals\"><tbody>\n{rows}</tbody></table>\n"),
    };
    let cold = report.cold().max(1.0);
    let long = match report.outlives_compaction() {
        true => ", longer than the compaction interval of etcd (5 min): the migration may restart",
        false => "",
    };
    let shown = report
        .controller
        .as_ref()
        .map_or_else(String::new, |version| format!("<p>Controller version: {}</p>\n", escaped(version)));
    format!(
        "<h2>Totals</h2>\n{found}{shown}<p>A cold cache: {}, about \
         {cold:.0} s{long}.</p>\n",
        counted(report.conversions(), "conversion")
    )
}

/// A histogram of the sizes of kept values.
fn sizes(report: &PlanReport) -> String {
    let Some((middle, most)) = report.kept() else { return String::new() };
    let counts: Vec<usize> = BUCKETS
        .iter()
        .enumerate()
        .map(|(index, (_, end))| {
            let start = index.checked_sub(1).and_then(|before| BUCKETS.get(before)).map_or(0, |(_, end)| *end);
            report.objects.iter().filter(|object| (start..*end).contains(&object.kept())).count()
        })
        .collect();
    let highest = counts.iter().copied().max().unwrap_or_default();
    let bars = BUCKETS.iter().zip(&counts).map(|((name, _), count)| {
        format!(
            "<tr><th scope=\"row\">{name}</th><td class=\"number\">{count}</td><td>{}</td></tr>\n",
            bar(*count, highest, 300)
        )
    });
    let bars: String = bars.collect();
    format!(
        "<h2>Kept annotations</h2>\n<table class=\"totals\"><tbody>\n{bars}</tbody></table>\n<p>Median {middle} bytes, \
         {} at most ({}), of 262144 that an API server takes for all annotations of an object.</p>\n",
        most.kept(),
        escaped(&most.name)
    )
}

fn rows(report: &PlanReport) -> String {
    report.objects.iter().map(row).collect()
}

fn row(object: &Assessed) -> String {
    let remarks = &object.remarks;
    let (name, kind, version) = (escaped(&object.name), escaped(&object.kind), escaped(&object.version));
    let findings = match remarks.len() {
        0 => "fine".to_owned(),
        count => {
            let items = remarks.iter().map(|remark| {
                let at = remark.to.as_ref().map_or_else(String::new, |to| format!(" at {}", escaped(to)));
                format!("<li><b>{}</b>{at}: {}</li>", remark.what.name(), escaped(&remark.detail))
            });
            let items: String = items.collect();
            // Reasons that stop a migration are open.
            let open = if remarks.iter().any(|remark| remark.what.stops()) { " open" } else { "" };
            format!("<details{open}><summary>{}</summary><ul>{items}</ul></details>", counted(count, "finding"))
        }
    };
    let class = if remarks.iter().any(|remark| remark.what.stops()) { " class=\"stop\"" } else { "" };
    let states: BTreeSet<Severity> = remarks.iter().map(|remark| remark.what).collect();
    let states: Vec<&str> = states.into_iter().map(Severity::name).collect();
    let state = if states.is_empty() { "fine".to_owned() } else { states.join(" ") };
    format!(
        "<tr{class} data-state=\"{state}\"><th scope=\"row\">{name}</th><td>{kind}</td><td>{version}</td><td class=\"number\">{}</td>\
         <td>{findings}</td></tr>\n",
        object.kept()
    )
}

/// The name of a bar, and its upper limit in bytes.
const BUCKETS: [(&str, usize); 6] = [
    ("none", 1),
    ("to 1 KiB", 1 << 10),
    ("to 4 KiB", 4 << 10),
    ("to 16 KiB", 16 << 10),
    ("to 64 KiB", 64 << 10),
    ("more", usize::MAX),
];
