//! Incremental writer for the kept values of list or map items, in the format of [`KeptItems`](super::KeptItems).
//!
//! A request may have a million items with kept values. Only their text is held, and only up to the maximum size of
//! annotations.

use super::kept_fields::KeptFields;
use super::kept_text::KeptText;
use crate::json::Json;

/// The identity of one item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemNote<'n> {
    pub(crate) index: usize,
    /// The keys, as a list.
    pub(crate) key: Option<&'n str>,
    /// The digest of the content. `None` in a map.
    pub(crate) content: Option<&'n str>,
}

/// Writes items in order.
pub(crate) struct ItemsWriter {
    text: KeptText,
    next: usize,
    is_empty: bool,
}

impl ItemsWriter {
    /// `count` is the number of items, `size` their estimated size in bytes.
    pub(crate) fn begin(count: usize, size: usize) -> Self {
        let mut text = KeptText::with_room(size);
        text.add(&format!("{{\"count\":{count},\"items\":["));
        Self { text, next: 0, is_empty: true }
    }

    /// Adds an item with its entries.
    pub(crate) fn add(&mut self, note: ItemNote<'_>, fields: &KeptFields<'_>) {
        self.begin_item(note);
        fields.add_to(&mut self.text);
        self.text.add("]");
    }

    /// Adds an item with its collected entries, if any.
    pub(crate) fn add_collected(&mut self, note: ItemNote<'_>, entries: &mut CollectedEntries<'_>) {
        self.begin_item(note);
        entries.add_to(note.index, &mut self.text);
        self.text.add("]");
    }

    fn begin_item(&mut self, ItemNote { index, key, content }: ItemNote<'_>) {
        self.text.add(if self.is_empty { "[" } else { ",[" });
        self.is_empty = false;
        if index != self.next {
            self.text.add(&index.to_string());
            self.text.add(",");
        }
        self.next = index + 1;
        if let Some(key) = key {
            self.text.add(key);
            self.text.add(",");
        }
        if let Some(content) = content {
            for piece in ["\"", content, "\","] {
                self.text.add(piece);
            }
        }
    }

    pub(crate) fn end(mut self, omitted: &OmittedItems) -> KeptText {
        self.text.add("]");
        if !omitted.is_empty() {
            self.text.add(",\"omitted\":[");
            omitted.0.write(&mut |piece| self.text.add(piece));
            self.text.add_unwritten(omitted.0.unwritten());
            self.text.add("]");
        }
        self.text.add("}");
        self.text
    }
}

/// The entries of items, collected before the identities of the items are known.
#[derive(Debug, Default)]
pub(crate) struct ItemEntries {
    text: KeptText,
    /// The position of each item, and the size of its entries in bytes.
    of: Vec<(usize, usize)>,
}

impl ItemEntries {
    /// Adds the entries of the item at a position. Positions must increase.
    pub(crate) fn add(&mut self, index: usize, fields: &KeptFields<'_>) {
        if fields.is_empty() {
            return;
        }
        let before = self.text.size();
        fields.add_to(&mut self.text);
        self.of.push((index, self.text.size() - before));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The total size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.size()
    }

    /// The positions of items with kept values.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        self.of.iter().map(|(index, _)| *index)
    }

    /// All entries, to be taken in order.
    pub(crate) fn collected(&self) -> CollectedEntries<'_> {
        CollectedEntries { text: &self.text, start: 0, of: &self.of }
    }
}

/// The remaining [`ItemEntries`].
pub(crate) struct CollectedEntries<'e> {
    text: &'e KeptText,
    start: usize,
    of: &'e [(usize, usize)],
}

impl CollectedEntries<'_> {
    fn add_to(&mut self, index: usize, text: &mut KeptText) {
        match self.of.split_first() {
            Some(((of, size), rest)) if *of == index => {
                match self.text.part(self.start, *size) {
                    Some(entries) => text.add(entries),
                    None => text.add_unwritten(*size),
                }
                (self.start, self.of) = (self.start + size, rest);
            }
            _ => text.add("{}"),
        }
    }
}

/// Items that the version cannot represent.
#[derive(Debug, Default)]
pub(crate) struct OmittedItems(KeptText);

impl OmittedItems {
    /// `place` is the place in the other version: a position, or a key.
    pub(crate) fn add(&mut self, place: &Json<'_>, item: &Json<'_>) {
        self.0.add(if self.is_empty() { "[" } else { ",[" });
        place.each_piece(&mut |piece| self.0.add(piece));
        self.0.add(",");
        item.each_piece(&mut |piece| self.0.add(piece));
        self.0.add("]");
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.size() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::kept_items::KeptItems;
    use super::super::kept_text::LONGEST;
    use super::*;

    fn fields(id: &'static str, value: &str) -> KeptFields<'static> {
        let mut fields = KeptFields::default();
        fields.keep(id, &[Some(Json::string(value))], (&[None], &[]));
        fields
    }

    fn text(written: &KeptText) -> String {
        let mut text = String::new();
        written.write(&mut |piece| text.push_str(piece));
        text
    }

    #[test]
    fn kept_items_round_trip() {
        let mut entries = ItemEntries::default();
        entries.add(1, &fields("raid", "5"));
        entries.add(4, &fields("raid", "é\""));
        let mut omitted = OmittedItems::default();
        omitted.add(&Json::borrowed("0"), &Json::borrowed("{\"a\":1}"));
        omitted.add(&Json::borrowed("7"), &Json::NULL);
        let mut writer = ItemsWriter::begin(6, 0);
        let mut collected = entries.collected();
        let note = |index, key, content| ItemNote { index, key, content };
        writer.add_collected(note(1, Some("[\"a\"]"), Some("0123456789ab")), &mut collected);
        writer.add_collected(note(2, None, Some("0123456789ac")), &mut collected);
        writer.add_collected(note(4, Some("[\"b\"]"), Some("0123456789ad")), &mut collected);
        let written = text(&writer.end(&omitted));
        assert_eq!(
            written,
            r#"{"count":6,"items":[[1,["a"],"0123456789ab",{"raid":{"value":"5"}}],["0123456789ac",{}],"#.to_owned()
                + r#"[4,["b"],"0123456789ad",{"raid":{"value":"é\""}}]],"omitted":[[0,{"a":1}],[7,null]]}"#
        );
        let read = KeptItems::read(Json::borrowed(&written)).unwrap();
        let mut again = String::new();
        read.write(&mut |piece| again.push_str(piece));
        assert_eq!(again, written);
    }

    /// A text that is too long for an annotation is not held, but its length is known.
    #[test]
    fn oversized_text_is_only_measured() {
        for (count, is_long) in [(10, false), (LONGEST, true)] {
            let mut entries = ItemEntries::default();
            let each = fields("raid", "5");
            (0..count).for_each(|index| entries.add(index, &each));
            let mut writer = ItemsWriter::begin(count, 0);
            let mut collected = entries.collected();
            for index in 0..count {
                writer.add_collected(ItemNote { index, key: None, content: Some("0123456789ab") }, &mut collected);
            }
            let written = writer.end(&OmittedItems::default());
            let item = r#"["0123456789ab",{"raid":{"value":"5"}}],"#.len();
            let around = format!(r#"{{"count":{count},"items":["#).len() + "]}".len() - 1;
            assert_eq!(written.size(), around + count * item);
            assert_eq!(
                (text(&written).len(), written.unwritten()),
                match is_long {
                    false => (written.size(), 0),
                    true => (0, written.size()),
                }
            );
        }
    }
}
