//! An HTML page with many objects: self-contained, usable by keyboard, and printable.

use super::markup::marked_up;
use super::output::counted;
use super::verdict::{Outcome, Verdict};
use crate::terminal;

/// A page with a searchable table of objects.
pub(crate) struct ObjectsPage<'a> {
    /// The title and heading.
    pub(crate) title: String,
    /// The verdict, at the top.
    pub(crate) verdict: &'a Verdict,
    /// The address of the API server. `None` for objects from files.
    pub(crate) cluster: Option<&'a str>,
    /// The content above the objects, as HTML.
    pub(crate) above: String,
    /// The names of the columns.
    pub(crate) columns: &'a [&'a str],
    /// The indices of numeric columns.
    pub(crate) numbers: &'a [usize],
    /// The rows of the table, as HTML. `data-state` of a row has the states to filter by, without spaces in their
    /// names.
    pub(crate) rows: String,
    /// The number of rows.
    pub(crate) objects: usize,
}

impl ObjectsPage<'_> {
    /// The page.
    pub(crate) fn html(&self) -> String {
        let Self { title, verdict, cluster, above, columns, numbers, rows, objects } = self;
        let (title, objects) = (escaped(title), counted(*objects, "object"));
        let class = if verdict.outcome == Outcome::Good { "verdict good" } else { "verdict bad" };
        let verdict = format!("<p class=\"{class}\">{}</p>\n{}", escaped(&verdict.to_string()), origin(*cluster));
        let head = columns.iter().enumerate().map(|(at, name)| {
            let class = if numbers.contains(&at) { " class=\"number\"" } else { "" };
            format!("<th scope=\"col\"{class}>{name}</th>")
        });
        let head: String = head.collect();
        let width = if columns.len() > FEW { "56rem" } else { "40rem" };
        let blocks = blocks(width);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{title}</title>\n<style>{STYLE}{blocks}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
             {verdict}{above}<h2 id=\"objects\">Objects</h2>\n<p class=\"search\"><label>Search <input id=\"search\" \
             type=\"search\" autocomplete=\"off\"></label> <label>State <select id=\"state\"><option value=\"\">\
             all</option></select></label> <output id=\"shown\">{objects}</output></p>\n\
             <table class=\"objects\" aria-labelledby=\"objects\">\n<thead><tr>{head}</tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table>\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

/// The cluster, the time and the program, because a page is kept and sent to others.
fn origin(cluster: Option<&str>) -> String {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M");
    let source = cluster.map_or_else(|| "objects from files".to_owned(), |address| format!("cluster {address}"));
    format!("<p class=\"origin\">{}, {now} UTC, pointsman {}</p>\n", escaped(&source), env!("CARGO_PKG_VERSION"))
}

/// Escapes external text. Names are shown verbatim, without control characters.
pub(crate) fn escaped(text: &str) -> String {
    marked_up(&terminal::escaped(text), |_| None)
}

/// A bar for a count, relative to the maximum, in this width.
pub(crate) fn bar(count: usize, most: usize, place: usize) -> String {
    // At least a visible trace of one in ten thousand.
    let width = if count == 0 { 0 } else { (count * place / most.max(1)).max(2) };
    format!("<svg width=\"{place}\" height=\"12\" aria-hidden=\"true\"><rect width=\"{width}\" height=\"12\"/></svg>")
}

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--bar:#3b78c4;--stop:#c43b3b}\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:84rem;padding:0 1rem;background:Canvas;color:CanvasText}\
h1{font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}\
.verdict{font-size:1.15rem;font-weight:600;padding:.5rem .75rem;border-left:6px solid;margin:1rem 0 .25rem}\
.good.verdict{border-color:#2a7d46;background:#2a7d4626}.bad.verdict{border-color:var(--stop);background:#c43b3b26}\
.origin{margin:0 0 1rem;opacity:.75}\
input,select{font:inherit}.search{display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;align-items:center}\
table{border-collapse:collapse;width:100%}.totals{width:auto}\
th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line)}\
tbody th{font-weight:500}.totals th{min-width:8rem}tbody th,td:last-child,td li{overflow-wrap:anywhere}td{overflow-wrap:break-word;min-width:4rem}\
.objects tbody th{min-width:11rem}details ul{margin:.25rem 0;padding-left:1.1rem}.objects thead th{position:sticky;top:0;background:Canvas}\
.number{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal;white-space:nowrap}svg{fill:var(--bar)}.stop svg{fill:var(--stop)}\
tr.stop>th{border-left:4px solid var(--stop);padding-left:.5rem}\
:focus-visible{outline:2px solid var(--bar)}\
@media screen and (max-width:40rem){svg{max-width:30vw}\
.totals tr{display:flex;flex-wrap:wrap;column-gap:.75rem;border-bottom:1px solid var(--line)}\
.totals :is(th,td){border:0;min-width:0}.totals th{flex:1;min-width:8rem}.totals td:last-child:not(:has(svg)){flex:0 0 100%}}\
@media print{.search{display:none}body{margin:0;max-width:none}}";

