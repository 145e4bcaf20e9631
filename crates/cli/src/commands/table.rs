//! Tables in the layout of kubectl.

use std::iter;

use unicode_width::UnicodeWidthStr;

use crate::terminal::escaped;

/// A table in the layout of kubectl: columns padded to the widest cell, with three spaces between. East Asian
/// characters and most emoji are two columns wide (Unicode Annex 11).
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    table_of(&head, rows.iter().map(<[String; N]>::as_slice))
}

/// A table with as many columns as the head.
pub(crate) fn table_of<'r>(head: &[&str], rows: impl Iterator<Item = &'r [String]>) -> String {
    let rows = rows.map(|row| row.iter().map(|cell| escaped(cell)).collect());
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let mut widths = vec![0; head.len()];
    let rows: Vec<Vec<String>> = iter::once(head).chain(rows).collect();
    for row in &rows {
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.width().max(*width));
    }
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(iter::repeat_n(' ', width + 3 - cell.width()));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A value for a cell: on one line, and shortened.
pub(crate) fn cell(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shortened(&text, CELL)
}

/// Shortens a text to a number of characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The maximum number of characters.
const CELL: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_keep_columns_aligned() {
        let rows = [["日本".to_owned(), "x".to_owned()], ["four".to_owned(), "y".to_owned()]];
        assert_eq!(table(["A", "B"], &rows), "A      B\n日本   x\nfour   y\n");
    }
}
