//! A plan as one page: nothing in it is from elsewhere, it works without a pointer, and can be printed.

use super::assessed::{Assessed, Severity};
use super::report::PlanReport;
use crate::commands::markup::marked_up;
use crate::commands::output::counted;
use crate::terminal;

/// The page.
pub(super) fn page(report: &PlanReport) -> String {
    let objects = counted(report.objects.len(), "object");
    let title = format!("Conversion plan: {objects}");
    let (totals, sizes, rows) = (totals(report), sizes(report), rows(report));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         {totals}{sizes}<h2 id=\"objects\">Objects</h2>\n<p class=\"search\"><label>Search <input id=\"search\" \
         type=\"search\" autocomplete=\"off\"></label> <output id=\"shown\">{objects}</output></p>\n\
         <table aria-labelledby=\"objects\">\n<thead><tr><th scope=\"col\">Object</th><th scope=\"col\">Kind</th>\
         <th scope=\"col\">Read at</th><th scope=\"col\" class=\"number\">Kept bytes</th><th scope=\"col\">Findings</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn totals(report: &PlanReport) -> String {
    let most = report.objects.len().max(1);
    let asked = Severity::ALL.into_iter().filter(|what| *what != Severity::Denied || report.controller.is_some());
    let rows = asked.map(|what| {
        let count = report.count(what);
        let class = if what.stops() && count > 0 { " class=\"stop\"" } else { "" };
        // At least a trace of one in ten thousand.
        let width = if count == 0 { 0 } else { (count * 200 / most).max(2) };
        format!(
            "<tr{class}><td class=\"number\">{count}</td><td><svg width=\"200\" height=\"12\" aria-hidden=\"true\">\
             <rect width=\"{width}\" height=\"12\"/></svg></td><td>{}</td></tr>\n",
            what.meaning()
        )
    });
    let rows: String = rows.collect();
    let cold = report.cold().max(1.0);
    let long = match report.outlives_compaction() {
        true => ", longer than etcd remembers (5 min): it may have to begin again",
        false => "",
    };
    let asked = report
        .controller
        .as_ref()
        .map_or_else(String::new, |version| format!("<p>Controller version asked: {}</p>\n", escaped(version)));
    format!(
        "<h2>Totals</h2>\n<table class=\"totals\"><tbody>\n{rows}</tbody></table>\n{asked}<p>A cold cache: {}, about \
         {cold:.0} s{long}.</p>\n",
        counted(report.conversions(), "conversion")
    )
}

/// How many objects keep how much.
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
    let highest = counts.iter().copied().max().unwrap_or_default().max(1);
    let bars = BUCKETS.iter().zip(&counts).map(|((name, _), count)| {
        format!(
            "<tr><th scope=\"row\">{name}</th><td class=\"number\">{count}</td><td><svg width=\"300\" height=\"12\" \
             aria-hidden=\"true\"><rect width=\"{}\" height=\"12\"/></svg></td></tr>\n",
            count * 300 / highest
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
            format!("<details><summary>{}</summary><ul>{items}</ul></details>", counted(count, "finding"))
        }
    };
    let class = if remarks.iter().any(|remark| remark.what.stops()) { " class=\"stop\"" } else { "" };
    format!(
        "<tr{class}><th scope=\"row\">{name}</th><td>{kind}</td><td>{version}</td><td class=\"number\">{}</td>\
         <td>{findings}</td></tr>\n",
        object.kept()
    )
}

/// Text of others. Names are shown as they are spelled, not as they would be shown.
fn escaped(text: &str) -> String {
    marked_up(&terminal::escaped(text), |_| None)
}

/// What a bar is called, and the bytes where it ends.
const BUCKETS: [(&str, usize); 6] = [
    ("none", 1),
    ("to 1 KiB", 1 << 10),
    ("to 4 KiB", 4 << 10),
    ("to 16 KiB", 16 << 10),
    ("to 64 KiB", 64 << 10),
    ("more", usize::MAX),
];

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--bar:#3b78c4;--stop:#c43b3b}\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}\
table{border-collapse:collapse;width:100%}.totals{width:auto}\
th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line)}\
tbody th{font-weight:500;overflow-wrap:anywhere}td{overflow-wrap:anywhere}\
.number{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal;white-space:nowrap}svg{fill:var(--bar)}.stop svg{fill:var(--stop)}\
tr.stop>th{border-left:4px solid var(--stop);padding-left:.5rem}\
:focus-visible{outline:2px solid var(--bar)}\
@media print{.search{display:none}body{margin:0;max-width:none}}";

const SCRIPT: &str = "\
const rows=[...document.querySelectorAll('table[aria-labelledby] tbody tr')];\
const texts=rows.map(row=>row.textContent.toLowerCase());\
const search=document.getElementById('search'),shown=document.getElementById('shown');\
const find=()=>{const words=search.value.toLowerCase().split(/\\s+/);let count=0;\
rows.forEach((row,index)=>{row.hidden=!words.every(word=>texts[index].includes(word));count+=!row.hidden});\
shown.textContent=count+' of '+rows.length+' objects'};\
search.addEventListener('input',find);\
if(location.hash){search.value=decodeURIComponent(location.hash.slice(1));find()}\
addEventListener('beforeprint',()=>document.querySelectorAll('details').forEach(one=>one.open=true));";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_markup() {
        assert_eq!(escaped("<a href=\"x\">&'\u{1b}\u{202e}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\u{1b}\\u{202e}");
    }
}
