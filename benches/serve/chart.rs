//! CPU time for each request as bars, on a logarithmic scale.

use std::fmt::Write as _;

use crate::table::Row;

const LEFT: f64 = 330.0;
const WIDTH: f64 = 420.0;
const STEP: f64 = 22.0;

/// A plot that needs only a browser. Logarithmic: the scale begins at a tenth of the shortest bar.
pub(crate) fn svg(rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.measured.cpu).fold(1.0, f64::max);
    let least = rows.iter().map(|row| row.measured.cpu).fold(most, f64::min).max(0.1) / 4.0;
    let height = (rows.len() as f64 + 2.0) * STEP;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>{STYLE}</style>\n<rect class=\"page\" width=\"900\" height=\"{height}\"/>\n\
         <text x=\"8\" y=\"16\" font-weight=\"bold\">CPU time of the server for each request, us (logarithmic)</text>\n"
    );
    let mut load = "";
    for (index, row) in rows.iter().enumerate() {
        let y = (index as f64 + 1.3) * STEP;
        let width = WIDTH * (row.measured.cpu / least).ln() / (most / least).ln();
        let class = if matches!(row.server, "pointsman" | "running") { "ours" } else { "others" };
        let (server, cpu, text) = (row.server, row.measured.cpu, y + 12.0);
        if row.load != load {
            load = &row.load;
            let _ = write!(out, "<text x=\"8\" y=\"{text}\">{load}</text>");
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{server}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"15\"/>\
             <text x=\"{:.1}\" y=\"{text}\">{cpu:.1}</text>",
            LEFT - 6.0,
            LEFT + width + 6.0,
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Colours for light and dark pages.
const STYLE: &str = "\
    text{fill:#1f2328}.page{fill:#fff}.ours{fill:#1b6ac9}.others{fill:#9aa5b1}\
    @media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.ours{fill:#58a6ff}.others{fill:#6e7681}}";
