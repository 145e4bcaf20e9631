//! Tables, as kubectl prints them.

/// Columns, as kubectl prints them: padded to the widest cell, three spaces between.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let mut out = String::new();
    let width = |column: usize| {
        let cells = std::iter::once(&head).chain(rows).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:<width$}   "));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A value for a cell: on one line, and not the width of a screen.
pub(crate) fn cell(text: &str) -> String {
    let mut short: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(CELL).collect();
    if text.chars().count() > CELL {
        short.push('…');
    }
    short
}

/// Characters.
const CELL: usize = 48;