/// The style of the objects on a narrow screen: a block for each row, with the names of the columns.
fn blocks(width: &str) -> String {
    format!(
        "@media screen and (max-width:{width}){{.objects thead{{display:none}}\
         .objects tr{{display:flex;flex-wrap:wrap;column-gap:1rem;border-bottom:1px solid var(--line);padding:.5rem 0}}\
         .objects tr[hidden],.objects td:empty{{display:none}}\
         .objects :is(tbody th,td){{border:0;padding:.1rem 0;min-width:0;text-align:left}}\
         .objects :is(th,tr:not([data-state=fine]) td:last-child){{flex:0 0 100%}}\
         .objects td::before{{content:attr(data-label) ': ';opacity:.75}}\
         .objects tr.stop{{border-left:4px solid var(--stop);padding-left:.5rem}}\
         .objects tr.stop>th{{border:0;padding-left:0}}}}"
    )
}

/// More columns than this need blocks on a tablet too.
const FEW: usize = 6;

const SCRIPT: &str = "\
const rows=[...document.querySelectorAll('.objects tbody tr')];\
const texts=rows.map(row=>row.textContent.toLowerCase());\
const heads=[...document.querySelectorAll('.objects thead th')].map(head=>head.textContent);\
rows.forEach(row=>[...row.cells].forEach((cell,index)=>cell.dataset.label=heads[index]));\
const at=id=>document.getElementById(id),search=at('search'),shown=at('shown'),state=at('state');\
const states=row=>row.dataset.state.split(' ').filter(Boolean).concat(row.classList.contains('stop')?['stopped']:[]);\
const counts=new Map;rows.forEach(row=>states(row).forEach(name=>counts.set(name,(counts.get(name)??0)+1)));\
[...counts].forEach(([name,count])=>state.append(new Option(name.replaceAll('-',' ')+' ('+count+')',name)));\
const find=()=>{const words=search.value.toLowerCase().split(/\\s+/);let count=0;\
rows.forEach((row,index)=>{row.hidden=!words.every(word=>texts[index].includes(word))||\
state.value!==''&&!states(row).includes(state.value);count+=!row.hidden});\
shown.textContent=count===0?'No object matches.':count+' of '+rows.length+' objects'};\
search.addEventListener('input',find);state.addEventListener('change',find);\
const named=()=>{if(!location.hash)return;\
try{search.value=decodeURIComponent(location.hash.slice(1))}catch{search.value=location.hash.slice(1)}find()};\
named();addEventListener('hashchange',named);\
addEventListener('beforeprint',()=>document.querySelectorAll('details').forEach(one=>one.open=true));";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_markup() {
        assert_eq!(escaped("<a href=\"x\">&'\u{1b}\u{202e}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\u{1b}\\u{202e}");
    }
}
